"""Board and comparison for other programs: CSV with a line for each cell, and JSON with everything."""

import csv
import io
from dataclasses import asdict
from typing import Any

import msgspec

from clarinet_tui.analysis.board import Board, BoardCell
from clarinet_tui.analysis.board_table import STATES
from clarinet_tui.analysis.comparison import Comparison
from clarinet_tui.analysis.comparison_table import format_difference
from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.selection import describe_rule, rule_columns

JSON_KEYS = {
    "results": "figures",
    "selected": "choice",
    "rules": "selections",
    "excluded": "left_out",
    "template_run": "model",
    "is_interim": "interim",
}
"""Fields whose public name differs; JSON keys are stable."""


def to_csv(board: Board) -> str:
    """Return CSV; lists within a field are separated by spaces, sentences by semicolons."""
    rows = [cell_columns(board, cell) for cell in board.cells.values()]
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def cell_columns(board: Board, cell: BoardCell) -> dict[str, Any]:
    interval = cell.distance.interval if cell.distance else None
    return {
        "task": cell.task,
        "method": cell.method,
        "title": method_title(cell.method),
        "table": board.table_of(cell.method).kind,
        "mean": cell.summary.mean,
        "std": cell.summary.std,
        "seeds": len(cell.results),
        "wanted": cell.wanted,
        **{state: cell.states.get(state, 0) for state in STATES},
        "missing": len(cell.missing),
        "published_mean": cell.published.mean if cell.published else None,
        "published_std": cell.published.std if cell.published else None,
        "distance": cell.distance.difference if cell.distance else None,
        "distance_low": interval.low if interval else None,
        "distance_high": interval.high if interval else None,
        "best": _is_best(board, cell),
        "selection": board.rule,
        "oracle": board.uses_oracle,
        **rule_columns(cell.rules),
        "preset": board.preset,
        "changes": "; ".join(cell.changes),
        "notes": "; ".join(cell.notes),
        "commits": " ".join(cell.commits),
        "mixed": "; ".join(cell.mixed),
        "runs": " ".join(cell.runs),
        "left_out": " ".join(run for group in cell.excluded for run in group.runs),
    }


def _is_best(board: Board, cell: BoardCell) -> bool:
    return cell.method in board.best(cell.task, board.table_of(cell.method).methods)


def to_json(board: Board) -> str:
    fields = {
        "selection": board.rule,
        "selection_means": describe_rule(board.rule),
        "oracle": board.uses_oracle,
        "preset": board.preset,
        "query": board.query,
        "seeds": board.seeds,
        "mix": board.mix,
        "notes": board.notes,
        "tables": [{"title": table.title, "methods": table.methods} for table in board.tables],
        "tasks": board.tasks,
        "cells": [_cell(board, cell) for cell in board.cells.values()],
        "averages": board.averages,
        "left_out": board.excluded,
    }
    return msgspec.json.format(msgspec.json.encode(fields)).decode() + "\n"


def _cell(board: Board, cell: BoardCell) -> dict[str, Any]:
    fields: dict[str, Any] = _to_json_types(cell)
    added = {
        "title": method_title(cell.method),
        "table": board.table_of(cell.method).kind,
        "best": _is_best(board, cell),
    }
    return fields | added | {"complete": cell.is_complete, "runs": cell.runs}


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Return everything once: differences refer to their sides by index."""
    sides = list(comparison.sides)
    differences = []
    for difference in comparison.differences:
        fields: dict[str, Any] = _to_json_types(difference)
        ends = (difference.left, difference.right)
        left, right = (next(index for index, side in enumerate(sides) if side is end) for end in ends)
        differences.append(fields | {"left": left, "right": right, "words": format_difference(difference)})
    return {
        "selection": comparison.rule,
        "selection_means": comparison.rule_description,
        "runs": [asdict(row) for row in comparison.runs],
        "sides": [_to_json_types(side) for side in sides],
        "contrasts": differences,
        "alone": list(comparison.unmatched),
    }


def _to_json_types(value: Any) -> Any:
    return _rename_keys(msgspec.to_builtins(value))


def _rename_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {JSON_KEYS.get(key, key): _rename_keys(inner) for key, inner in value.items()}
    return [_rename_keys(inner) for inner in value] if isinstance(value, list) else value
