from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.companies.assignment import Companies
from headwater.people.contacts.names import DERIVED_PARTS, Parts
from headwater.people.contacts.profiles import DETAILS, Profile
from headwater.people.identity.directory import Contact, Directory

queries = Queries(__name__, "profiles.sql")

_COLUMNS_BEFORE_DETAILS = 11


def _list_details(form: LiteralString) -> Composed:
    return SQL(", ").join(SQL(form).format(Identifier(column)) for column in DETAILS)


LOAD = queries["load"].format(columns=_list_details("c.{}::text")).as_bytes()
WRITE = (
    queries["write"]
    .format(columns=_list_details("{}"), values=_list_details("d.{}"), excluded=_list_details("excluded.{}"))
    .as_bytes()
)


class Profiles:
    def __init__(self) -> None:
        self._by_contact: dict[Contact, Profile] = {}

    def get(self, contact: Contact) -> Profile:
        profile = self._by_contact.get(contact)
        if profile is None:
            profile = self._by_contact[contact] = Profile(contact)
        return profile

    def __iter__(self) -> Iterator[Profile]:
        return iter(self._by_contact.values())

    def list_changed(self) -> list[Profile]:
        return [profile for profile in self if profile.is_changed]


def load_contact_rows(
    connection: Connection[Any], space_id: int, ids: Iterable[int], directory: Directory
) -> list[tuple[Any, ...]]:
    """Add stored contacts to the directory, and return rows for `read_profiles`."""
    values = {"space_id": space_id, "ids": list(ids)}
    contact_rows = connection.execute(LOAD, values).fetchall()
    for row in contact_rows:
        contact = directory.add_stored(row[0], row[1])
        contact.has_email, contact.has_tracking_id, contact.has_token = row[2:5]
    return contact_rows


def read_profiles(
    contact_rows: Iterable[tuple[Any, ...]], directory: Directory, companies: Companies
) -> Profiles:
    profiles = Profiles()
    for row in contact_rows:
        profile = profiles.get(directory.contacts[row[0]])
        profile.has_name_parts, company_id, profile.source_mask = row[5:8]
        if company_id is not None:
            profile.company = profile.original_company = companies.by_id(company_id)
        profile.email, profile.name, profile.phone = row[8:11]
        details = zip(DETAILS, row[_COLUMNS_BEFORE_DETAILS:], strict=True)
        profile.details = {column: value for column, value in details if value is not None}
    return profiles


def write_profiles(connection: Connection[Any], space_id: int, profiles: Profiles) -> None:
    changed_profiles = profiles.list_changed()
    if changed_profiles:
        contacts = rows(map(as_row, changed_profiles))
        connection.execute(WRITE, {"space_id": space_id, "contacts": contacts})


def add_sources(connection: Connection[Any], space_id: int, masks: Mapping[int, int]) -> None:
    if masks:
        values = [
            {"space_id": space_id, "contact_id": contact_id, "source_mask": mask}
            for contact_id, mask in masks.items()
        ]
        connection.cursor().executemany(queries["add_sources"], values)


def as_row(profile: Profile) -> dict[str, object]:
    contact = profile.contact
    merged_into = contact.merged_into and contact.final().id
    company = None if merged_into else profile.company
    return {
        "id": contact.id,
        "created_at": contact.created_at,
        "merged_into": merged_into,
        "company_id": company and company.id,
        "source_mask": profile.source_mask,
        "email": profile.email,
        "name": profile.name,
        "phone": profile.phone,
        "details": profile.details or None,
    }


def write_name_parts(
    connection: Connection[Any],
    space_id: int,
    profiles: Profiles,
    names: Iterable[tuple[Contact, str, Parts]],
) -> None:
    """Store names' parts on stored identifiers; the last parts win, and derived ones only replace others."""
    parts_by_name = {(contact.final(), name): parts for contact, name, parts in names}
    divided = {profile.contact.final() for profile in profiles if profile.has_name_parts}
    values = [
        {"space_id": space_id, "contact_id": contact.id, "name": name, "first_name": first, "last_name": last}
        for (contact, name), (first, last) in parts_by_name.items()
        if (first, last) != DERIVED_PARTS or contact in divided
    ]
    if values:
        connection.cursor().executemany(queries["name_parts"], values)
