"""Create contacts and fill empty columns in bulk. The caller holds the Space's lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.people.contacts.inputs import COLLECTIONS
from headwater.spaces.custom_fields import SLOTS

queries = Queries(__name__, "additions.sql")

_COLUMNS = (*(collection.kind for collection in COLLECTIONS.values()), *(name for _, name in SLOTS))
_FILL = queries["fill"].format(
    columns=SQL(", ").join(SQL("{0} = coalesce(c.{0}, d.{0})").format(Identifier(name)) for name in _COLUMNS)
)


async def create_contacts(connection: AsyncConnection, space_id: int, count: int) -> list[int]:
    """Return the ids, in order."""
    id_rows = await fetch_all(connection, queries["draw_ids"], {"count": count})
    ids = sorted(number for number, _ in id_rows)
    values = {
        "space_id": space_id,
        "ids": ids,
        "now": max((current_time for _, current_time in id_rows), default=None),
    }
    await connection.execute(queries["create"], values)
    return ids


async def draw_receipts(connection: AsyncConnection, count: int) -> list[int]:
    """Draw numbers that order values by age."""
    receipt_rows = await fetch_all(connection, queries["draw_receipts"], {"count": count})
    return sorted(number for (number,) in receipt_rows)


async def fill_contacts(
    connection: AsyncConnection, space_id: int, contacts: Iterable[Mapping[str, object]]
) -> None:
    """Fill empty columns from mappings including `id`."""
    await connection.execute(_FILL, {"space_id": space_id, "contacts": rows(contacts)})


async def add_values(
    connection: AsyncConnection, space_id: int, values: Iterable[tuple[int, str, str]]
) -> None:
    """Add missing values: contact id, kind and value, the most recent last."""
    new_values = list(values)
    receipts = await draw_receipts(connection, len(new_values))
    numbered = rows(
        {"contact_id": contact_id, "kind": kind, "value": value, "receipt": receipt}
        for (contact_id, kind, value), receipt in zip(new_values, receipts, strict=True)
    )
    await connection.execute(queries["add_values"], {"space_id": space_id, "values": numbered})
