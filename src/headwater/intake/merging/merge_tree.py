"""Compute how an unmerge changes a surviving contact and the contacts merged into it. Pure;
unmerge.py reads and writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from headwater.people.companies.assignment import Companies, Company
from headwater.people.contacts.profiles import COMPANY, DETAILS, Profile

# A location is one of several identifiers, as e-mail, name and phone are: see `primaries` in
# people/contacts/separation.sql.
_COLUMNS = frozenset({*DETAILS, COMPANY} - {"location"})


@dataclass(frozen=True)
class MergeInForce:
    """A row of the log that has not been undone."""

    id: int
    merged_id: int
    survivor_id: int
    company_id: int | None
    filled: list[str]


class MergeTree:
    """The merges that led to a contact, in their order, as a tree."""

    def __init__(self, merges: Iterable[MergeInForce]) -> None:
        self.merge_of: dict[int, MergeInForce] = {}
        self._into: dict[int, list[MergeInForce]] = {}
        for merge in merges:
            self.merge_of[merge.merged_id] = merge
            self._into.setdefault(merge.survivor_id, []).append(merge)

    def into(self, contact_id: int) -> list[MergeInForce]:
        """The merges of others into this contact itself."""
        return self._into.get(contact_id, [])

    def members(self, contact_id: int) -> list[int]:
        """A contact, and all contacts that had become part of it."""
        members = [contact_id]
        for member in members:
            members += [merge.merged_id for merge in self.into(member)]
        return members

    def line(self, contact_id: int) -> list[MergeInForce]:
        """The merges that lead from a contact to the survivor, its own first."""
        line: list[MergeInForce] = []
        while (merge := self.merge_of.get(contact_id)) is not None:
            line.append(merge)
            contact_id = merge.survivor_id
        return line

    def concerned(self, contact_id: int) -> set[int]:
        """The contacts whose columns decide the outcome: those on the line, and those merged into
        them.
        """
        on_line = {contact_id, *(merge.survivor_id for merge in self.line(contact_id))}
        return on_line.union(merge.merged_id for member in on_line for merge in self.into(member))


@dataclass(frozen=True)
class UnmergeChanges:
    """Changes to the contacts that the removed contact had been part of."""

    profiles: list[Profile] = field(default_factory=list[Profile])
    filled: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """By id of a merge: the columns that its contact now fills in place of the removed one."""


def give_back_companies(tree: MergeTree, profiles: dict[int, Profile], companies: Companies) -> None:
    """Restore the companies of merged contacts, which their stored rows lack."""
    for contact_id, profile in profiles.items():
        merge = tree.merge_of.get(contact_id)
        if merge is not None and merge.company_id is not None:
            profile.company = companies.by_id(merge.company_id)


def take_out(tree: MergeTree, contact_id: int, profiles: dict[int, Profile]) -> UnmergeChanges:
    """Empty the columns that the contact filled, step by step up to the survivor, unless they have
    been changed since, and fill them from the other merged contacts, in the order of merging.
    """
    changes = UnmergeChanges()
    columns: Collection[str] = _COLUMNS
    values = _values(profiles[contact_id])
    for merge in tree.line(contact_id):
        profile = profiles[merge.survivor_id]
        held = _values(profile)
        columns = [
            column
            for column in merge.filled
            if column in columns and values.get(column) is not None and values[column] == held.get(column)
        ]
        if not columns:
            break
        others = [other for other in tree.into(merge.survivor_id) if other.merged_id != contact_id]
        for column in columns:
            _refill(profile, column, others, profiles, changes)
        changes.profiles.append(profile)
    return changes


def _refill(
    profile: Profile,
    column: str,
    others: list[MergeInForce],
    profiles: dict[int, Profile],
    changes: UnmergeChanges,
) -> None:
    _put(profile, column, None)
    for merge in others:
        value = _values(profiles[merge.merged_id]).get(column)
        if value is not None:
            _put(profile, column, value)
            if column not in merge.filled:
                changes.filled.setdefault(merge.id, []).append(column)
            return


def _values(profile: Profile) -> dict[str, str | Company | None]:
    return {**profile.details, COMPANY: profile.company}


def _put(profile: Profile, column: str, value: str | Company | None) -> None:
    if isinstance(value, str):
        profile.details[column] = value
    elif column == COMPANY:
        profile.company = value
    else:
        profile.details.pop(column, None)
