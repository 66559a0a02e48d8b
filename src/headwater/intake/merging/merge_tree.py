"""Compute the changes of an unmerge. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct, field

from headwater.people.companies.assignment import Companies, Company
from headwater.people.contacts.profiles import COMPANY, DETAILS, Profile

# Locations are identifiers: see `primaries` in people/contacts/separation.sql.
_COLUMNS = frozenset({*DETAILS, COMPANY} - {"location"})


class MergeInForce(Struct, frozen=True):
    """A logged merge that isn't undone."""

    id: int
    merged_id: int
    survivor_id: int
    company_id: int | None
    filled: list[str]


class MergeTree:
    """The merges into a contact, in order."""

    def __init__(self, merges: Iterable[MergeInForce]) -> None:
        self.merge_by_contact: dict[int, MergeInForce] = {}
        self._into: dict[int, list[MergeInForce]] = {}
        for merge in merges:
            self.merge_by_contact[merge.merged_id] = merge
            self._into.setdefault(merge.survivor_id, []).append(merge)

    def into(self, contact_id: int) -> list[MergeInForce]:
        return self._into.get(contact_id, [])

    def members(self, contact_id: int) -> list[int]:
        members = [contact_id]
        for member in members:
            members += [merge.merged_id for merge in self.into(member)]
        return members

    def line(self, contact_id: int) -> list[MergeInForce]:
        """Return the merges up to the survivor."""
        line: list[MergeInForce] = []
        while (merge := self.merge_by_contact.get(contact_id)) is not None:
            line.append(merge)
            contact_id = merge.survivor_id
        return line

    def concerned(self, contact_id: int) -> set[int]:
        """Return contacts on the line and those merged into them."""
        line_members = {contact_id, *(merge.survivor_id for merge in self.line(contact_id))}
        return line_members.union(merge.merged_id for member in line_members for merge in self.into(member))


class UnmergeChanges(Struct, frozen=True):
    """Changes to the former survivors."""

    profiles: list[Profile] = field(default_factory=list[Profile])
    filled: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Columns that other merged contacts fill now, by merge id."""


def give_back_companies(tree: MergeTree, profiles: dict[int, Profile], companies: Companies) -> None:
    """Restore companies that rows of merged contacts lack."""
    for contact_id, profile in profiles.items():
        merge = tree.merge_by_contact.get(contact_id)
        if merge is not None and merge.company_id is not None:
            profile.company = companies.by_id(merge.company_id)


def take_out(tree: MergeTree, contact_id: int, profiles: dict[int, Profile]) -> UnmergeChanges:
    """Clear columns that the contact filled, up to the survivor, unless changed since. Refill them from other
    merged contacts in order.
    """
    changes = UnmergeChanges()
    columns: Collection[str] = _COLUMNS
    values = _get_values(profiles[contact_id])
    for merge in tree.line(contact_id):
        profile = profiles[merge.survivor_id]
        survivor_values = _get_values(profile)
        columns = [
            column
            for column in merge.filled
            if column in columns
            and values.get(column) is not None
            and values[column] == survivor_values.get(column)
        ]
        if not columns:
            break
        other_merges = [
            merge_into for merge_into in tree.into(merge.survivor_id) if merge_into.merged_id != contact_id
        ]
        for column in columns:
            _refill(profile, column, other_merges, profiles, changes)
        changes.profiles.append(profile)
    return changes


def _refill(
    profile: Profile,
    column: str,
    other_merges: list[MergeInForce],
    profiles: dict[int, Profile],
    changes: UnmergeChanges,
) -> None:
    _set_value(profile, column, None)
    for merge in other_merges:
        value = _get_values(profiles[merge.merged_id]).get(column)
        if value is not None:
            _set_value(profile, column, value)
            if column not in merge.filled:
                changes.filled.setdefault(merge.id, []).append(column)
            return


def _get_values(profile: Profile) -> dict[str, str | Company | None]:
    return {**profile.details, COMPANY: profile.company}


def _set_value(profile: Profile, column: str, value: str | Company | None) -> None:
    if isinstance(value, str):
        profile.details[column] = value
    elif column == COMPANY:
        profile.company = value
    else:
        profile.details.pop(column, None)
