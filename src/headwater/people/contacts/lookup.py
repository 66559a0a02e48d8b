"""Find contacts by id, including merged ones, or by email."""

from __future__ import annotations

from collections.abc import Collection

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import Conflict, require_any, require_found

queries = Queries(__name__, "lookup.sql")


async def resolve(connection: AsyncConnection, space_id: int, contact_id: int) -> int:
    values = {"space_id": space_id, "contact_id": contact_id}
    return require_found(await fetch_optional(connection, queries["resolve"], values), "Contact")[0]


async def find_by_email(connection: AsyncConnection, space_id: int, email: str) -> int:
    """Return the only contact with an address (trimmed, lower-case). Raises NotFound, or Conflict with the
    sorted `contact_ids`.
    """
    several = "Several contacts have this e-mail address."
    return await _find_only(connection, space_id, email, ["email"], several)


async def find_by_any_email(connection: AsyncConnection, space_id: int, email: str) -> int:
    """Include former addresses. Raises the same errors."""
    several = "Several contacts have or had this e-mail address."
    return await _find_only(connection, space_id, email, ["email", "former_email"], several)


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


async def _find_only(
    connection: AsyncConnection, space_id: int, email: str, kinds: list[str], several: str
) -> int:
    values = {"space_id": space_id, "email": email, "kinds": kinds}
    ids = [contact_id for (contact_id,) in await fetch_all(connection, queries["by_email"], values)]
    require_any(ids, "Contact")
    if len(ids) > 1:
        raise Conflict(several, contact_ids=ids)
    return ids[0]
