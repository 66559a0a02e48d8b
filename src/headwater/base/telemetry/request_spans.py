"""A span around every request: method, route template, status and Space. Paths, queries and addresses are
omitted because they may identify people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.base.telemetry.spans import span

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Polled by monitoring."""
OTHER = "_OTHER"
"""Replaces an unknown method, by OpenTelemetry's conventions."""
_CONTEXT = (b"traceparent", b"tracestate")


class TracedRequests:
    """An application with a span around every request, which continues its sender's trace."""

    def __init__(
        self, app: ASGIApp, fixed_paths: Collection[str], served_space: Callable[[], int | None]
    ) -> None:
        """`fixed_paths` are paths without a route; `served_space` returns a finished request's Space."""
        self._app = app
        self._fixed_paths, self._served_space = frozenset(fixed_paths), served_space

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNTRACED:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else OTHER
        caller = {
            name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _CONTEXT
        }
        with span(method, {"http.request.method": method}, kind="server", caller=caller) as request_span:

            async def send_seen(message: Message) -> None:
                if message["type"] == "http.response.start":
                    request_span.note("http.response.status_code", message["status"])
                await send(message)

            try:
                await self._app(scope, receive, send_seen)
            finally:
                route = self._route(scope)
                if route is not None:
                    request_span.rename(f"{method} {route}")
                    request_span.note("http.route", route)
                space_id = self._served_space()
                if space_id is not None:
                    request_span.note("headwater.space_id", space_id)

    def _route(self, scope: Scope) -> str | None:
        """Return None without a match."""
        fixed = scope["path"] if scope["path"] in self._fixed_paths else None
        return route_template(scope) or fixed


def route_template(scope: Scope) -> str | None:
    """Return the path of a request's route, with names for the variable parts."""
    return getattr(scope.get("route"), "path_format", None)
