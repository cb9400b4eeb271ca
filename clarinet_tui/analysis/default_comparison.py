"""What is compared if nothing is chosen: the newest task with runs of both families, with its strongest opponent."""

from dataclasses import dataclass

from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from clarinet_tui.analysis.published import CONTROLS
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import list_runs
from clarinet_tui.history.query_language import quote_value

OPPONENT = "gac+cdan-e"
"""The strongest two-step baseline of the paper: what one-step methods are compared with if it has runs."""
COUNTED_STATES = "state:finished,running"
MAX_SEARCHED = 500
"""Maximum number of runs searched for a task with runs of both families."""
NOTHING = "Nothing to compare yet: no task has finished or running runs of both families."


@dataclass(frozen=True)
class DefaultComparison:
    queries: tuple[str, str]
    """For one-step and for two-step runs."""
    description: str = "Newest task with both families"


def default_comparison(db: Database) -> DefaultComparison | None:
    """Return queries for the newest task and preset with runs of both families; None if there is none."""
    methods: dict[tuple[str, str], set[str]] = {}
    families: dict[tuple[str, str], set[str]] = {}
    for row in list_runs(db, COUNTED_STATES, limit=MAX_SEARCHED):
        if row.task and row.preset:
            families.setdefault((row.task, row.preset), set()).add(row.family)
            methods.setdefault((row.task, row.preset), set()).add(row.method or "")
    newest = next((key for key, present in families.items() if present >= set(COMPARED_FAMILIES)), None)
    if newest is None:
        return None
    task, preset = map(quote_value, newest)
    query = f"task:{task} preset:{preset} {COUNTED_STATES}"
    return DefaultComparison((query, f"{_opponents(methods[newest])}{query}"))


def _opponents(methods: set[str]) -> str:
    """Return the part of a query that selects the strongest baseline and the controls of these methods."""
    controls = [control for method in CONTROLS if method in methods for control in CONTROLS[method]]
    opponents = [method for method in (OPPONENT, *controls) if method in methods]
    return f"method:{','.join(opponents)} " if OPPONENT in methods else ""
