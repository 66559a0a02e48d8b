"""Imports of contacts: a row creates a contact, or adds to the one with its email.

New values are added and empty columns filled; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.http.inputs.fields import is_blank
from headwater.people.contacts.additions import add_values, create_contacts, fill_contacts
from headwater.people.contacts.inputs import COLLECTIONS, ContactValues, read_new_contact
from headwater.people.contacts.lookup import find_holders
from headwater.people.contacts.profiles import to_instant
from headwater.spaces.custom_fields import DATE_SLOTS, SLOT_NAMES, SLOTS
from headwater.spaces.locks import lock_identities
from headwater.spaces.models import Space

_SINGLE = {collection.kind: name for name, collection in COLLECTIONS.items()}
FIELDS = (*COLLECTIONS, *_SINGLE, *SLOT_NAMES)


def read(values: dict[str, Any], _: float) -> ContactValues:
    """Read a row like POST /contacts. Lists may be text separated by `;`; a single value goes first. Raises
    Invalid.
    """
    body: dict[str, Any] = {}
    for single_name, name in _SINGLE.items():
        items = _split_items(values.get(name))
        if isinstance(items, list) and not is_blank(values.get(single_name)):
            items = [values[single_name], *cast("list[Any]", items)]
        if items != []:
            body[name] = items
    fields = {name: values[name] for name in SLOT_NAMES if not is_blank(values.get(name))}
    return read_new_contact({**body, "custom_fields": fields} if fields else body)


def _split_items(value: object) -> object:
    if value is None:
        return []
    if isinstance(value, str):
        return [text.strip() for text in value.split(";") if text.strip()]
    return value


@dataclass
class _Target:
    id: int = 0
    """0 until stored."""
    columns: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    """Kind and value, most recent last."""

    def take(self, row: ContactValues, space: Space) -> None:
        for name, items in row.collections.items():
            kind = COLLECTIONS[name].kind
            for item in reversed(items):
                self.values.setdefault((kind, item))
            if items:
                self.columns.setdefault(kind, items[0])
        names = dict(SLOTS)
        for slot, value in (row.custom_fields or {}).items():
            stored_value = to_instant(value, space.zone) if slot in DATE_SLOTS else value
            self.columns.setdefault(names[slot], stored_value)


async def store(
    connection: AsyncConnection, space: Space, items: Sequence[ContactValues]
) -> list[Errors | None]:
    """Refuse rows whose emails belong to several contacts."""
    await lock_identities(connection, space.id)
    targets, conflicts = _assign(items, await _load_holders(connection, space.id, items), space)
    new = [target for target in targets if not target.id]
    if new:
        ids = await create_contacts(connection, space.id, len(new))
        for target, number in zip(new, ids, strict=True):
            target.id = number
    contacts = ({"id": target.id, **target.columns} for target in targets)
    await fill_contacts(connection, space.id, contacts)
    values = ((target.id, kind, value) for target in targets for kind, value in target.values)
    await add_values(connection, space.id, values)
    return [_describe_conflict(conflict) if conflict else None for conflict in conflicts]


async def _load_holders(
    connection: AsyncConnection, space_id: int, items: Sequence[ContactValues]
) -> dict[str, list[_Target]]:
    emails = {email for item in items for email in item.collections["emails"]}
    target_by_contact: dict[int, _Target] = {}
    holders: dict[str, list[_Target]] = {}
    for email, number in await find_holders(connection, space_id, emails):
        holders.setdefault(email, []).append(target_by_contact.setdefault(number, _Target(number)))
    return holders


def _assign(
    items: Sequence[ContactValues], holders: dict[str, list[_Target]], space: Space
) -> tuple[list[_Target], list[list[_Target] | None]]:
    """Return the contacts to create or change, and the matches of each row with several. Earlier rows count
    as stored.
    """
    targets: dict[int, _Target] = {}
    conflicts: list[list[_Target] | None] = []
    for item in items:
        emails = item.collections["emails"]
        matches = {id(target): target for email in emails for target in holders.get(email, ())}
        if len(matches) > 1:
            conflicts.append(list(matches.values()))
            continue
        conflicts.append(None)
        target = next(iter(matches.values()), None) or _Target()
        targets[id(target)] = target
        target.take(item, space)
        for email in emails:
            holders[email] = [target]
    return list(targets.values()), conflicts


def _describe_conflict(conflict: list[_Target]) -> Errors:
    ids = ", ".join(str(target.id) for target in sorted(conflict, key=lambda target: target.id))
    return {"emails": [f"The emails belong to several contacts: {ids}."]}
