"""A terminal session as an animated SVG, from real runs: `python -m benchmarks.session` (part of `make screenshots`).

Trains the runs of the demo in a temporary directory, records what each command prints, and shows it line by line.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

FILE = Path("docs/screenshots/session.svg")
ROOT = Path(__file__).parents[1]
COLUMNS = 100
COMMANDS = {"clarinet demo": 30, "clarinet ls": 4}
"""Commands, with the most lines of their output that are shown: the last ones."""
END = "Next:"
"""What follows this line are commands with the paths of this machine."""
LINE, MARGIN, CHARACTER = 18, 14, 7.85
"""Pixels: the height of a line, the space around the text, and the width of a character."""
PAUSE, STEP = 1.2, 0.08
"""Seconds before a command, and between two lines of its output."""
STYLE = """text { font: 13px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d9dfe7; white-space: pre;
  opacity: 0; animation: show 0.01s forwards }
.command { fill: #56b4e9; font-weight: bold }
@keyframes show { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { animation-delay: 0s !important } }"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = [(command, run(command, Path(folder))[-lines:]) for command, lines in COMMANDS.items()]
    FILE.write_text(render(session), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size / 1000:.1f} kB")


def run(command: str, folder: Path) -> list[str]:
    """Run a command in a folder as in a terminal without colours; return the lines of its output."""
    program = [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()", *command.split()[1:]]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    output = result.stdout.partition(f"\n{END}\n")[0]
    if str(folder) in output or str(ROOT) in output:
        raise SystemExit(f"{command}: the output contains a path of this machine")
    return [line.rstrip()[:COLUMNS] for line in output.rstrip().splitlines()]


def render(session: Sequence[tuple[str, list[str]]]) -> str:
    """Return an SVG in which commands and their output appear one line after the other."""
    texts: list[str] = []
    seconds = 0.0
    for command, output in session:
        seconds += PAUSE
        texts.append(_text(f"$ {command}", len(texts), seconds, "command"))
        for line in output:
            seconds += STEP
            texts.append(_text(line, len(texts), seconds))
        texts.append("")
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), LINE * len(texts) + 2 * MARGIN
    lines = "\n".join(filter(None, texts))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>A terminal session with Clarinet</title>
<style>{STYLE}</style>
<rect width="{width}" height="{height}" rx="6" fill="#0e1116"/>
{lines}
</svg>
"""


def _text(line: str, row: int, seconds: float, class_: str = "") -> str:
    if not line:
        return " "
    attribute = f' class="{class_}"' if class_ else ""
    y = MARGIN + LINE * row + 13
    return f'<text x="{MARGIN}" y="{y}"{attribute} style="animation-delay:{seconds:.2f}s">{escape(line)}</text>'


if __name__ == "__main__":
    main()
