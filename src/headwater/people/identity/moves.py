"""Moves of a contact's rows: when it is merged, changes company, or is unmerged. Every package with rows of
contacts has a statement for each. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ContactMove(msgspec.Struct, frozen=True, gc=False):
    """The new contact and company of a contact's rows. `survivor_id` equals `contact_id` without a merge."""

    contact_id: int
    survivor_id: int
    company_id: int | None
    source_mask: int = 0
    """Source bits to add to the path of its events."""

    def values(self, space_id: int) -> dict[str, Any]:
        return {"space_id": space_id, **msgspec.structs.asdict(self)}


class ContactSplit(msgspec.Struct, frozen=True, gc=False):
    """A merged contact that leaves its survivor, together with the contacts merged into it."""

    contact_id: int
    survivor_id: int
    members: list[int]
    """The contact, and the contacts merged into it."""
    company_id: int | None

    def values(self, space_id: int) -> dict[str, Any]:
        return {"space_id": space_id, **msgspec.structs.asdict(self)}
