"""Separate a merged contact with its own rows and earlier merges.

Rows record their first contact. Rows from after the merge stay with the survivor.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import DRAW_REVISION
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor
from headwater.events.browsing.batch_store import divide_visits
from headwater.http.errors import Conflict
from headwater.intake.merging.merge_tree import (
    MergeInForce,
    MergeTree,
    UnmergeChanges,
    give_back_companies,
    take_out,
)
from headwater.intake.merging.reassignment import reassign, restore
from headwater.people.companies.assignment import Companies
from headwater.people.contacts.batch_store import read_profiles
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.profiles import Profile
from headwater.people.contacts.separation import (
    IdentifierHolder,
    choose_primaries,
    fetch_contact_rows,
    restore_contact,
    restore_identifiers,
)
from headwater.people.identity.directory import Directory
from headwater.people.identity.moves import ContactMove, ContactSplit
from headwater.spaces.locks import lock_identities

queries = Queries(__name__, "unmerge.sql")


@dataclass(frozen=True)
class UnmergeResult:
    """`contacts` counts those merged into it; then follow the rows it got back."""

    contact_id: int
    survivor_id: int
    contacts: int
    events: int
    touchpoints: int
    visits: int
    hits: int


class UnmergeWork(Struct, frozen=True):
    space_id: int
    split: ContactSplit
    tree: MergeTree
    profiles: dict[int, Profile]

    @property
    def profile(self) -> Profile:
        return self.profiles[self.split.contact_id]


async def unmerge(connection: AsyncConnection, space_id: int, contact_id: int) -> UnmergeResult:
    """Raise NotFound, and Conflict if not merged, or if the survivor waits for erasure of both."""
    await lock_identities(connection, space_id)
    survivor_id = await resolve(connection, space_id, contact_id)
    if survivor_id == contact_id:
        raise Conflict(f"Contact {contact_id} is not merged into another.")
    work = await _load(connection, space_id, contact_id, survivor_id)
    await _refuse_during_erasure(connection, work)
    changes = take_out(work.tree, contact_id, work.profiles)
    await connection.execute(DRAW_REVISION, {"space_id": space_id})
    line = [(merge.survivor_id, merge.id) for merge in work.tree.line(contact_id)]
    await restore_identifiers(connection, space_id, work.split, line)
    counts = await restore(connection, space_id, work.split)
    await _write_contacts(connection, work, changes)
    await _write_log(connection, work, changes)
    await divide_visits(connection, space_id, work.split)
    return UnmergeResult(contact_id, survivor_id, len(work.split.members), **counts)


async def _load(connection: AsyncConnection, space_id: int, contact_id: int, survivor_id: int) -> UnmergeWork:
    values = {"space_id": space_id, "survivor_id": survivor_id}
    tree = MergeTree(await fetch_all(make_cursor(connection, MergeInForce), queries["family"], values))
    contact_ids = tree.concerned(contact_id)
    contact_rows = await fetch_contact_rows(connection, space_id, contact_ids)
    directory, companies = Directory(0, 0), Companies()
    for row in contact_rows:
        directory.add_stored(row[0], row[1])
    loaded_profiles = read_profiles(contact_rows, directory, companies)
    profiles = {profile.contact.id: profile for profile in loaded_profiles}
    for member in contact_ids - {survivor_id, contact_id}:
        directory.contacts[member].merged_into = directory.contacts[survivor_id]
    give_back_companies(tree, profiles, companies)
    company = profiles[contact_id].company
    members = tree.members(contact_id)
    split = ContactSplit(contact_id, survivor_id, members, company and company.id)
    return UnmergeWork(space_id, split, tree, profiles)


async def _refuse_during_erasure(connection: AsyncConnection, work: UnmergeWork) -> None:
    group = work.tree.members(work.split.survivor_id)
    values = {"space_id": work.space_id, "group": group}
    row = await fetch_one(connection, queries["to_be_erased"], values)
    if row[0]:
        raise Conflict(f"Contact {work.split.contact_id} is part of a contact that is being erased.")


async def _write_contacts(connection: AsyncConnection, work: UnmergeWork, changes: UnmergeChanges) -> None:
    space_id, survivor_id = work.space_id, work.split.survivor_id
    profiles = [work.profile, *changes.profiles]
    await restore_contact(connection, space_id, work.split, profiles)
    await choose_primaries(connection, space_id, _list_owners(work))
    survivor = work.profiles[survivor_id]
    if survivor.company is not survivor.original_company:
        company_id = survivor.company and survivor.company.id
        await reassign(connection, space_id, ContactMove(survivor_id, survivor_id, company_id))


def _list_owners(work: UnmergeWork) -> list[IdentifierHolder]:
    split_contact, tree = work.split, work.tree
    holders = [IdentifierHolder(split_contact.contact_id, split_contact.contact_id, split_contact.members)]
    for merge in tree.line(split_contact.contact_id):
        remaining_members = set(tree.members(merge.survivor_id)).difference(split_contact.members)
        holders.append(
            IdentifierHolder(merge.survivor_id, split_contact.survivor_id, sorted(remaining_members))
        )
    return holders


async def _write_log(connection: AsyncConnection, work: UnmergeWork, changes: UnmergeChanges) -> None:
    merge_by_contact = work.tree.merge_by_contact
    space = {"space_id": work.space_id}
    await connection.execute(queries["undone"], space | {"id": merge_by_contact[work.split.contact_id].id})
    filled = [{"id": merge_id, "filled": names} for merge_id, names in changes.filled.items()]
    if filled:
        await connection.execute(queries["filled"], space | {"merges": rows(filled)})
    companies = [
        {"id": merge_by_contact[profile.contact.id].id, "company_id": profile.company and profile.company.id}
        for profile in changes.profiles
        if profile.contact.merged_into is not None
    ]
    if companies:
        await connection.execute(queries["companies_had"], space | {"merges": rows(companies)})
