"""What the audit log says of the console's visitors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from starlette.requests import Request

from headwater.console.visitor import HOME, SpaceVisitor
from headwater.database.jobs.duties import INSTALLATION
from headwater.endpoints.services import services
from headwater.http.clients import client_address
from headwater.spaces.audit.entries import Action, Actor, AuditChange, Way, add_entry
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.audit.subjects import recording


def make_action(request: Request, user_id: int | None, space_id: int = INSTALLATION) -> Action:
    """Return a user's action in a Space, or on an account. None: a guest, such as the reader of a mail."""
    address = client_address(request.scope, services(request).settings.trusted_proxies)
    actor = Actor(way=Way.CONSOLE, user_id=user_id, address=address)
    return Action(actor, _name(request), space_id)


async def note_change(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, change: AuditChange
) -> None:
    """Add a change of a Space's stored record to the audit log."""
    await add_entry(connection, make_action(request, inside.visitor.user.id, inside.space.id), [change])


@asynccontextmanager
async def change_account(request: Request, user_id: int, *kinds: Kind) -> AsyncGenerator[AsyncConnection]:
    """Yield a connection in a transaction, and record what it changes of the user's own rows."""
    async with (
        services(request).database.transaction() as connection,
        recording(connection, make_action(request, user_id), kinds, user_id),
    ):
        yield connection


def _name(request: Request) -> str:
    """Return the route below the console or the Space: it has the names of ids, and not a link's token."""
    path: str = request.scope["route"].path_format.removeprefix(HOME).removeprefix("/")
    return path.removeprefix("spaces/{space_id}/")
