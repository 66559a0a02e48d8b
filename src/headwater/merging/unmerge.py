"""Undoing a merge: a merged contact becomes a contact of its own again, with what it had and what
had been merged into it before.

What can be told apart goes back: a row keeps the contact it was first stored on. What came after
the merge, and could be of either, stays with the survivor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.companies.assignment import Companies
from headwater.contacts import batch_store
from headwater.contacts.lookup import resolve
from headwater.contacts.profiles import Profile
from headwater.database.json_rows import rows
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.http.errors import Conflict
from headwater.identity.directory import Directory
from headwater.merging.merge_tree import (
    MergeInForce,
    MergeTree,
    UnmergeChanges,
    give_back_companies,
    take_out,
)
from headwater.merging.reassignment import Move, restamp
from headwater.spaces.spaces import lock_identities

queries = Queries(__name__, "unmerge.sql")

MOVED = ("events", "touchpoints", "visits", "hits")


@dataclass(frozen=True)
class UnmergeResult:
    """What became of an undone merge: the contact, the one it had been part of, how many contacts
    it is made of, and how many rows are its own again.
    """

    contact_id: int
    survivor_id: int
    contacts: int
    events: int
    touchpoints: int
    visits: int
    hits: int


@dataclass(frozen=True)
class UnmergeWork:
    """A contact on its way out of the one it is part of."""

    space_id: int
    contact_id: int
    survivor_id: int
    family: MergeTree
    profiles: dict[int, Profile]

    @property
    def profile(self) -> Profile:
        return self.profiles[self.contact_id]

    def values(self) -> dict[str, Any]:
        """What the statements bind."""
        company = self.profile.company
        return {
            "space_id": self.space_id,
            "contact_id": self.contact_id,
            "survivor_id": self.survivor_id,
            "members": self.family.members(self.contact_id),
            "company_id": company and company.id,
        }


async def unmerge(connection: AsyncConnection, space_id: int, contact_id: int) -> UnmergeResult:
    """Undo the merge of a contact. Raises NotFound, or Conflict when it is not merged, or is part
    of a contact to be erased: what was asked then was to erase both.
    """
    await lock_identities(connection, space_id)
    survivor_id = await resolve(connection, space_id, contact_id)
    if survivor_id == contact_id:
        raise Conflict(f"Contact {contact_id} is not merged into another.")
    split = await _load(connection, space_id, contact_id, survivor_id)
    await _refuse_during_erasure(connection, split)
    changes = take_out(split.family, contact_id, split.profiles)
    await _move_identifiers(connection, split)
    counts = await _move_rows(connection, split)
    await _write_contacts(connection, split, changes)
    await _write_log(connection, split, changes)
    members = split.family.members(contact_id)
    await _divide_visits(connection, split)
    return UnmergeResult(contact_id, survivor_id, len(members), **counts)


async def _load(
    connection: AsyncConnection, space_id: int, contact_id: int, survivor_id: int
) -> UnmergeWork:
    cursor = connection.cursor(row_factory=class_row(MergeInForce))
    await cursor.execute(queries["family"], {"space_id": space_id, "survivor_id": survivor_id})
    family = MergeTree(await cursor.fetchall())
    wanted = {"space_id": space_id, "ids": sorted(family.concerned(contact_id))}
    found = await fetch_all(connection, batch_store.queries["load"], wanted)
    directory, companies = Directory(0, 0), Companies()
    for row in found:
        directory.add_stored(row[0], row[1])
    read = batch_store.read_profiles(found, directory, companies)
    profiles = {profile.contact.id: profile for profile in read}
    for each in family.concerned(contact_id) - {survivor_id, contact_id}:
        directory.contacts[each].merged_into = directory.contacts[survivor_id]
    give_back_companies(family, profiles, companies)
    return UnmergeWork(space_id, contact_id, survivor_id, family, profiles)


async def _refuse_during_erasure(connection: AsyncConnection, split: UnmergeWork) -> None:
    group = split.family.members(split.survivor_id)
    asked = {"space_id": split.space_id, "group": group}
    row = await fetch_one(connection, queries["to_be_erased"], asked)
    if row[0]:
        raise Conflict(f"Contact {split.contact_id} is part of one that is to be erased.")


async def _move_identifiers(connection: AsyncConnection, split: UnmergeWork) -> None:
    line = [
        {"contact_id": merge.survivor_id, "merge_id": merge.id}
        for merge in split.family.line(split.contact_id)
    ]
    await connection.execute(queries["fold_identifiers"], split.values() | {"line": rows(line)})
    await connection.execute(queries["identifiers"], split.values())


async def _move_rows(connection: AsyncConnection, split: UnmergeWork) -> dict[str, int]:
    return {
        table: (await connection.execute(queries[table], split.values())).rowcount
        for table in MOVED
    }


async def _divide_visits(connection: AsyncConnection, split: UnmergeWork) -> None:
    """Once it is known which company either belongs to."""
    divided = await connection.execute(queries["divide_visits"], split.values())
    if divided.rowcount:
        await connection.execute(queries["bound_visits"], split.values())


async def _write_contacts(
    connection: AsyncConnection, split: UnmergeWork, changes: UnmergeChanges
) -> None:
    await connection.execute(queries["members"], split.values())
    contacts = rows(map(batch_store.as_row, [split.profile, *changes.profiles]))
    written = {"space_id": split.space_id, "contacts": contacts}
    await connection.execute(batch_store.queries["write"], written)
    await connection.cursor().executemany(queries["primaries"], _primaries(split))
    survivor = split.profiles[split.survivor_id]
    if survivor.company is not survivor.original_company:
        company_id = survivor.company and survivor.company.id
        move = Move(split.survivor_id, split.survivor_id, company_id)
        await restamp(connection, split.space_id, move)


def _primaries(split: UnmergeWork) -> list[dict[str, Any]]:
    """Of the contact and of those it was part of: where their identifiers count, and whose they
    are.
    """
    family, members = split.family, split.family.members(split.contact_id)
    values = [(split.contact_id, split.contact_id, members)]
    for merge in family.line(split.contact_id):
        left = set(family.members(merge.survivor_id)).difference(members)
        values.append((merge.survivor_id, split.survivor_id, sorted(left)))
    return [
        {"space_id": split.space_id, "contact_id": contact, "holder_id": holder, "origins": origins}
        for contact, holder, origins in values
    ]


async def _write_log(
    connection: AsyncConnection, split: UnmergeWork, changes: UnmergeChanges
) -> None:
    merge_of = split.family.merge_of
    space = {"space_id": split.space_id}
    await connection.execute(queries["undone"], space | {"id": merge_of[split.contact_id].id})
    filled = [{"id": merge_id, "filled": names} for merge_id, names in changes.filled.items()]
    if filled:
        await connection.execute(queries["filled"], space | {"merges": rows(filled)})
    had = [
        {
            "id": merge_of[profile.contact.id].id,
            "company_id": profile.company and profile.company.id,
        }
        for profile in changes.profiles
        if profile.contact.merged_into is not None
    ]
    if had:
        await connection.execute(queries["companies_had"], space | {"merges": rows(had)})
