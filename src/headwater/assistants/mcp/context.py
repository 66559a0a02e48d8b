"""The context of a request: assistant, Space and services."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

from psycopg import AsyncConnection

from headwater.database.allowance import DEADLINE_SECONDS
from headwater.database.row_security import serving
from headwater.endpoints.services import Services
from headwater.http.rate_limits import RateLimit
from headwater.intake.inbox.inbox import Inbox
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.accounts.tokens import Bearer
from headwater.spaces.audit.entries import Action, Actor, AuditChange, Way, add_entry
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

CALLING = RateLimit("mcp", 60)
"""Requests per minute from all assistants of a Space."""
TOOL_CONTEXT = "headwater.tool_context"
"""The key of the ToolContext in a request's scope."""


@dataclass(frozen=True)
class ToolContext:
    services: Services
    inbox: Inbox
    bearer: Bearer
    limits: dict[str, int]
    """The Space's own rate limits; other buckets use the default."""
    address: str | None
    """The client's, for the audit log."""

    @property
    def space_id(self) -> int:
        return self.bearer.space_id

    @cached_property
    def may_write(self) -> bool:
        """Return whether the person who connected it may change data."""
        return self.bearer.role.may(Permission.WRITE_DATA)

    def limit(self, limit: RateLimit) -> int:
        return limit.for_space(self.limits, self.services.settings.rate_limit_factor)

    @asynccontextmanager
    async def transaction(
        self, seconds: float = DEADLINE_SECONDS, *, heavy: bool = False
    ) -> AsyncGenerator[AsyncConnection]:
        """Open a transaction of at most `seconds`, restricted to the Space. `heavy` work takes one of the few
        slots reserved for it.
        """
        with serving(self.space_id):
            async with self.services.database.transaction(seconds, heavy=heavy) as connection:
                yield connection

    async def note(self, connection: AsyncConnection, tool: str, change: AuditChange) -> None:
        """Add a change of a stored record to the audit log."""
        bearer = self.bearer
        actor = Actor(
            way=Way.ASSISTANT, user_id=bearer.user_id, token_id=bearer.token_id, address=self.address
        )
        await add_entry(connection, Action(actor, tool, self.space_id), [change])

    async def space(self, connection: AsyncConnection) -> Space:
        return await fetch_space(connection, self.space_id)

    async def load_space(self) -> Space:
        """Return the Space in a transaction of its own."""
        async with self.transaction() as connection:
            return await self.space(connection)
