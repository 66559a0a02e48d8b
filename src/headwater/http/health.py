"""/healthz, /readyz and /metrics for monitoring, without a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from headwater.base.telemetry.shared_counters import render_counters
from headwater.database.pool import UNAVAILABLE, Database
from headwater.database.queries import Queries, fetch_one
from headwater.http.shared import Shared

queries = Queries(__name__, "health.sql")
SECONDS = 2.0
READY_SECONDS = 1.0
"""Seconds between checks; requests share the latest result."""


async def healthz(_: Scope, __: Receive, send: Send) -> None:
    """Answer that this process runs. A bare ASGI application, so also the baseline cost of any answer."""
    body = b'{"status":"ok"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def readyz(readiness: Shared[bool], _: Request) -> Response:
    """Answer whether this process can work."""
    if await readiness.get():
        return JSONResponse({"status": "ready"})
    return JSONResponse({"status": "database unavailable"}, 503, {"Retry-After": "2"})


async def metrics(backlog: Shared[bytes], _: Request) -> Response:
    """Answer Prometheus text: this machine's counters, and the queue in the database."""
    text = render_counters()
    with suppress(*UNAVAILABLE):  # the counters are useful without it
        text += await backlog.get()
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def read_backlog(database: Database, figures: Sequence[Figures]) -> bytes:
    """Return the database's backlog as Prometheus text. Raise one of UNAVAILABLE."""
    async with database.connection(SECONDS) as connection:
        row = await fetch_one(connection, queries["queue"])
        metrics: list[Metric] = [
            GaugeMetricFamily(name, description, figure)
            for (name, description), figure in zip(_GAUGES, row, strict=True)
        ]
        for value in figures:
            metrics += await value(connection)
    return generate_latest(_Stored(metrics))


_GAUGES = (
    ("headwater_inbox_rows", "Rows not yet processed"),
    ("headwater_inbox_oldest_seconds", "Age of the oldest such row"),
    ("headwater_rejected_rows", "Rows awaiting replay"),
    ("headwater_erasures", "Erasures asked for and not yet carried out"),
    ("headwater_erasures_oldest_seconds", "Age of the oldest such erasure"),
    ("headwater_exports", "Exports asked for and not yet completed"),
    ("headwater_exports_oldest_seconds", "Age of the oldest such export"),
)


Figures = Callable[[AsyncConnection], Awaitable[Sequence[Metric]]]
"""Metrics that a higher package reads from its tables."""


class _Stored(Collector):
    """Metrics read from the database."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def health_routes(readiness: Shared[bool], backlog: Shared[bytes]) -> list[Route]:
    return [Route("/readyz", partial(readyz, readiness)), Route("/metrics", partial(metrics, backlog))]
