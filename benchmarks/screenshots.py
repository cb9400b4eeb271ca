"""Screenshots of every view, from real runs: `python -m benchmarks.screenshots --runs-dir RUNS` (`make screenshots`).

The app shows a copy of the runs that have ended, without a terminal, at fixed sizes. Each screenshot is an SVG that
needs no network; one that contains a path of this machine is refused.
"""

import argparse
import asyncio
import html
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import list_runs
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.top_bar import VIEW_KEYS, VIEWS

FOLDER = Path("docs/screenshots")
LARGE, SMALL = (160, 48), (80, 24)
UNCHANGED, TIMEOUT, TEXT_TIMEOUT = 1.5, 15.0, 180.0
"""Seconds without a change before a screenshot, and the longest wait: the Devices view changes continually.

A text that is read from data or a model may take longer.
"""
NOT_COPIED = shutil.ignore_patterns(
    "checkpoint*", "*.pt", "lock", "*.db", "*.db-*", "queue.json*", "supervisor*", "trash"
)
FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
TEXT = re.compile(r'(<text [^>]*?)x="([\d.]+)"([^>]*?)textLength="([\d.]+)"([^>]*>)([^<]+)</text>')
WORD = re.compile("[\u2800-\u28ff]+|[!-~]+|[^\u2800-\u28ff!-~\\s]+")
FONTS = "Fira Code, ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Shot:
    """A screenshot: its view, its size, the keys to press, by default the view's number, and a text to wait for.

    Live shows the newest run that matches the query.
    """

    name: str
    view: str
    size: tuple[int, int] = LARGE
    keys: tuple[str, ...] = ()
    text: str = ""
    query: str = "method:basset task:U->M"


PICTURE = "▀▀▀▀"
COMPARED = ("4", *"/method:basset,clarinet task:U->M", "enter", *"method:fwd+basset,gac+cdan-e task:U->M", "enter")
INSPECTED = (*"/method:basset", "enter")
"""Select the newest run of basset, which has to be inspected before."""
SHOTS = (
    *(Shot(view, view) for view in VIEW_KEYS if view not in ("launch", "compare")),
    Shot("launch", "launch", keys=("e",), text=PICTURE),  # filled from the newest run
    Shot("compare", "compare", keys=COMPARED, text="paired t"),
    Shot("hardware", "live", keys=("H",), query="method:basset"),
    Shot("model", "history", keys=(*INSPECTED, *"pppp"), text="start: A"),
    Shot("pictures", "history", keys=(*INSPECTED, *"ppppp"), text=PICTURE),
    Shot("live-80x24", "live", SMALL),
    Shot("history-80x24", "history", SMALL),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs-dir", type=Path, required=True, help="real runs")
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="their data, for the launch form")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help=f"of {', '.join(s.name for s in SHOTS)}")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        paths = (str(arguments.runs_dir.resolve()), str(arguments.data_dir.resolve()), folder, str(Path.home()))
        enter_copy(Path(folder), arguments.runs_dir, arguments.data_dir)
        for shot in SHOTS:
            if not arguments.only or shot.name in arguments.only:
                write_screenshot(shot, out, paths)


def enter_copy(folder: Path, runs_dir: Path, data_dir: Path) -> None:
    """Copy the runs that have ended, and change into the folder, with settings independent of the user's."""
    with Database.open(runs_dir, folder / "original.db") as db:
        ingest_all(db, runs_dir)
        ended = [run.id for run in list_runs(db, limit=10_000) if run.ended]
    for run in ended:
        shutil.copytree(runs_dir / run, folder / "runs" / run, ignore=NOT_COPIED)
    if not ended:
        raise SystemExit(f"{runs_dir}: no run has ended")
    if data_dir.is_dir():
        (folder / "data").symlink_to(data_dir.resolve())
    os.chdir(folder)
    os.environ.update(XDG_STATE_HOME="state", TERM="xterm-256color", LANG="C.UTF-8", TZ="UTC")
    for name in ("NO_COLOR", "CLARINET_GLYPHS", "LC_ALL"):
        os.environ.pop(name, None)
    time.tzset()


def find_newest(runs_dir: Path, query: str) -> str:
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)
        rows = list_runs(db, query, limit=1)
    if not rows:
        raise SystemExit(f"no run that has ended matches {query!r}")
    return rows[0].id


def write_screenshot(shot: Shot, out: Path, paths: tuple[str, ...]) -> None:
    os.environ["XDG_CONFIG_HOME"] = f"config-{shot.name}"  # the app remembers the pane of the last screenshot
    runs = (find_newest(Path("runs"), shot.query),) if shot.view == "live" else ()
    app = ClarinetApp(Path("runs"), runs=runs)
    svg = asyncio.run(take_screenshot(app, shot))
    shown = [path for path in paths if path in svg]
    if shown:
        raise SystemExit(f"{shot.name}: the screenshot shows {', '.join(shown)}")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{shot.name}.svg").write_text(svg, encoding="utf-8")
    print(f"{shot.name}: {shot.size[0]}×{shot.size[1]}, {len(svg.encode()) / 1000:.0f} kB")


async def take_screenshot(app: ClarinetApp, shot: Shot) -> str:
    async with app.run_test(size=shot.size, tooltips=True) as pilot:
        await wait_until_unchanged(pilot, app)
        if shot.keys or app.current_mode != shot.view:
            await pilot.press(*(shot.keys or (str(VIEW_KEYS[shot.view]),)))
            await wait_until_unchanged(pilot, app, shot.text)
        if app.current_mode != shot.view:
            raise SystemExit(f"{shot.name}: the view did not open")
        return place_words(use_local_fonts(app.export_screenshot(title=f"clarinet-tui · {VIEWS[shot.view]}")))


async def wait_until_unchanged(pilot: Pilot[None], app: ClarinetApp, text: str = "") -> None:
    """Wait until everything is ingested, the text is shown and the screen does not change any more."""
    start = changed = time.monotonic()
    before = ""
    while (now := time.monotonic()) < start + (TEXT_TIMEOUT if text else TIMEOUT):
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        is_complete = text in shown and app.state.snapshot and app.state.snapshot.is_ingested
        if shown != before or not is_complete:
            before, changed = shown, now
        if now - changed > UNCHANGED:
            return
        await pilot.pause(0.1)
    if text not in before:
        raise SystemExit(f"{text!a} was not shown")


def use_local_fonts(svg: str) -> str:
    """Replace the fonts from the network by fonts of the viewer's machine."""
    return FONT_FACE.sub("", svg).replace("Fira Code, monospace", FONTS)


def place_words(svg: str) -> str:
    """Give Braille, other symbols and each word a place of its own: fonts differ in the width of symbols and spaces."""
    return TEXT.sub(_place_words, svg)


def _place_words(text: re.Match[str]) -> str:
    start, x, between, length, end, content = text.groups()
    characters = html.unescape(content)
    column = float(length) / len(characters)
    words = []
    for word in WORD.finditer(characters):
        place, width = float(x) + word.start() * column, len(word[0]) * column
        words.append(f'{start}x="{place:g}"{between}textLength="{width:g}"{end}{html.escape(word[0])}</text>')
    return "".join(words)


if __name__ == "__main__":
    main()
