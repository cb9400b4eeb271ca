"""The metric catalogue is the one place that lists metrics."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import clarinet_tui
import core
from core.metrics import METRICS, is_reproducible, level_of, shown_in

PACKAGES = [Path(package.__file__ or "").parent for package in (core, clarinet_tui)]
CATALOGUE = "core/metrics.py"
COLUMNS = ("clarinet_tui/history/schema.py", "clarinet_tui/history/query_language.py")
"""Columns of tables, and fields of queries."""
EMITTERS = ("core/methods/", "core/events.py")
SETTINGS = ("core/presets.py", "clarinet_tui/queue/demo.py", "clarinet_tui/ui/usual_settings.py")
"""The learning rates are settings as well."""


def _collections(tree: ast.Module) -> Iterator[tuple[int, list[ast.expr | None]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield node.lineno, list(node.elts)
        elif isinstance(node, ast.Dict):
            yield node.lineno, list(node.keys)


def _listed_metrics(elements: list[ast.expr | None]) -> set[str]:
    return {item.value for item in elements if isinstance(item, ast.Constant) and item.value in METRICS}


def test_no_other_module_lists_metrics() -> None:
    second = []
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            name = path.relative_to(package.parent).as_posix()
            if name in (CATALOGUE, *SETTINGS, *COLUMNS) or name.startswith(EMITTERS):
                continue
            for line, elements in _collections(ast.parse(path.read_text())):
                if len(listed := _listed_metrics(elements)) > 1:
                    second.append(f"{name}:{line} lists {', '.join(sorted(listed))}")
    assert not second, "core/metrics.py lists the metrics: " + "; ".join(second)


def test_second_list_is_found() -> None:
    (_, elements), *_ = _collections(ast.parse('SHOWN = ("mmd", "entropy", "other")'))
    assert _listed_metrics(elements) == {"mmd", "entropy"}


def test_catalogue_needs_no_torch() -> None:
    code = "import sys, core.metrics; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_metric_is_described_and_charts_have_them_in_order() -> None:
    for name, metric in METRICS.items():
        assert (metric.name, bool(metric.description)) == (name, True)
    paper = ["complementary_loss", "classification_loss", "adversarial_loss", "mmd"]
    assert list(shown_in("loss chart")) == [*paper, "teacher_loss", "relabel_loss", "surrogate_loss"]
    assert list(shown_in("accuracy chart")) == ["target_accuracy", "source_accuracy", "pseudo_label_accuracy"]


def test_metrics_of_plugins_need_no_entry() -> None:
    assert level_of("my_metric") == "iteration"
    assert is_reproducible("my_metric")
    assert not is_reproducible("samples_per_second")
