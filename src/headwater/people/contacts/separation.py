"""Restore a merged contact as a contact of its own: its identifiers, its row, and the primary
values of the contacts that it had been part of. merging/ decides what goes where; its caller holds
the Space's lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.people.contacts import batch_store
from headwater.people.contacts.profiles import Profile
from headwater.people.identity.moves import ContactSplit

queries = Queries(__name__, "separation.sql")


class IdentifierHolder(NamedTuple):
    """A contact, the one its identifiers count for, and the contacts that make it up."""

    contact_id: int
    holder_id: int
    origins: list[int]


async def fetch_contact_rows(
    connection: AsyncConnection, space_id: int, ids: Collection[int]
) -> list[tuple[Any, ...]]:
    """The rows of these contacts, as `batch_store.read_profiles` takes them."""
    values = {"space_id": space_id, "ids": sorted(ids)}
    return await fetch_all(connection, batch_store.queries["load"], values)


async def restore_identifiers(
    connection: AsyncConnection, space_id: int, split: ContactSplit, line: Iterable[tuple[int, int]]
) -> None:
    """Give the contact its identifiers back. `line` has every contact that it was part of, with
    the merge that made it so.
    """
    joined = rows({"contact_id": number, "merge_id": merge_id} for number, merge_id in line)
    values = {**split.values(space_id), "line": joined}
    await connection.execute(queries["fold_identifiers"], values)
    await connection.execute(queries["restore_identifiers"], values)


async def restore_contact(
    connection: AsyncConnection, space_id: int, split: ContactSplit, profiles: Iterable[Profile]
) -> None:
    """Let the contact stand by itself, with its members merged into it, and store the profiles."""
    await connection.execute(queries["restore_members"], split.values(space_id))
    values = {"space_id": space_id, "contacts": rows(map(batch_store.as_row, profiles))}
    await connection.execute(batch_store.queries["write"], values)


async def choose_primaries(
    connection: AsyncConnection, space_id: int, holders: Iterable[IdentifierHolder]
) -> None:
    """Replace primary values that no identifier is left for."""
    values = [{"space_id": space_id, **holder._asdict()} for holder in holders]
    await connection.cursor().executemany(queries["primaries"], values)
