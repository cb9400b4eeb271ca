"""The first steps, shown instead of an empty history."""

from __future__ import annotations

from textual.content import Content

from clarinet_tui.text import shell_command
from clarinet_tui.ui.text.styled import styled

DEMO = styled(("Press ", ""), ("D", "live"), (" to watch the demo: a few short runs, about two minutes on a CPU.", ""))
NEW = styled(("Press ", ""), ("n", "live"), (" to start a run of your own.", ""))
COMMANDS = (("run", "--headless", "--preset", "smoke", "--method", "basset"), ("demo",))
NO_RUN = Content("\n").join([styled(("No run to watch yet", "strong")), styled(), DEMO, NEW])


def format_welcome(runs_dir: str) -> Content:
    """Format the first steps in an empty runs directory."""
    lines = [styled(("No runs yet", "strong")), styled((f"in {runs_dir}", "muted")), styled(), DEMO, NEW, styled()]
    lines.append(styled(("Or start one in another terminal, and it appears here:", "muted")))
    lines += [styled((shell_command("clarinet", *words, runs_dir=runs_dir), "live")) for words in COMMANDS]
    return Content("\n").join(lines)
