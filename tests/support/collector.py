"""An OpenTelemetry collector on loopback that accepts and decodes exports."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SPAN_KINDS = {1: "internal", 2: "server", 3: "client"}
FAILED = 2


@dataclass(frozen=True)
class CollectedSpan:
    """A span as received."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    process: dict[str, Any]
    has_failed: bool
    events: int


@dataclass
class Collector:
    """Everything received."""

    url: str = ""
    spans: list[CollectedSpan] = field(default_factory=list[CollectedSpan])
    metrics: dict[tuple[str, str], dict[str, Any]] = field(
        default_factory=dict[tuple[str, str], dict[str, Any]]
    )
    """The latest value by process and name: sums by labels."""
    texts: list[bytes] = field(default_factory=list[bytes])
    """The raw bodies, for tests of content that must not be exported."""

    def find_spans(self, name: str) -> list[CollectedSpan]:
        """Return the spans with this name."""
        return [span for span in self.spans if span.name == name]

    def take_traces(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            process = _attributes(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [_span(span, process) for span in scope.spans]

    def take_metrics(self, body: bytes) -> None:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            instance = _attributes(resource.resource.attributes)["service.instance.id"]
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = metric.sum.data_points or metric.histogram.data_points
                    self.metrics[instance.rpartition("/")[2], metric.name] = {
                        ",".join(_attributes(point.attributes).values()): (
                            point.count if metric.HasField("histogram") else point.as_double
                        )
                        for point in points
                    }


def _span(span: Any, process: dict[str, Any]) -> CollectedSpan:
    return CollectedSpan(
        span.name, SPAN_KINDS[span.kind], span.trace_id.hex(), span.span_id.hex(),
        span.parent_span_id.hex(), _attributes(span.attributes), process,
        span.status.code == FAILED, len(span.events),
    )  # fmt: skip


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector."""
    collection = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collection.texts.append(body)
            if self.path == "/v1/traces":
                collection.take_traces(body)
            else:
                assert self.path == "/v1/metrics"
                collection.take_metrics(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # all processes of a service connect at the same time

    with Server(("127.0.0.1", 0), Handler) as server:
        collection.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collection
        finally:
            server.shutdown()
            thread.join()
