"""A request of an operation: authorized first, then read and answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from headwater.database.allowance import DEADLINE_SECONDS
from headwater.database.row_security import serve_space
from headwater.endpoints.services import Services
from headwater.http.answers import encode_answer
from headwater.http.bodies import MAX_BODY, read_json
from headwater.http.clients import client_address
from headwater.http.inputs.pagination import Cursors, PageLink
from headwater.http.inputs.parameters import Query
from headwater.http.inputs.path_parameters import parse_id
from headwater.http.rate_limits import QuotaRequest, RateLimit, take
from headwater.spaces.access import Caller
from headwater.spaces.audit.entries import Action, Actor, AuditChange, Way
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.audit.subjects import recording


@dataclass(frozen=True)
class Call:
    """A request whose key has the operation's scope."""

    caller: Caller
    services: Services
    request: Request
    operation_id: str
    changes: Sequence[Kind]
    """What the operation changes, for the audit log."""
    _noted_changes: list[AuditChange] = field(default_factory=list[AuditChange])

    @property
    def space_id(self) -> int:
        return self.caller.space_id

    @cached_property
    def query(self) -> Query:
        return Query(self.request.scope["query_string"])

    def path_text(self, name: str) -> str:
        return self.request.path_params[name]

    def path_id(self, name: str) -> int:
        """Return an id in the path. Raise Invalid."""
        return parse_id(name, self.path_text(name))

    async def body(self, limit: int = MAX_BODY) -> dict[str, Any]:
        """Return the body, a JSON object of at most `limit` bytes. Raise Invalid, or a 413 or 415."""
        return await read_json(self.request, limit)

    @asynccontextmanager
    async def change(self, seconds: float = DEADLINE_SECONDS) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection in a transaction, and record in the audit log what it changes."""
        async with (
            self.services.database.transaction(seconds) as connection,
            recording(connection, self._action, self.changes) as changes,
        ):
            yield connection
            changes.extend(self._noted_changes)

    def note(self, change: AuditChange) -> None:
        """Let `change` record a change of a stored record."""
        self._noted_changes.append(change)

    @property
    def _action(self) -> Action:
        address = client_address(self.request.scope, self.services.settings.trusted_proxies)
        actor = Actor(way=Way.API, key_id=self.caller.key_id, address=address)
        return Action(actor, self.operation_id, self.space_id)

    def page_link(self, cursors: Cursors) -> PageLink:
        url = self.services.base_url + self.request.scope["path"]
        return PageLink(url, self.query, cursors)


def respond(answer: Struct | bytes | str | Response, status: int) -> Response:
    """Return the response for a handler's answer. Text and bytes are JSON already."""
    if isinstance(answer, Response):
        return answer
    return json_response(encode_answer(answer) if isinstance(answer, Struct) else answer, status)


def json_response(content: bytes | str, status: int = 200) -> Response:
    """Return a response with encoded JSON."""
    return Response(content, status, media_type="application/json")


async def admit(request: Request, shared: Services, scope: str, limit: RateLimit) -> Caller:
    """Return the caller of a request, whose key has `scope`, and count it against `limit`.

    Raise Unauthorized, Forbidden or RateLimited, in this order and before the request is read.
    """
    authorization = request.headers.get("authorization")
    encoded = authorization.encode("latin-1") if authorization else None
    caller = await shared.keys.caller(encoded, request.scope)
    serve_space(caller.space_id)
    refusal = caller.refusal(scope)
    cost = 1 if refusal is None else 0
    demand = QuotaRequest(caller.space_id, cost, shared.keys.limit(caller, limit))
    async with shared.database.connection() as connection:
        quota = (await take(connection, limit.bucket, [demand]))[caller.space_id]
    request.scope["headwater.quota"] = quota  # a refused request gets its headers as well
    if refusal is not None:
        raise refusal
    quota.admit(cost)
    return caller
