"""The MCP resource of a Space over HTTP: who asks is found out anew for each request, before the
protocol sees it. Only POST is served: nothing is ever pushed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from headwater.accounts.tokens import Bearer, find_token
from headwater.database.pool import UNAVAILABLE
from headwater.http.errors import Forbidden, NotAllowed, Problem, Unauthorized, Unavailable
from headwater.http.rate_limits import Demand, Quota, take
from headwater.mcp.asking import Asking, Service
from headwater.mcp.server import ASKING, build_server
from headwater.mcp.tools import TOOLS
from headwater.oauth.metadata import SCOPE, resource_path
from headwater.spaces.spaces import fetch_limits

BUCKET = "mcp"
LONGEST_TOKEN = 512
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class SpaceEndpoint:
    """/mcp/{space_id}/public-api, for all Spaces."""

    def __init__(self, service: Service, brand: str) -> None:
        self._service = service
        server = build_server(brand, TOOLS)
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            transport_security=_security(service.base_url),
        )
        self._manager = server.session_manager

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While this lasts, requests are served."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope[ASKING], quota = await self._admit(scope)
        except Problem as problem:
            await _answer(problem)(scope, receive, send)
            return
        except UNAVAILABLE:
            await _answer(Unavailable())(scope, receive, send)
            return

        async def send_with_quota(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *quota.headers()]
            await send(message)

        await self._manager.handle_request(scope, receive, send_with_quota)

    async def _admit(self, scope: Scope) -> tuple[Asking, Quota]:
        """Who asks, and what is left of the Space's minute. Raises Problem."""
        space_id = int(scope["path_params"]["space_id"])
        async with self._service.database.connection() as connection:
            token = _read_token(scope)
            bearer = await find_token(connection, token) if token else None
            if bearer is None:
                raise self._unauthorized(space_id, told=_has_authorization(scope))
            _check(bearer, space_id)
            if scope["method"] != "POST":
                raise NotAllowed(["POST"])
            asking = Asking(self._service, bearer, await fetch_limits(connection, space_id))
            demand = Demand(space_id, 1, asking.limit(BUCKET))
            quota = (await take(connection, BUCKET, [demand]))[space_id]
        quota.admit(demand.cost)
        return asking, quota

    def _unauthorized(self, space_id: int, *, told: bool) -> Unauthorized:
        """What leads a client to the authorization server: where the metadata is and the scope to
        ask for; and, of a token that was shown, that it does not work (RFC 6750 §3).
        """
        url = f"{self._service.base_url}/.well-known/oauth-protected-resource"
        parts = [f'resource_metadata="{url}{resource_path(space_id)}"', f'scope="{SCOPE}"']
        if told:
            parts.append('error="invalid_token"')
        problem = Unauthorized("Missing or invalid access token.")
        problem.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
        return problem


def _check(bearer: Bearer, space_id: int) -> None:
    if bearer.space_id != space_id:
        raise Forbidden("This token is for another Space.")
    if not bearer.active:
        raise Forbidden("The Space's subscription is inactive.")


def _authorization(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == b"authorization"]


def _has_authorization(scope: Scope) -> bool:
    return bool(_authorization(scope))


def _read_token(scope: Scope) -> str | None:
    """The bearer token of the one Authorization header there may be; never of the query or body."""
    given = _authorization(scope)
    if len(given) != 1 or len(given[0]) > LONGEST_TOKEN:
        return None
    scheme, _, token = given[0].partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


def _security(base_url: str) -> TransportSecuritySettings:
    """The Host and Origin headers that are taken: those of the base URL, and, where that is on the
    loopback interface, all names of it. Pages there are the person's own tools.
    """
    parts = urlsplit(base_url)
    hosts = [parts.netloc]
    if f"{parts.hostname}" in ("127.0.0.1", "localhost", "::1"):
        port = f":{parts.port}" if parts.port else ""
        hosts += [f"{name}{port}" for name in LOOPBACK]
    local = [f"http://{name}:*" for name in LOOPBACK]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[base_url, *local])


def _answer(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, problem.headers, "application/json")
