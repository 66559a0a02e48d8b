"""The first step of every request: set limits on database time and memory, and dispatch.

The busiest endpoints are found by method and path alone. All others use the routes, and get rate limit
headers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import structlog
from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.base.telemetry.request_spans import route_template
from headwater.database.allowance import begin_request
from headwater.http.admission import BodyBudget

log = structlog.get_logger()
request_seconds = Histogram(
    "headwater_http_request_seconds",
    "Time of a request that goes through the routes",
    ["route"],
    buckets=(0.005, 0.025, 0.1, 0.25, 1, 5, 20),
)


class Front:
    """The service as one ASGI application: `busiest` by method and path, before the routes."""

    def __init__(self, busiest: Mapping[tuple[str, str], ASGIApp], routed: ASGIApp) -> None:
        self._busiest, self._routed = dict(busiest), routed
        self._budget = BodyBudget()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._routed(scope, receive, send)
            return
        begin_request()
        with self._budget.request(scope["headers"]):
            endpoint = self._busiest.get((scope["method"], scope["path"]), self._take_other)
            await endpoint(scope, receive, send)

    async def _take_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_answered, started = False, time.perf_counter()

        async def send_with_quota(message: Message) -> None:
            nonlocal is_answered
            quota = scope.get("headwater.quota")
            if quota is not None and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *quota.headers()]
            await send(message)
            is_answered = message["type"] == "http.response.body" and not message.get("more_body")

        try:
            await self._routed(scope, receive, send_with_quota)
        except Exception:
            if not is_answered:
                raise
            # The routes have answered 500 and raise all the same; the server would take that for an answer
            # cut short and end the connection.
            # Without the path, which may have an address, or the token of a link.
            log.exception("request_failed", method=scope["method"], route=route_template(scope))
        finally:
            route = route_template(scope) or "none"
            request_seconds.labels(route).observe(time.perf_counter() - started)
