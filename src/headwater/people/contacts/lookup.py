"""Find contacts by id, including merged ones, or by email."""

from __future__ import annotations

from collections.abc import Collection

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import Conflict, NotFound, require_found

queries = Queries(__name__, "lookup.sql")


async def resolve(connection: AsyncConnection, space_id: int, contact_id: int) -> int:
    values = {"space_id": space_id, "contact_id": contact_id}
    return require_found(await fetch_optional(connection, queries["resolve"], values), "Contact")[0]


async def find_by_email(connection: AsyncConnection, space_id: int, email: str) -> int:
    """Return the only contact with an address (trimmed, lower-case). Raises NotFound, or Conflict with the
    sorted `contact_ids`.
    """
    ids = await _ids(connection, "by_email", space_id, email)
    return _require_one(ids, "Several contacts have this e-mail address.")


async def find_by_any_email(connection: AsyncConnection, space_id: int, email: str) -> int:
    """Include former addresses. Raises the same errors."""
    ids = await _ids(connection, "by_any_email", space_id, email)
    return _require_one(ids, "Several contacts have or had this e-mail address.")


async def find_holders(
    connection: AsyncConnection, space_id: int, emails: Collection[str]
) -> list[tuple[str, int]]:
    values = {"space_id": space_id, "emails": list(emails)}
    return await fetch_all(connection, queries["holders"], values)


async def fetch_addresses(
    connection: AsyncConnection, space_id: int, contact_ids: Collection[int]
) -> dict[int, str]:
    values = {"space_id": space_id, "ids": list(contact_ids)}
    return dict(await fetch_all(connection, queries["addresses"], values))


async def _ids(connection: AsyncConnection, statement: str, space_id: int, email: str) -> list[int]:
    cursor = await connection.execute(queries[statement], {"space_id": space_id, "email": email})
    return [row[0] for row in await cursor.fetchall()]


def _require_one(ids: list[int], several: str) -> int:
    if not ids:
        raise NotFound("Contact")
    if len(ids) > 1:
        raise Conflict(several, contact_ids=ids)
    return ids[0]
