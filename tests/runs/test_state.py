"""The states of a run and what they imply."""

import pytest

from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from core.events import Failed, Finished, Stopped


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_pending_resumable_or_finished(state: RunState) -> None:
    assert [state.is_pending, state.is_resumable, state is RunState.FINISHED].count(True) == 1
    assert state.is_started >= state.is_live
    assert state.is_pending >= state.is_started


def test_final_events_are_those_of_the_journal() -> None:
    assert {event.__struct_config__.tag for event in (Failed, Finished, Stopped)} == FINAL_EVENTS


def test_stored_values_read_as_plain_text() -> None:
    assert f"{RunState('running')}" == "running"
    assert RunState.RUNNING in {"running"}
