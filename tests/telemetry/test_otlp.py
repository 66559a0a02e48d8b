"""Traces and counters for an OpenTelemetry collector, and the same counters at /metrics, from the real
processes of one installation.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headwater.base.failure import Failure
from headwater.base.telemetry.otlp import Signals, read_signals
from tests.support.collector import CollectedSpan
from tests.support.declared_metrics import declared_metrics
from tests.support.processes import environment
from tests.telemetry.conftest import EMAIL, PARENT, TRACE, Observation
from tests.telemetry.monitoring import expressions, promtool

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


def single_span(spans: list[CollectedSpan]) -> CollectedSpan:
    assert len(spans) == 1, spans
    return spans[0]


def test_it_works(observation: Observation) -> None:
    """A request continues its sender's trace, and every kind of process reports its work."""
    accepted_span, refused_span = observation.collected.find_spans("POST /public-api/v1/events/track")
    assert (accepted_span.trace_id, accepted_span.parent_id, accepted_span.kind) == (TRACE, PARENT, "server")
    assert accepted_span.attributes == {
        "http.request.method": "POST", "http.route": "/public-api/v1/events/track",
        "http.response.status_code": 202,
    }  # fmt: skip
    assert refused_span.attributes["http.response.status_code"] == 422
    assert refused_span.trace_id != TRACE
    batch = single_span(observation.collected.find_spans("pipeline batch"))
    assert batch.attributes == {"headwater.space_id": 1, "headwater.rows": 1}
    assert batch.process["service.name"] == "headwater"
    assert batch.process["deployment.environment"] == "test"
    assert batch.process["service.instance.id"].endswith("/worker-1")
    assert single_span(observation.collected.find_spans("export")).attributes["headwater.kind"] == "contacts"
    assert observation.code == 0


def test_a_report_is_a_part_of_its_request(observation: Observation) -> None:
    request = single_span(observation.collected.find_spans("GET /public-api/v1/reports"))
    report = single_span(observation.collected.find_spans("report"))
    spans_by_id = {span.span_id: span for span in observation.collected.spans}
    connection = spans_by_id[report.parent_id]
    assert (connection.name, connection.kind) == ("postgresql", "client")
    assert connection.parent_id == request.span_id
    assert request.attributes["headwater.space_id"] == 1


def test_a_delivery_has_its_call(observation: Observation) -> None:
    delivery = single_span(observation.collected.find_spans("delivery"))
    assert delivery.attributes["headwater.platform"] == "meta"
    assert delivery.process["service.instance.id"].endswith("/worker-1-forwarder")
    call = single_span([span for span in observation.collected.find_spans("POST") if span.kind == "client"])
    assert call.parent_id == delivery.span_id
    assert call.attributes == {
        "http.request.method": "POST", "server.address": "127.0.0.1",
        "http.response.status_code": 200,
    }  # fmt: skip


def test_a_tool_of_assistants_is_a_part_of_its_request(observation: Observation) -> None:
    tool = single_span(observation.collected.find_spans("tools/call get_space"))
    assert tool.parent_id == single_span(assistant_requests(observation, 200)).span_id


def assistant_requests(observation: Observation, status: int) -> list[CollectedSpan]:
    """Return the assistants' requests that were answered with a status."""
    requests = observation.collected.find_spans("POST /mcp/{space_id}/public-api")
    return [request for request in requests if request.attributes["http.response.status_code"] == status]


def test_only_work_is_told_of(observation: Observation) -> None:
    """Neither polls for work nor health checks are traced."""
    roots = {span.name for span in observation.collected.spans if not span.parent_id}
    assert not roots & {"postgresql", "GET /readyz", "GET /metrics"}


def test_nothing_personal_leaves(observation: Observation) -> None:
    assert len(observation.collected.texts) > 10
    for text in observation.collected.texts:
        for personal in (EMAIL, "EAAB-token", "trk_sk_", "trk_mcp_", "this%20year", "127.0.0.1:"):
            assert personal.encode() not in text, text
    request_span = single_span(
        observation.collected.find_spans("GET /public-api/v1/contacts/by-email/{email}")
    )
    assert request_span.attributes["http.route"] == "/public-api/v1/contacts/by-email/{email}"
    assert sum(span.events for span in observation.collected.spans) == 0


def test_lines_of_the_log_name_their_trace(observation: Observation) -> None:
    lines = [json.loads(line) for line in observation.log.splitlines()]
    (line,) = [line for line in lines if line["event"] == "assistant_refused"]
    refused_span = single_span(assistant_requests(observation, 401))
    spans = {span.span_id: span for span in observation.collected.spans}
    assert line["trace_id"] == refused_span.trace_id == spans[line["span_id"]].trace_id


def test_counters_come_as_metrics(observation: Observation) -> None:
    metrics = observation.collected.metrics
    assert metrics["api-1", "headwater_accepted_rows"] == {"": 1}
    assert metrics["worker-1", "headwater_processed_rows"]["taken"] == 1
    assert metrics["worker-1", "headwater_batch_seconds"] == {"": 1}
    assert metrics["worker-1-forwarder", "headwater_deliveries"]["meta,delivered"] == 1
    assert metrics["worker-1-exporter", "headwater_export_attempts"]["completed"] == 1


