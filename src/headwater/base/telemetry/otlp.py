"""Traces and counters for a collector, over OTLP/HTTP when the standard variables configure one.

The SDK is an extra (`headwater[otel]`), imported only when a variable names a collector. The SDK reads the
variables; this module checks only what would otherwise fail later, or silently.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from msgspec import Struct

from headwater import __version__
from headwater.base.failure import Failure
from headwater.base.telemetry.counter_files import PROCESS
from headwater.base.telemetry.spans import trace_with

PROTOCOL = "http/protobuf"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Signals(Struct, frozen=True):
    traces: bool
    metrics: bool


def read_signals(environment: Mapping[str, str] = os.environ) -> Signals | None:
    """Return the requested signals, or None. Raise Failure for unsupported ones."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    signals = Signals(_wants("TRACES", environment), _wants("METRICS", environment))
    if not signals.traces and not signals.metrics:
        return None
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise Failure(
            f"{_ENDPOINT} asks for OpenTelemetry, which is not installed:"
            " install headwater[otel], or remove the variable"
        )
    return signals


def _wants(signal: str, environment: Mapping[str, str]) -> bool:
    """Return whether to export a signal: by its own variable, or because a collector is configured. Raise
    Failure.
    """
    variable = f"OTEL_{signal}_EXPORTER"
    prefix = f"OTEL_EXPORTER_OTLP_{signal}_"
    is_named = _ENDPOINT in environment or f"{prefix}ENDPOINT" in environment
    exporter = environment.get(variable, "").strip() or ("otlp" if is_named else "none")
    if exporter not in ("otlp", "none"):
        raise Failure(f"{variable}: must be otlp or none")
    protocols = (f"{prefix}PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((name for name in protocols if environment.get(name, "").strip()), None)
    if exporter == "otlp" and protocol and environment[protocol].strip() != PROTOCOL:
        raise Failure(f"{protocol}: must be {PROTOCOL}")
    return exporter == "otlp"


@contextmanager
def exported() -> Generator[None]:
    """Export this process's signals inside the block, if configured. Raise Failure."""
    signals = read_signals()
    if signals is None:
        yield
        return
    from headwater.base.telemetry.exporters import open_metrics, open_traces  # noqa: PLC0415 - an extra

    process_attributes = _describe_process(os.environ.get(PROCESS, str(os.getpid())))
    with ExitStack() as stack:
        if signals.traces:
            trace_with(stack.enter_context(open_traces(process_attributes)))
            stack.callback(trace_with, None)
        if signals.metrics:
            stack.enter_context(open_metrics(process_attributes))
        yield


def _describe_process(name: str) -> dict[str, str]:
    """Let the standard variables take precedence."""
    return {
        "service.name": "headwater",
        "service.version": __version__,
        "service.instance.id": f"{socket.gethostname()}/{name}",
    }
