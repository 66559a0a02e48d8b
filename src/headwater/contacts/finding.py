"""Which contact is meant: by an id, perhaps one merged since, or by an address."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.statements import Statements
from headwater.http.errors import Conflict, NotFound

SQL = Statements(__name__, "finding.sql")


async def resolve(connection: AsyncConnection, space_id: int, contact_id: int) -> int:
    """The canonical id of a contact. Raises NotFound."""
    values = {"space_id": space_id, "contact_id": contact_id}
    row = await (await connection.execute(SQL["resolve"], values)).fetchone()
    if row is None:
        raise NotFound("Contact")
    return row[0]


async def find_by_email(connection: AsyncConnection, space_id: int, email: str) -> int:
    """The only contact with an address (trimmed, lower-case). Raises NotFound, or Conflict with
    the sorted `contact_ids` when there are several.
    """
    cursor = await connection.execute(SQL["by_email"], {"space_id": space_id, "email": email})
    found = [row[0] for row in await cursor.fetchall()]
    if not found:
        raise NotFound("Contact")
    if len(found) > 1:
        raise Conflict("Several contacts have this e-mail address.", contact_ids=found)
    return found[0]
