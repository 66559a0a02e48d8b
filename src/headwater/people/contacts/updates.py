"""Create and change contacts. Collections and custom fields are replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import ZoneInfo

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed, Identifier

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.contacts.additions import create_contacts, draw_receipts
from headwater.people.contacts.inputs import COLLECTIONS, ContactValues
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.profiles import to_instant
from headwater.spaces.custom_fields import DATE_SLOTS, SLOTS
from headwater.spaces.locks import lock_identities
from headwater.spaces.models import Space

queries = Queries(__name__, "updates.sql")


async def create_contact(connection: AsyncConnection, space: Space, values: ContactValues) -> int:
    await lock_identities(connection, space.id)
    (contact_id,) = await create_contacts(connection, space.id, 1)
    await _replace(connection, space, contact_id, values)
    return contact_id


async def update_contact(
    connection: AsyncConnection, space: Space, contact_id: int, values: ContactValues
) -> int:
    """Return the canonical id. Raises NotFound."""
    await lock_identities(connection, space.id)
    canonical = await resolve(connection, space.id, contact_id)
    await _replace(connection, space, canonical, values)
    return canonical


async def set_company(
    connection: AsyncConnection, space_id: int, contact_id: int, company_id: int | None
) -> None:
    """Set or remove a company. The caller reassigns stored rows, and holds the Space's lock."""
    values = {"space_id": space_id, "contact_id": contact_id, "company_id": company_id}
    await connection.execute(queries["set_company"], values)


async def _replace(connection: AsyncConnection, space: Space, contact_id: int, values: ContactValues) -> None:
    columns = _columns(values, space.zone)
    contact = {"space_id": space.id, "contact_id": contact_id}
    if columns:
        column_values = {"columns": msgspec.json.encode(columns).decode()}
        await connection.execute(_set_columns(columns), contact | column_values)
    items = [
        (COLLECTIONS[name].kind, item) for name, values_ in values.collections.items() for item in values_
    ]
    receipts = await draw_receipts(connection, len(items))
    bound = contact | {
        "kinds": [COLLECTIONS[name].kind for name in values.collections],
        "values": rows(
            {"kind": kind, "value": value, "receipt": receipt}
            for (kind, value), receipt in zip(items, reversed(receipts), strict=True)
        ),
    }
    for name in ("drop_values", "put_values"):
        await connection.execute(queries[name], bound)


def _set_columns(columns: Iterable[str]) -> Composed:
    names = [SQL("{0} = d.{0}").format(Identifier(name)) for name in columns]
    return queries["set_columns"].format(columns=SQL(", ").join(names))


def _columns(values: ContactValues, zone: ZoneInfo) -> dict[str, str | None]:
    columns = {
        COLLECTIONS[name].kind: items[0] if items else None for name, items in values.collections.items()
    }
    fields = values.custom_fields
    if fields is not None:
        dates = {slot: to_instant(fields[slot], zone) for slot in DATE_SLOTS if slot in fields}
        columns |= {name: (fields | dates).get(slot) for slot, name in SLOTS}
    return columns
