"""Change a contact's company, with its rows."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.intake.merging.reassignment import reassign
from headwater.people.companies.queries import require_company
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.updates import set_company
from headwater.people.identity.moves import ContactMove
from headwater.spaces.locks import lock_identities

REASSIGNMENT_SECONDS = 20.0
"""Time limit; a contact can have 100,000 events."""


async def change_company(
    connection: AsyncConnection, space_id: int, contact_id: int, company_id: int | None
) -> int:
    """Attach the contact to a company, or detach it with None. Return its canonical id. Raises NotFound.

    Rows are reassigned even if unchanged, so that a repeated request repairs them.
    """
    await lock_identities(connection, space_id)
    canonical = await resolve(connection, space_id, contact_id)
    if company_id is not None:
        await require_company(connection, space_id, company_id)
    await set_company(connection, space_id, canonical, company_id)
    await reassign(connection, space_id, ContactMove(canonical, canonical, company_id))
    return canonical
