"""Moves of a contact's rows: when it is merged, changes company, or becomes a contact of its own
again. Every package that keeps rows of contacts has a statement for either. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ContactMove(msgspec.Struct, frozen=True, gc=False):
    """The new contact and company of a contact's rows; one that was not merged moves to itself."""

    contact_id: int
    survivor_id: int
    company_id: int | None
    source_mask: int = 0
    """Sources, as bits, that are now on the path of its events."""

    def values(self, space_id: int) -> dict[str, Any]:
        """The values that a statement for it binds."""
        return {"space_id": space_id, **msgspec.structs.asdict(self)}


class ContactSplit(msgspec.Struct, frozen=True, gc=False):
    """A merged contact that leaves its survivor, with all that had been merged into it before."""

    contact_id: int
    survivor_id: int
    members: list[int]
    """The contact, and what was merged into it."""
    company_id: int | None

    def values(self, space_id: int) -> dict[str, Any]:
        """The values that a statement for it binds."""
        return {"space_id": space_id, **msgspec.structs.asdict(self)}
