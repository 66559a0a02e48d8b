"""A Space's MCP resource over HTTP.

Each request's token is looked up, and our own rules check the body before the protocol reads it. Only POST is
served, because nothing is pushed.
"""

from __future__ import annotations

import asyncio
import re
from enum import StrEnum

import structlog
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.assistants.mcp.context import CALLING, TOOL_CONTEXT, ToolContext
from headwater.assistants.mcp.hosts import AllowedHosts
from headwater.assistants.mcp.protocol_messages import check_message, encode_problem
from headwater.assistants.oauth.metadata import SCOPE, resource_path
from headwater.database.pool import UNAVAILABLE
from headwater.endpoints.services import Services
from headwater.http.bodies import read_body, refuse_encoding
from headwater.http.clients import client_address
from headwater.http.errors import Forbidden, NotAllowed, Problem, Unauthorized, Unavailable, make_problem
from headwater.http.rate_limits import QuotaRequest, take
from headwater.intake.inbox.inbox import Inbox
from headwater.spaces.accounts.tokens import Bearer, find_token
from headwater.spaces.spaces import fetch_limits

LONGEST_TOKEN = 512
_REPLACED_HEADERS = {
    # Already checked; the protocol's implementation is stricter about the format.
    b"content-type": b"application/json",
    # Already negotiated; every client of the protocol accepts JSON.
    b"accept": b"application/json, text/event-stream",
}

log = structlog.get_logger()


class AccessRefusal(StrEnum):
    """The reason for refusing a request, for the log because assistants show little of it."""

    HOST = "host"
    ORIGIN = "origin"
    NO_TOKEN = "no_token"  # noqa: S105 - a word
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - a word
    OTHER_SPACE = "other_space"
    INACTIVE = "inactive"


class SpaceEndpoint:
    """/mcp/{space_id}/public-api, for all Spaces."""

    def __init__(self, shared: Services, inbox: Inbox) -> None:
        self._services, self._inbox = shared, inbox
        self._hosts = AllowedHosts.of(shared.base_url)
        self._protocol: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            space_id = _read_space_id(scope)
            self._check_caller(scope, space_id)
            scope[TOOL_CONTEXT] = await self._admit(scope, space_id)
            body = await _read_message(scope, receive)
        except Problem as problem:
            await _answer(problem)(scope, receive, send)
            return
        except UNAVAILABLE:
            await _answer(Unavailable())(scope, receive, send)
            return
        headers = [header for header in scope["headers"] if header[0] not in _REPLACED_HEADERS]
        scope["headers"] = [*headers, *_REPLACED_HEADERS.items()]
        self._protocol = self._protocol or await asyncio.to_thread(self._load_protocol)
        await self._protocol(scope, _replay(body, receive), send)

    def _load_protocol(self) -> ASGIApp:
        """Load the SDK and the tools for the first message. They take more than half a second and 24 MB, and
        most services have no assistant.
        """
        from headwater.assistants.mcp.server import build_protocol  # noqa: PLC0415 - see above
        from headwater.assistants.mcp.tools import TOOLS  # noqa: PLC0415 - see above

        return build_protocol(self._services.settings.brand, TOOLS)

    def _check_caller(self, scope: Scope, space_id: int) -> None:
        headers = Headers(scope=scope)
        if not self._hosts.takes_host(headers.get("host", "")):
            _note(AccessRefusal.HOST, space_id)
            raise Problem("This service has another name; see its base URL.", 421)
        if not self._hosts.takes_origin(headers.get("origin")):
            _note(AccessRefusal.ORIGIN, space_id)
            raise Forbidden("Pages of this origin may not call this service.")

    async def _admit(self, scope: Scope, space_id: int) -> ToolContext:
        """Check the Space's rate limit. Raise Problem."""
        async with self._services.database.connection() as connection:
            token = _read_token(scope)
            bearer = await find_token(connection, token) if token else None
            if bearer is None:
                raise self._unauthorized(space_id, has_token=bool(_authorization(scope)))
            _check_bearer(bearer, space_id)
            if scope["method"] != "POST":
                raise NotAllowed(["POST"])
            address = client_address(scope, self._services.settings.trusted_proxies)
            limits = await fetch_limits(connection, space_id)
            context = ToolContext(self._services, self._inbox, bearer, limits, address)
            demand = QuotaRequest(space_id, 1, context.limit(CALLING))
            quota = (await take(connection, CALLING.bucket, [demand]))[space_id]
        scope["headwater.quota"] = quota
        quota.admit(demand.cost)
        return context

    def _unauthorized(self, space_id: int, *, has_token: bool) -> Unauthorized:
        """Return the refusal that leads a client to the authorization server: the metadata address, the
        scope, and for a request with a token that it is invalid (RFC 6750 §3).
        """
        _note(AccessRefusal.UNKNOWN_TOKEN if has_token else AccessRefusal.NO_TOKEN, space_id)
        url = f"{self._services.base_url}/.well-known/oauth-protected-resource"
        parts = [f'resource_metadata="{url}{resource_path(space_id)}"', f'scope="{SCOPE}"']
        if has_token:
            parts.append('error="invalid_token"')
        problem = Unauthorized("Missing or invalid access token.")
        problem.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
        return problem


def _check_bearer(bearer: Bearer, space_id: int) -> None:
    if bearer.space_id != space_id:
        _note(AccessRefusal.OTHER_SPACE, bearer.space_id)
        raise Forbidden("This token is for another Space.")
    if not bearer.active:
        _note(AccessRefusal.INACTIVE, space_id)
        raise Forbidden("The Space's subscription is inactive.")


def _note(reason: AccessRefusal, space_id: int) -> None:
    log.info("assistant_refused", reason=reason, space_id=space_id)


def _read_space_id(scope: Scope) -> int:
    text: str = scope["path_params"]["space_id"]
    if not re.fullmatch("[1-9][0-9]{0,17}", text):
        raise make_problem(404)
    return int(text)


def _authorization(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == b"authorization"]


def _read_token(scope: Scope) -> str | None:
    """Read the only Authorization header; never the query or body."""
    values = _authorization(scope)
    if len(values) != 1 or len(values[0]) > LONGEST_TOKEN:
        return None
    scheme, _, token = values[0].partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


async def _read_message(scope: Scope, receive: Receive) -> bytes:
    """Return one message of the protocol. Raise Problem."""
    headers = Headers(scope=scope)
    refuse_encoding(headers.get("content-encoding"))
    media_type = headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != "application/json":
        raise make_problem(415)
    body = await read_body(receive)
    check_message(body)
    return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Replay a body and then pass later messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def _answer(problem: Problem) -> Response:
    return Response(encode_problem(problem), problem.status, problem.headers, "application/json")
