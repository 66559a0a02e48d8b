"""The API's routes, generated from its operations: one per path, for all its methods.

Fixed paths precede those with a parameter, so /events/exports isn't taken for the event with the id
`exports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.endpoints.calls import Call, admit, respond
from headwater.endpoints.operations import Handler, Operation
from headwater.endpoints.services import services
from headwater.http.errors import NotAllowed


class PathEndpoint:
    """Endpoints of a path by method. HEAD works like GET; the server omits the body (RFC 9110 §9.3.2)."""

    def __init__(self, by_method: Mapping[str, ASGIApp]) -> None:
        self._by_method = dict(by_method)
        if "GET" in by_method:
            self._by_method.setdefault("HEAD", by_method["GET"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._by_method.get(scope["method"])
        if endpoint is None:
            raise NotAllowed(self._by_method)
        await endpoint(scope, receive, send)


Endpoints = Mapping[tuple[str, str], ASGIApp]
"""ASGI applications by method and path."""


def operation_endpoints(
    operations: Iterable[Operation], prefix: str, own_endpoints: Mapping[Operation, ASGIApp]
) -> dict[tuple[str, str], ASGIApp]:
    """Return each operation's endpoint, by method and router path. `own_endpoints` has the applications of
    operations without a handler.
    """
    return {
        (operation.method, prefix + _router_path(operation)): (
            own_endpoints[operation] if operation.handler is None else _endpoint(operation, operation.handler)
        )
        for operation in operations
    }


def path_routes(endpoints: Endpoints) -> list[Route]:
    by_path: dict[str, dict[str, ASGIApp]] = {}
    for (method, path), endpoint in endpoints.items():
        by_path.setdefault(path, {})[method] = endpoint
    return [Route(path, PathEndpoint(by_path[path])) for path in sorted(by_path, key=_precedence)]


def _precedence(path: str) -> list[bool]:
    return ["{" in segment for segment in path.split("/")]


def _router_path(operation: Operation) -> str:
    path = operation.path
    for parameter in operation.path_parameters:
        path = path.replace(f"{{{parameter.name}}}", parameter.pattern)
    return path


def _endpoint(operation: Operation, handler: Handler) -> ASGIApp:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        shared = services(request)
        caller = await admit(request, shared, operation.scope, operation.limit)
        call = Call(caller, shared, request, operation.id, operation.changes)
        response = respond(await handler(call), operation.status)
        await response(scope, receive, send)

    return serve
