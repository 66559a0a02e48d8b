"""Which company a contact belongs to, set by request. What is stored of the contact is stamped
with it in the same transaction.
"""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.companies.queries import require_company
from headwater.contacts.lookup import resolve
from headwater.database.queries import Queries
from headwater.merging.reassignment import Move, restamp
from headwater.spaces.spaces import lock_identities

queries = Queries(__name__, "membership.sql")


async def attach_company(
    connection: AsyncConnection, space_id: int, contact_id: int, company_id: int
) -> int:
    """Make a contact a member of a company, in place of any other, and return its canonical id.
    Raises NotFound for either.
    """
    await lock_identities(connection, space_id)
    canonical = await resolve(connection, space_id, contact_id)
    await require_company(connection, space_id, company_id)
    await _belong(connection, space_id, canonical, company_id)
    return canonical


async def detach_company(connection: AsyncConnection, space_id: int, contact_id: int) -> int:
    """Take a contact out of its company, if it has one, and return its canonical id. Raises
    NotFound.
    """
    await lock_identities(connection, space_id)
    canonical = await resolve(connection, space_id, contact_id)
    await _belong(connection, space_id, canonical, None)
    return canonical


async def _belong(
    connection: AsyncConnection, space_id: int, contact_id: int, company_id: int | None
) -> None:
    """Stamps are checked even where the membership stays: asking again repairs them."""
    member = {"space_id": space_id, "contact_id": contact_id, "company_id": company_id}
    await connection.execute(queries["set_company"], member)
    await restamp(connection, space_id, Move(contact_id, contact_id, company_id))
