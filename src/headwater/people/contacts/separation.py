"""Restore a merged contact: identifiers, row, and former survivors' primary values. The caller holds the
Space's lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from psycopg import AsyncConnection
from psycopg.sql import Identifier

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.contacts import batch_store
from headwater.people.contacts.profiles import Profile
from headwater.people.identity.moves import ContactSplit

queries = Queries(__name__, "separation.sql")

_PRIMARIES = queries["primaries"].format(
    **{
        kind: queries["primary"].format(kind=kind, column=Identifier(kind))
        for kind in ("email", "name", "phone", "location")
    }
)


class IdentifierHolder(NamedTuple):
    contact_id: int
    holder_id: int
    origins: list[int]


async def fetch_contact_rows(
    connection: AsyncConnection, space_id: int, ids: Collection[int]
) -> list[tuple[Any, ...]]:
    values = {"space_id": space_id, "ids": sorted(ids)}
    return await (await connection.execute(batch_store.LOAD, values)).fetchall()


async def restore_identifiers(
    connection: AsyncConnection, space_id: int, split: ContactSplit, ancestors: Iterable[tuple[int, int]]
) -> None:
    """Return them to the contact. `ancestors` are its survivors with the ids of the merges."""
    line = rows({"contact_id": contact_id, "merge_id": merge_id} for contact_id, merge_id in ancestors)
    values = {**split.values(space_id), "line": line}
    await connection.execute(queries["fold_identifiers"], values)
    await connection.execute(queries["restore_identifiers"], values)


async def restore_contact(
    connection: AsyncConnection, space_id: int, split: ContactSplit, profiles: Iterable[Profile]
) -> None:
    """Keep the contact's members merged into it, and store the profiles."""
    await connection.execute(queries["restore_members"], split.values(space_id))
    values = {"space_id": space_id, "contacts": rows(map(batch_store.as_row, profiles))}
    await connection.execute(batch_store.WRITE, values)


async def choose_primaries(
    connection: AsyncConnection, space_id: int, holders: Iterable[IdentifierHolder]
) -> None:
    values = [{"space_id": space_id, **holder._asdict()} for holder in holders]
    await connection.cursor().executemany(_PRIMARIES, values)
