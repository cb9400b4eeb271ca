"""Pictures of every view, from a real history: `python -m benchmarks.screenshots --runs-dir RUNS` (`make screenshots`).

Only runs that have ended are shown, from a copy: nothing is written where they are. The app runs without a terminal at
fixed sizes and is driven by keys; a view that is not there is left out. Each picture is an SVG that needs no network;
one that tells where on this machine things are is refused.
"""

import argparse
import asyncio
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
from clarinet_tui.ui.widgets.top_bar import NUMBERS, VIEWS

PLACE = Path("docs/screenshots")
LARGE, SMALL = (160, 48), (80, 24)
STILL, LONGEST = 1.5, 15.0
"""Seconds without a change after which a picture is taken, and after which it is taken anyway: devices never rest."""
HEAVY = shutil.ignore_patterns("checkpoint*", "*.pt", "lock", "*.db", "*.db-*", "queue.json*", "supervisor*", "trash")
"""What a picture does not need."""
FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
FONTS = "Fira Code, ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Shot:
    """A picture: of which view, how large, and the keys that lead there from the first view; else the view's number."""

    name: str
    view: str
    size: tuple[int, int] = LARGE
    keys: tuple[str, ...] = ()


KEYS = {"launch": ("e",)}
"""The launch form is filled from the newest run."""
SHOTS = (
    *(Shot(view, view, keys=KEYS.get(view, ())) for view in NUMBERS),
    Shot("live-80x24", "live", SMALL),
    Shot("history-80x24", "history", SMALL),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs-dir", type=Path, required=True, help="a real history")
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="where its data is, for the launch form")
    parser.add_argument("--query", default="method:clarinet", help="the newest run that this finds is in the live view")
    parser.add_argument("--out", type=Path, default=PLACE)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help=f"of {', '.join(s.name for s in SHOTS)}")
    asked = parser.parse_args()
    out = asked.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        secrets = (str(asked.runs_dir.resolve()), str(asked.data_dir.resolve()), folder, str(Path.home()))
        settle_in(Path(folder), asked.runs_dir, asked.data_dir)
        run = the_newest(Path("runs"), asked.query)
        for shot in SHOTS:
            if shot.view not in VIEWS:
                print(f"{shot.name}: there is no such view yet")
            elif not asked.only or shot.name in asked.only:
                take(shot, run, out, secrets)


def settle_in(folder: Path, runs_dir: Path, data_dir: Path) -> None:
    """A copy of the runs that have ended, under a short relative path; the app remembers nothing of its user."""
    with Database.open(runs_dir, folder / "there.db") as db:
        ingest_all(db, runs_dir)
        ended = [run.id for run in list_runs(db, limit=10_000) if run.ended]
    for run in ended:
        shutil.copytree(runs_dir / run, folder / "runs" / run, ignore=HEAVY)
    if not ended:
        raise SystemExit(f"{runs_dir}: there is no run that has ended")
    if data_dir.is_dir():
        (folder / "data").symlink_to(data_dir.resolve())
    os.chdir(folder)
    os.environ.update(XDG_CONFIG_HOME="config", XDG_STATE_HOME="state", TERM="xterm-256color", LANG="C.UTF-8", TZ="UTC")
    for name in ("NO_COLOR", "CLARINET_GLYPHS", "LC_ALL"):
        os.environ.pop(name, None)
    time.tzset()


def the_newest(runs_dir: Path, query: str) -> str:
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)
        found = list_runs(db, query, limit=1)
    if not found:
        raise SystemExit(f"no run that has ended is found by {query!r}")
    return found[0].id


def take(shot: Shot, run: str, out: Path, secrets: tuple[str, ...]) -> None:
    app = ClarinetApp(Path("runs"), runs=(run,) if shot.view == "live" else ())
    picture = asyncio.run(look(app, shot))
    told = [secret for secret in secrets if secret in picture]
    if told:
        raise SystemExit(f"{shot.name}: the picture shows {', '.join(told)}")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{shot.name}.svg").write_text(picture, encoding="utf-8")
    print(f"{shot.name}: {shot.size[0]}×{shot.size[1]}, {len(picture.encode()) / 1000:.0f} kB")


async def look(app: ClarinetApp, shot: Shot) -> str:
    async with app.run_test(size=shot.size, tooltips=True) as pilot:
        await still(pilot, app)
        if app.current_mode != shot.view:
            await pilot.press(*(shot.keys or (str(NUMBERS[shot.view]),)))
            await still(pilot, app)
        if app.current_mode != shot.view:
            raise SystemExit(f"{shot.name}: the view did not open")
        return alone(app.export_screenshot(title=f"clarinet-tui · {VIEWS[shot.view]}"))


async def still(pilot: Pilot[None], app: ClarinetApp) -> None:
    """Waits until everything is read and nothing on the screen changes any more."""
    began = changed = time.monotonic()
    before = ""
    while (now := time.monotonic()) < began + LONGEST:
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        if shown != before or not (app.session.snapshot and app.session.snapshot.settled):
            before, changed = shown, now
        if now - changed > STILL:
            return
        await pilot.pause(0.1)


def alone(svg: str) -> str:
    """The picture without fonts from elsewhere: with those of whoever looks at it."""
    return FONT_FACE.sub("", svg).replace("Fira Code, monospace", FONTS)


if __name__ == "__main__":
    main()
