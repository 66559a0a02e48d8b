"""Moves of a contact's rows after a merge, a change of company, or an unmerge. Every package with rows of
contacts has a statement for each. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ContactMove(msgspec.Struct, frozen=True, gc=False):
    """The new contact and company of rows. `survivor_id` equals `contact_id` without a merge."""

    contact_id: int
    survivor_id: int
    company_id: int | None
    source_mask: int = 0

    def values(self, space_id: int) -> dict[str, Any]:
        return {"space_id": space_id, **msgspec.structs.asdict(self)}


class ContactSplit(msgspec.Struct, frozen=True, gc=False):
    contact_id: int
    survivor_id: int
    members: list[int]
    company_id: int | None

    def values(self, space_id: int) -> dict[str, Any]:
        return {"space_id": space_id, **msgspec.structs.asdict(self)}
