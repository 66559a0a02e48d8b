"""Export spans as they end, and this process's counters periodically, to a collector. Only this module and
`metrics_data` import OpenTelemetry's SDK.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_METRIC_EXPORT_INTERVAL
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client import REGISTRY

from headwater.base.failure import Failure
from headwater.base.telemetry.counter_files import find_beginning
from headwater.base.telemetry.metrics_data import make_metrics_data
from headwater.base.telemetry.spans import Attribute, Kind, Span

INTERVAL = "60000"
"""Milliseconds between two exports of counters, by the standard."""
_KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}


@contextmanager
def open_traces(described: Mapping[str, str]) -> Generator[SdkTracer]:
    """Yield a tracer that sends spans to the collector, the last ones at the end of the block. Libraries that
    create spans, such as the MCP server's, are traced too.
    """
    provider = TracerProvider(resource=_resource(described), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    try:
        yield SdkTracer(provider.get_tracer("headwater"))
    finally:
        provider.shutdown()


class _SdkSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, name: str, value: Attribute) -> None:
        self._span.set_attribute(name, value)

    def rename(self, name: str) -> None:
        self._span.update_name(name)


class SdkTracer:
    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def begin(
        self, name: str, kind: Kind, attributes: Mapping[str, Attribute], caller: Mapping[str, str] | None
    ) -> Generator[Span]:
        """Return a span. Error messages are omitted because they may quote personal data."""
        context = propagate.extract(caller) if caller else None
        with self._tracer.start_as_current_span(
            name, context, _KINDS[kind], attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _SdkSpan(span)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    def current_ids(self) -> dict[str, str]:
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return {}
        return {
            "trace_id": trace.format_trace_id(context.trace_id),
            "span_id": trace.format_span_id(context.span_id),
        }


@contextmanager
def open_metrics(described: Mapping[str, str]) -> Generator[None]:
    """Send this process's counters to the collector inside the block, and at its end. Raise Failure."""
    seconds = _interval()
    exporter, resource, beginning = OTLPMetricExporter(), _resource(described), find_beginning()
    end_event = threading.Event()

    def export() -> None:
        data = make_metrics_data(REGISTRY.collect(), resource, beginning, time.time_ns())
        exporter.export(data)  # pyright: ignore[reportUnknownMemberType] # half typed

    def run() -> None:
        while not end_event.wait(seconds):
            export()

    thread = threading.Thread(target=run, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end_event.set()
        thread.join()
        export()
        exporter.shutdown()  # pyright: ignore[reportUnknownMemberType] # half typed


def _interval() -> float:
    """Return seconds. Raise Failure."""
    text = os.environ.get(OTEL_METRIC_EXPORT_INTERVAL, "").strip() or INTERVAL
    if not text.isdecimal() or int(text) < 1:
        raise Failure(f"{OTEL_METRIC_EXPORT_INTERVAL}: must be a number of milliseconds")
    return int(text) / 1000


def _resource(described: Mapping[str, str]) -> Resource:
    return Resource.create().merge(Resource(described)).merge(OTELResourceDetector().detect())