def test_metrics_tell_of_every_process(observation: Observation) -> None:
    """Any API process reports the metrics of every process on the machine."""
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(observation.metrics)
        for sample in family.samples
    }
    assert values["headwater_accepted_rows_total",] == 1
    assert values["headwater_processed_rows_total", "taken"] == 1
    assert values["headwater_deliveries_total", "delivered", "meta"] == 1
    assert values["headwater_platform_calls_total", "2xx", "meta"] == 1
    assert values["headwater_export_attempts_total", "completed"] == 1
    assert values["headwater_tool_calls_total", "answered", "get_space"] == 1
    assert values["headwater_http_responses_total", "422"] == 1
    assert values["headwater_http_request_seconds_count", "/public-api/v1/reports"] == 1
    for process in ("api", "worker", "forwarder", "exporter"):
        assert values["headwater_process_starts_total", process] == 1


def test_it_tells_nothing_that_is_not_declared(observation: Observation) -> None:
    label_names = {
        name: labels for metric in declared_metrics().values()
        for name, labels in metric.series().items()
    }  # fmt: skip
    for family in text_string_to_metric_families(observation.metrics):
        for sample in family.samples:
            assert set(sample.labels) == label_names[sample.name], sample


def test_every_panel_of_counts_has_series_before_the_first_event(observation: Observation) -> None:
    """This includes series that are still zero: an increase from nothing to one would not be visible."""
    counter_names_present = {
        sample.name
        for family in text_string_to_metric_families(observation.metrics)
        for sample in family.samples
        if family.type == "counter"
    }
    counter_names = {
        name for _, expression in expressions() for name in re.findall(r"headwater_\w+_total", expression)
    }
    assert counter_names <= counter_names_present


def test_promtool_finds_nothing_to_say(observation: Observation) -> None:
    assert promtool("check", "metrics", text=observation.metrics) == ""


@pytest.mark.parametrize(
    ("variables", "signals"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "shop"}, None),
        (ENDPOINT, Signals(traces=True, metrics=True)),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"}, None),
        (ENDPOINT | {"OTEL_METRICS_EXPORTER": "none"}, Signals(traces=True, metrics=False)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, Signals(traces=False, metrics=True)),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"},
            Signals(traces=True, metrics=False),
        ),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, None),
    ],
)
def test_variables_say_what_is_sent(variables: dict[str, str], signals: Signals | None) -> None:
    assert read_signals(variables) == signals


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: must be otlp or none"),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
         "OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf"),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"},
         "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: must be http/protobuf"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused(variables: dict[str, str], message: str) -> None:
    with pytest.raises(Failure, match=f"^{message}$"):
        read_signals(variables)


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env=environment(**variables),
    )  # fmt: skip


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """It ends before anything is created."""
    program = (
        "import sys; from importlib import util\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if 'opentelemetry.' in name else found(name)\n"
        "from headwater.cli import main\n"
        f"sys.exit(main(['serve', '--port', '0', '--data-dir', {str(tmp_path / 'data')!r}]))"
    )
    result = run(program, **ENDPOINT)
    assert (result.returncode, result.stdout) == (2, "")
    assert "not installed: install headwater[otel], or remove the variable" in result.stderr
    assert not (tmp_path / "data").exists()


def test_off_it_costs_nothing() -> None:
    """No process imports the SDK, and every span is the same empty object."""
    program = (
        "import sys, headwater.app, headwater.supervisor\n"
        "from headwater.base.telemetry.otlp import exported\n"
        "from headwater.base.telemetry.spans import current_ids, inner_span, span\n"
        "with exported(), span('a') as one, inner_span('b', {}, 'client') as other:\n"
        "    assert one is other and not current_ids()\n"
        "    one.rename('c'); one.note('d', 1)\n"
        "assert not [name for name in sys.modules if name.startswith(('opentelemetry.sdk',"
        " 'opentelemetry.exporter', 'google.protobuf'))]\n"
    )
    result = run(program)
    assert result.returncode == 0, result.stderr


def test_a_collector_that_is_away_keeps_nobody_waiting() -> None:
    program = (
        "import time; from headwater.base.telemetry.otlp import exported\n"
        "from headwater.base.telemetry.spans import span\n"
        "with exported():\n"
        "    for _ in range(1_000):\n"
        "        with span('x'): pass\n"
    )
    result = run(program, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
                 OTEL_EXPORTER_OTLP_TIMEOUT="1")  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_an_error_is_told_by_its_class_alone() -> None:
    program = (
        "from contextlib import suppress\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "from headwater.base.telemetry.exporters import SdkTracer\n"
        "from headwater.base.telemetry.spans import span, trace_with\n"
        "provider, memory = TracerProvider(), InMemorySpanExporter()\n"
        "provider.add_span_processor(SimpleSpanProcessor(memory))\n"
        "trace_with(SdkTracer(provider.get_tracer('t')))\n"
        "with suppress(ValueError), span('x'):\n"
        "    raise ValueError('ada@acme.example')\n"
        "(seen,) = memory.get_finished_spans()\n"
        "print(seen.to_json())"
    )
    result = run(program)
    assert result.returncode == 0, result.stderr
    span: dict[str, Any] = json.loads(result.stdout)
    assert span["attributes"] == {"error.type": "ValueError"}
    assert span["status"] == {"status_code": "ERROR"}
    assert "acme" not in result.stdout
