"""The names of metrics, their documentation, and the files for Prometheus and Grafana."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.cli.commands import COMMANDS
from headwater.forwarding.deliveries.counters import deliveries
from tests.support.declared_metrics import declared_metrics, unknown_parts
from tests.support.sizes import ROOT
from tests.telemetry.monitoring import DASHBOARD, expressions, promtool

PAGE = (ROOT / "docs" / "observability.md").read_text()
RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
RULE_TESTS = Path(__file__).with_name("alert_tests.yaml")
NOT_BASE_UNITS = ("milliseconds", "minutes", "hours", "days", "ms", "kilobytes", "percent")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def test_it_works() -> None:
    """Every metric is documented."""
    rows = re.findall(r"^\| `(headwater_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$", PAGE, re.MULTILINE)
    documented_metrics = {
        name: (kind, tuple(re.findall("`([a-z]+)`", labels))) for name, kind, labels in rows
    }
    assert len(rows) == len(documented_metrics)
    assert documented_metrics == {
        metric.name: (metric.kind, metric.labels) for metric in declared_metrics().values()
    }


@pytest.mark.parametrize("name", list(declared_metrics()))
def test_names_go_by_the_conventions(name: str) -> None:
    metric = declared_metrics()[name]
    assert re.fullmatch("headwater(_[a-z]+)+", name)
    assert name.endswith("_total") == (metric.kind == "counter")
    assert metric.kind != "histogram" or name.endswith("_seconds")
    assert not {*NOT_BASE_UNITS, "counter", "gauge", "histogram"} & set(name.split("_"))
    assert metric.help_text
    assert not set(metric.labels) & {"job", "instance", "le", "quantile"}


def test_every_alert_is_on_its_page() -> None:
    documented_alerts = re.findall(r"^\| `(Headwater\w+)` \| (page|ticket) \|", PAGE, re.MULTILINE)
    assert documented_alerts == [(rule["alert"], rule["labels"]["severity"]) for rule in rules()]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alerts_name_what_there_is(rule: dict[str, Any]) -> None:
    assert unknown_parts(rule["expr"]) == []
    assert set(rule["annotations"]) == {"summary", "action"}
    commands = re.findall(r"headwater ([a-z]+)", rule["annotations"]["action"])
    assert set(commands) <= {entry.name for entry in COMMANDS}


def test_panels_name_what_there_is() -> None:
    assert {
        title: unknown for title, expression in expressions() if (unknown := unknown_parts(expression))
    } == {}


def test_the_dashboard_shows_everything_that_is_counted() -> None:
    """A histogram is shown by its buckets. Metrics by Space are meant for operators' own alerts."""
    all_expressions = " ".join(expression for _, expression in expressions())
    names = {
        f"{metric.name}_bucket" if metric.kind == "histogram" else metric.name
        for metric in declared_metrics().values()
    } - {"headwater_erasures", "headwater_exports", "headwater_merges_last_hour"}
    assert {name for name in names if not re.search(rf"\b{name}\b", all_expressions)} == set()


def test_every_outcome_of_a_delivery_is_documented_and_on_one_side() -> None:
    """What a platform counted is no failure."""
    outcomes = {sample.labels["outcome"] for metric in deliveries.collect() for sample in metric.samples}
    row = next(line for line in PAGE.splitlines() if "headwater_deliveries_total" in line)
    assert {outcome for outcome in outcomes if f"`{outcome}`" not in row} == set()
    panel = next(text for title, text in expressions() if title == "Not delivered per second")
    excluded = re.search(r'outcome!~"([a-z|]+)"', panel)
    assert excluded is not None
    assert {*excluded[1].split("|")} == {"delivered", "counted"} < outcomes


def test_a_wrong_expression_is_found() -> None:
    assert unknown_parts("rate(headwater_accepted_rows[5m])") == ["headwater_accepted_rows"]
    assert unknown_parts('headwater_inbox_rows{platform="meta"}') == ["headwater_inbox_rows: platform"]
    assert unknown_parts("sum by (tool) (headwater_inbox_rows)") == ["tool"]
    with pytest.raises(ValueError, match="parenthesis"):
        unknown_parts("sum by (tool")


def test_panels_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    occupied_cells: set[tuple[int, int]] = set()
    for panel in panels:
        position = panel["gridPos"]
        cells = {
            (x, y) for x in range(position["x"], position["x"] + position["w"])
            for y in range(position["y"], position["y"] + position["h"])
        }  # fmt: skip
        assert position["x"] + position["w"] <= 24
        assert not cells & occupied_cells, panel["title"]
        occupied_cells |= cells


def test_rules_fire_when_they_should() -> None:
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(RULE_TESTS))
