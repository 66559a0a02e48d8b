"""Counters that the processes of one machine share, through files in a directory.

Each process counts in files of its own, which are mapped into memory: what a process that is killed
has counted stays, and its successor goes on with it. Any process can add all of them up.

    api-1               accepted rows, answers, reports …  ┐
    worker-1            processed rows, batches …          ├ metrics/*.db → /metrics
    worker-1-forwarder  deliveries, calls …                ┘
"""

from __future__ import annotations

import os

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    generate_latest,
    multiprocess,
    start_http_server,
    values,
)

from headwater.base.telemetry.counter_files import DIRECTORY, reserve_files, take_name


def share_counters(command: str) -> None:
    """Share the counters of this process, `headwater <command>`, if its parent requests it. Must run before
    any other counter is created.

    The library names files by process id. Files of ended processes would pile up, and removing them would
    lose their counts. Ours are named by process, so a successor reuses the file.
    """
    name = take_name()
    if name is None or not reserve_files(name):
        return
    values.ValueClass = values.MultiProcessValue(lambda: name)  # pyright: ignore[reportUnknownMemberType] # half typed
    starts = Counter("headwater_process_starts", "Starts of processes", ["process"])
    starts.labels(command).inc()


def render_counters() -> bytes:
    """Return this machine's counters, or this process's own if it shares none, in Prometheus text."""
    return generate_latest(_counters())


def serve_counters(host: str, port: int) -> None:
    """Answer every request at an address with the counters, in a thread. Raise OSError."""
    start_http_server(port, host, _counters())


def _counters() -> CollectorRegistry:
    if DIRECTORY not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    return registry
