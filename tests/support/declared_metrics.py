"""The metrics declared in the code, and a check of expressions that use them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import promql_parser as promql

from tests.support.sizes import ROOT

MAKER = "headwater.base.telemetry.counters"
IMPORT = re.compile(rf"^from (prometheus_client(\.core)?|{re.escape(MAKER)}) import", re.MULTILINE)
KINDS = {
    "Counter": "counter", "make_counter": "counter", "Histogram": "histogram",
    "GaugeMetricFamily": "gauge",
}  # fmt: skip
OF_SCRAPES = frozenset({"job", "instance"})
"""Labels that Prometheus adds to every series."""


@dataclass(frozen=True)
class DeclaredMetric:
    """A metric under its exposed name."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help_text: str

    def series(self) -> dict[str, frozenset[str]]:
        """Return the names of the metric's series, with their labels."""
        labels = frozenset(self.labels)
        if self.kind != "histogram":
            return {self.name: labels}
        return {
            f"{self.name}_bucket": labels | {"le"},
            f"{self.name}_sum": labels,
            f"{self.name}_count": labels,
        }


@cache
def declared_metrics() -> dict[str, DeclaredMetric]:
    """Return every metric of Headwater."""
    metrics = [
        metric
        for path in sorted((ROOT / "src").rglob("*.py"))
        if IMPORT.search(text := path.read_text()) and not path.match(f"{MAKER.replace('.', '/')}.py")
        for metric in _declared(ast.parse(text))
    ]
    assert len(metrics) == len({metric.name for metric in metrics})
    return {metric.name: metric for metric in metrics}


def _declared(module: ast.Module) -> Iterator[DeclaredMetric]:
    calls = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in KINDS
        and node.args
    ]
    for call in calls:
        kind, labels = KINDS[call.func.id], _labels(call)  # type: ignore[attr-defined]
        first, *other_arguments = call.args
        if isinstance(first, ast.Constant):
            description = other_arguments[0].value  # type: ignore[attr-defined]
            name = f"{first.value}_total" if kind == "counter" else str(first.value)
            yield DeclaredMetric(name, kind, labels, str(description))
        else:  # one call for each name in a table
            for name, description in _table(module):
                yield DeclaredMetric(name, kind, labels, description)


def _labels(call: ast.Call) -> tuple[str, ...]:
    label_lists = [keyword.value for keyword in call.keywords if keyword.arg == "labels"]
    if isinstance(call.func, ast.Name) and call.func.id == "make_counter":
        return tuple(str(keyword.arg) for keyword in call.keywords)
    lists = [node for node in (*call.args[2:3], *label_lists) if isinstance(node, ast.List)]
    return tuple(ast.literal_eval(lists[0])) if lists else ()


def _table(module: ast.Module) -> Any:
    tables = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "_GAUGES"
    ]
    return ast.literal_eval(tables[0])


def unknown_parts(expression: str) -> list[str]:
    """Return the series and labels in an expression that no metric has."""
    labels_by_series = {"up": frozenset[str]()}
    for metric in declared_metrics().values():
        labels_by_series |= metric.series()
    used_labels: set[str] = set()
    grouping_labels: set[str] = set()
    faults: list[str] = []

    def check_node(node: promql.Expr) -> None:
        if isinstance(node, promql.VectorSelector):
            labels = labels_by_series.get(str(node.name))
            if labels is None:
                faults.append(str(node.name))
                return
            used_labels.update(labels | OF_SCRAPES)
            matched_names = {matcher.name for matcher in node.matchers.matchers}
            faults.extend(f"{node.name}: {name}" for name in matched_names - labels - OF_SCRAPES)
        modifier = getattr(node, "modifier", None)
        label_matching = getattr(modifier, "matching", None)
        for clause in (modifier, label_matching):
            grouping_labels.update(getattr(clause, "labels", None) or ())

    promql.walk(promql.parse(expression), check_node)
    return faults + sorted(grouping_labels - used_labels)
