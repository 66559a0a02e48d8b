"""Entries of the audit log. They are only added, and deleted when they are older than the operator's limit.

An entry holds no secrets, and of contacts only their ids and the names of changed fields, so that erasing a
person leaves nothing here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.database.jobs.duties import INSTALLATION
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.spaces.audit.kinds import Kind, RecordKind

queries = Queries(__name__, "entries.sql")

PAGE = 500


class Way(StrEnum):
    """How a change came in."""

    CONSOLE = "console"
    API = "api"
    ASSISTANT = "assistant"
    COMMAND = "command"


class Actor(Struct, frozen=True, kw_only=True):
    """Who makes a change. At most one of user, key and operator is known."""

    way: Way
    user_id: int | None = None
    key_id: int | None = None
    """The API key."""
    token_id: int | None = None
    """The token of the user's assistant."""
    operator: str | None = None
    """The system user who runs a command."""
    address: str | None = None
    """The client's address."""


class Action(Struct, frozen=True):
    """What somebody does: an operation's id, a page's path, a tool's name, or the words of a command."""

    actor: Actor
    name: str
    space_id: int = INSTALLATION
    """INSTALLATION for users and identity providers."""


class AuditChange(Struct, frozen=True, omit_defaults=True):
    """A row that was created (nothing before), changed, or removed (nothing after)."""

    kind: Kind | RecordKind
    id: int | str = ""
    """Empty for many rows at once."""
    before: Mapping[str, Any] | None = None
    """The changed values as they were."""
    after: Mapping[str, Any] | None = None
    fields: Sequence[str] = ()
    """The names of changed fields, of records whose values are not kept here."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    id: int
    space_id: int
    occurred_at: datetime
    way: Way
    action: str
    user_id: int | None
    user: str | None
    """The user's name or e-mail address today; None if the user was removed."""
    key_id: int | None
    key: str | None
    """The API key's name."""
    token_id: int | None
    operator: str | None
    address: str | None
    changes: list[dict[str, Any]]


class AuditSearch(Struct, frozen=True, kw_only=True):
    """Filters of a list of entries; None allows everything."""

    since: datetime | None = None
    until: datetime | None = None
    """Entries of this moment are too late."""
    way: str | None = None
    user_id: int | None = None
    kind: str | None = None
    """What was changed."""
    subject_id: str | None = None
    action: str | None = None
    before_id: int | None = None
    """The last entry of the previous page."""
    ids: list[int] | None = None


async def add_entry(connection: AsyncConnection, action: Action, changes: Sequence[AuditChange]) -> None:
    """Add an entry in the transaction of the changes; the first change is what a search finds it by."""
    actor = action.actor
    await connection.execute(
        queries["add"],
        {
            "space_id": action.space_id,
            "way": actor.way,
            "action": action.name,
            "user_id": actor.user_id,
            "key_id": actor.key_id,
            "token_id": actor.token_id,
            "operator": actor.operator,
            "address": actor.address,
            "kind": changes[0].kind,
            "subject_id": str(changes[0].id),
            "changes": Jsonb(msgspec.to_builtins(list(changes), enc_hook=str)),
        },
    )


async def list_entries(
    connection: AsyncConnection, space_id: int, search: AuditSearch, limit: int
) -> list[AuditEntry]:
    """Return entries of a Space, or of INSTALLATION, newest first."""
    values = {"space_id": space_id, "limit": limit, **msgspec.structs.asdict(search)}
    return await fetch_all(make_cursor(connection, AuditEntry), queries["list"], values)


async def walk_entries(
    connection: AsyncConnection, space_id: int, search: AuditSearch
) -> AsyncGenerator[AuditEntry]:
    """Yield all entries, newest first, without holding them all."""
    while entries := await list_entries(connection, space_id, search, PAGE):
        for entry in entries:
            yield entry
        search = msgspec.structs.replace(search, before_id=entries[-1].id)


def encode_entry(entry: AuditEntry) -> bytes:
    """Return an entry as JSON in one line, the form of files and of collectors."""
    return msgspec.json.encode(entry)
