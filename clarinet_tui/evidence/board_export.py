"""The board for other programs: CSV with a line for each cell, and JSON with everything."""

import csv
import io
from typing import Any

import msgspec

from clarinet_tui.evidence.board import Board
from clarinet_tui.evidence.board_cells import Cell
from clarinet_tui.evidence.published import ABLATIONS, METHODS, title
from clarinet_tui.evidence.selection import SENTENCES
from clarinet_tui.evidence.selections import COLUMNS as SELECTIONS
from clarinet_tui.evidence.selections import flat_selections

STATES = ("running", "queued", "failed", "stopped", "lost", "silent")
COLUMNS = (
    "task",
    "method",
    "title",
    "table",
    "mean",
    "std",
    "seeds",
    "wanted",
    *STATES,
    "missing",
    "published_mean",
    "published_std",
    "distance",
    "distance_low",
    "distance_high",
    "best",
    "selection",
    "oracle",
    *SELECTIONS,
    "preset",
    "changes",
    "notes",
    "commits",
    "mixed",
    "runs",
    "left_out",
)


def to_csv(board: Board) -> str:
    """Lists within a field are separated by spaces, sentences by semicolons."""
    written = io.StringIO()
    table = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(flat(board, cell) for cell in board.cells.values())
    return written.getvalue()


def flat(board: Board, cell: Cell) -> dict[str, Any]:
    """A cell as one line."""
    interval = cell.distance.interval if cell.distance else None
    return {
        "task": cell.task,
        "method": cell.method,
        "title": title(cell.method),
        "table": _table(cell.method),
        "mean": cell.summary.mean,
        "std": cell.summary.std,
        "seeds": len(cell.figures),
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
        "oracle": board.oracle,
        **flat_selections(cell.selections),
        "preset": board.preset,
        "changes": "; ".join(cell.changes),
        "notes": "; ".join(cell.notes),
        "commits": " ".join(cell.commits),
        "mixed": "; ".join(cell.mixed),
        "runs": " ".join(cell.runs),
        "left_out": " ".join(run for left in cell.left_out for run in left.runs),
    }


def _table(method: str) -> str:
    return "main" if method in METHODS else "ablation" if method in ABLATIONS else "other"


def _is_best(board: Board, cell: Cell) -> bool:
    """In the first table that has the method."""
    part = next(part for part in board.parts if cell.method in part.methods)
    return cell.method in board.best(cell.task, part.methods)


def to_json(board: Board) -> str:
    whole = {
        "selection": board.rule,
        "selection_means": SENTENCES[board.rule],
        "oracle": board.oracle,
        "preset": board.preset,
        "query": board.query,
        "seeds": board.seeds,
        "mix": board.mix,
        "notes": board.notes,
        "tables": [{"title": part.title, "methods": part.methods} for part in board.parts],
        "tasks": board.tasks,
        "cells": [_cell(board, cell) for cell in board.cells.values()],
        "averages": board.averages,
        "left_out": board.left_out,
    }
    return msgspec.json.format(msgspec.json.encode(whole)).decode() + "\n"


def _cell(board: Board, cell: Cell) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(cell)
    added = {"title": title(cell.method), "table": _table(cell.method), "best": _is_best(board, cell)}
    return plain | added | {"complete": cell.complete, "runs": cell.runs}
