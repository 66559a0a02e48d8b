"""The names of metrics, their page, and what is made of them for Prometheus and Grafana."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from headwater.cli.commands import COMMANDS
from tests.support.declared_metrics import declared_metrics, unknown_parts
from tests.support.sizes import ROOT
from tests.telemetry.conftest import Observed

PAGE = (ROOT / "docs" / "observability.md").read_text()
RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "headwater.json"
RULE_TESTS = Path(__file__).with_name("alert_tests.yaml")
REQUIRED = os.environ.get("HEADWATER_TEST_PROMTOOL") == "required"
NOT_BASE_UNITS = ("milliseconds", "minutes", "hours", "days", "ms", "kilobytes", "percent")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[tuple[str, str]]:
    """Every expression of the dashboard, and whose it is."""
    board = json.loads(DASHBOARD.read_text())
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "5m"))
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]


def promtool(*arguments: str, text: str | None = None) -> str:
    program = shutil.which("promtool")
    if program is None:
        assert not REQUIRED
        pytest.skip("there is no promtool")
    ran = subprocess.run([program, *arguments], input=text, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_it_works(observed: Observed) -> None:
    """Every process of a machine is in what any API process tells."""
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(observed.metrics)
        for sample in family.samples
    }
    assert found["headwater_accepted_rows_total",] == 1
    assert found["headwater_processed_rows_total", "taken"] == 1
    assert found["headwater_deliveries_total", "delivered", "meta"] == 1
    assert found["headwater_platform_calls_total", "2xx", "meta"] == 1
    assert found["headwater_export_attempts_total", "completed"] == 1
    assert found["headwater_tool_calls_total", "answered", "get_space"] == 1
    assert found["headwater_http_responses_total", "422"] == 1
    assert found["headwater_http_request_seconds_count", "/public-api/v1/reports"] == 1
    for process in ("api", "worker", "forwarder", "exporter"):
        assert found["headwater_process_starts_total", process] == 1


def test_it_tells_nothing_that_is_not_declared(observed: Observed) -> None:
    known = {
        name: labels for each in declared_metrics().values()
        for name, labels in each.series().items()
    }  # fmt: skip
    for family in text_string_to_metric_families(observed.metrics):
        for sample in family.samples:
            assert set(sample.labels) == known[sample.name], sample


def test_every_panel_of_counts_has_series_before_the_first_event(observed: Observed) -> None:
    """Also those that nothing has happened to: an increase from nothing to one would not be seen."""
    counted = {
        sample.name
        for family in text_string_to_metric_families(observed.metrics)
        for sample in family.samples
        if family.type == "counter"
    }
    shown = {name for _, each in expressions() for name in re.findall(r"headwater_\w+_total", each)}
    assert shown <= counted


@pytest.mark.parametrize("name", list(declared_metrics()))
def test_names_go_by_the_conventions(name: str) -> None:
    metric = declared_metrics()[name]
    assert re.fullmatch("headwater(_[a-z]+)+", name)
    assert name.endswith("_total") == (metric.kind == "counter")
    assert metric.kind != "histogram" or name.endswith("_seconds")
    assert not {*NOT_BASE_UNITS, "counter", "gauge", "histogram"} & set(name.split("_"))
    assert metric.about
    assert not set(metric.labels) & {"job", "instance", "le", "quantile"}


def test_promtool_finds_nothing_to_say(observed: Observed) -> None:
    assert promtool("check", "metrics", text=observed.metrics) == ""


def test_every_metric_is_on_its_page() -> None:
    rows = re.findall(r"^\| `(headwater_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$", PAGE, re.MULTILINE)
    told = {name: (kind, tuple(re.findall("`([a-z]+)`", labels))) for name, kind, labels in rows}
    assert len(rows) == len(told)
    assert told == {metric.name: (metric.kind, metric.labels) for metric in declared_metrics().values()}


def test_every_alert_is_on_its_page() -> None:
    told = re.findall(r"^\| `(Headwater\w+)` \| (page|ticket) \|", PAGE, re.MULTILINE)
    assert told == [(rule["alert"], rule["labels"]["severity"]) for rule in rules()]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alerts_name_what_there_is(rule: dict[str, Any]) -> None:
    assert unknown_parts(rule["expr"]) == []
    assert set(rule["annotations"]) == {"summary", "action"}
    commands = re.findall(r"headwater ([a-z]+)", rule["annotations"]["action"])
    assert set(commands) <= {entry.name for entry in COMMANDS}


def test_panels_name_what_there_is() -> None:
    assert {title: wrong for title, each in expressions() if (wrong := unknown_parts(each))} == {}


def test_the_dashboard_shows_everything_that_is_counted() -> None:
    """A histogram by its buckets; what is stored for each Space is for alerts of one's own."""
    shown = " ".join(each for _, each in expressions())
    names = {
        f"{metric.name}_bucket" if metric.kind == "histogram" else metric.name
        for metric in declared_metrics().values()
    } - {"headwater_erasures", "headwater_exports", "headwater_merges_last_hour"}
    assert {name for name in names if not re.search(rf"\b{name}\b", shown)} == set()


def test_a_wrong_expression_is_found() -> None:
    assert unknown_parts("rate(headwater_accepted_rows[5m])") == ["headwater_accepted_rows"]
    assert unknown_parts('headwater_inbox_rows{platform="meta"}') == ["headwater_inbox_rows: platform"]
    assert unknown_parts("sum by (tool) (headwater_inbox_rows)") == ["tool"]
    with pytest.raises(ValueError, match="parenthesis"):
        unknown_parts("sum by (tool")


def test_panels_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y) for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }  # fmt: skip
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_rules_fire_when_they_should() -> None:
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(RULE_TESTS))
