"""Read stored contacts: one page of a selection, or one contact.

Each is one statement, composed from fixed tables: the conditions on contacts, and the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Identifier, Literal, Placeholder

from headwater.database.queries import Queries
from headwater.http.inputs.pagination import Page, page_of, places, to_key
from headwater.people.contacts.field_labels import field_names
from headwater.people.contacts.filters import compose_all
from headwater.people.contacts.inputs import COLLECTIONS
from headwater.people.contacts.journey import MOST_ITEMS, count_earlier, fetch_hits, list_journey
from headwater.people.contacts.models import (
    ContactRow,
    ContactSelection,
    GetContact,
    ListContacts,
    ListJourney,
)
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, SLOTS
from headwater.spaces.models import Space

queries = Queries(__name__, "contacts.sql")

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_COMMA, _AND = SQL(", "), SQL(" AND ")

_PRIMARY = SQL("k.id, k.email, k.name, k.phone, k.location")

MOST_LATEST = 20_000
"""The latest contacts among which a search looks for a text anywhere in a name."""
MOST_MATCHES = 10_000
"""The names that a search reads which begin with a text."""
LAST_CHARACTER = "\U0010ffff"
"""Sorts after any other."""
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


async def list_contacts(connection: AsyncConnection, space: Space, request: ListContacts) -> Page:
    """One page, the highest id first."""
    backward = request.at is not None and request.at.backward
    only, bound = _conditions(request)
    line, named = row_line(request.row)
    bound |= named | {"space_id": space.id, "timezone": space.timezone}
    rows = queries[_way(request.selection)].format(only=only)
    order = _OLDEST_FIRST if backward else _NEWEST_FIRST
    statement = queries["page"].format(rows=rows, order=order, line=line)
    # Not prepared: a plan that does not know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), request.per_page, request.at, to_key)


async def count_contacts(
    connection: AsyncConnection, space_id: int, selection: ContactSelection, most: int
) -> int:
    """The number of contacts that a selection has, or `most` where there are as many or more."""
    only, bound = _conditions(ListContacts(selection, ContactRow(), 0, None))
    rows = queries[_way(selection)].format(only=only)
    statement = queries["count"].format(rows=rows)
    cursor = await connection.execute(statement, {**bound, "space_id": space_id, "most": most}, prepare=False)
    row = await cursor.fetchone()
    assert row is not None
    return row[0]


def _way(selection: ContactSelection) -> str:
    """The statement that finds the contacts of a selection."""
    if selection.emails:
        return "of_emails"
    return "of_name" if selection.name else "of_time"


def _spellings(part: str) -> list[str]:
    """A part of a name as `lower` may have it in the database, which knows of no letters but ASCII
    ones where its locale is C.
    """
    return sorted({spelling.translate(_LOWER) for spelling in _beginnings(part)})


def _beginnings(part: str) -> list[str]:
    """The beginning of a name as people write it, whatever case it was typed in."""
    return sorted({part, part.lower(), part.upper(), part.title(), part.capitalize()})


async def fetch_contact(
    connection: AsyncConnection, space: Space, contact_id: int, request: GetContact
) -> bytes:
    """A contact by its canonical id, as JSON. The parts beside the contact itself are read by
    further statements, so it needs a transaction in which all of them see the same rows.
    """
    names = field_names(space.field_labels if request.labels else {})
    members, bound = _members(names)
    columns = [SQL("k.id"), *(_collection(name) for name in COLLECTIONS)]
    columns.append(_named(queries["filled_fields"].format(members=members), "custom_fields"))
    if request.trk_tokens:
        columns.append(_named(queries["tokens"], "trk_tokens"))
    line = queries["line"].format(columns=_COMMA.join(columns))
    bound |= {"space_id": space.id, "timezone": space.timezone, "contact_id": contact_id}
    cursor = await connection.execute(queries["contact"].format(line=line), bound)
    row = await cursor.fetchone()
    assert row is not None
    further: dict[str, str] = {}
    if request.events:
        direct = request.direct_touchpoints
        latest = ListJourney(direct, MOST_ITEMS)
        page = await list_journey(connection, space, contact_id, latest)
        further["events"] = _array(page.lines)
        if page.next is not None:
            left_out = await count_earlier(connection, space.id, contact_id, page.next, direct=direct)
            further["events_left_out"] = str(left_out)
    if request.hits:
        hits = await fetch_hits(connection, space, contact_id)
        further["browsing_session_hits"] = _array(hits)
    return _with_members(row[0], further)


def _array(items: Sequence[str]) -> str:
    """The JSON of a list whose items are JSON already."""
    return f"[{','.join(items)}]"


def _with_members(line: str, further: Mapping[str, str]) -> bytes:
    """An object's JSON with further members, whose values are JSON already."""
    members = [f',"{name}":{value}' for name, value in further.items()]
    return "".join([line[:-1], *members, "}"]).encode()


def _conditions(request: ListContacts) -> tuple[Composable, dict[str, Any]]:
    """The conditions of a page on contacts `k`, and the values that they bind."""
    selection = request.selection
    bound = {
        "emails": list(selection.emails),
        "limit": request.per_page + 1,
        "spellings": _spellings(selection.name),
        "beginnings": _beginnings(selection.name),
        "most_latest": MOST_LATEST,
        "most_matches": MOST_MATCHES,
        "last_character": LAST_CHARACTER,
        **places(selection.created, request.at),
    }
    conditions: list[Composable] = [queries["listed"]]
    if selection.conditions:
        of_fields, values = compose_all(selection.conditions)
        conditions.append(queries["field_conditions"].format(conditions=of_fields))
        bound |= values
    return _AND.join(conditions), bound


def row_line(row: ContactRow) -> tuple[Composable, dict[str, Any]]:
    """The JSON of a list's row, and the values that it binds beside the Space and its time zone."""
    columns: list[Composable] = [_PRIMARY]
    if row.trk_tokens:
        columns.append(_named(queries["tokens"], "trk_tokens"))
    if row.emails:
        columns.append(_collection("emails"))
    if row.times:
        columns += [SQL("iso_utc(k.created_at) AS created_at"), queries["first_and_last"]]
    line = queries["line"].format(columns=_COMMA.join(columns))
    if row.fields is None:
        return line, {}
    members, bound = _members(row.fields)
    return queries["with_fields"].format(line=line, members=members), bound


def _collection(name: str) -> Composable:
    kind = COLLECTIONS[name].kind
    values = queries["collection"].format(kind=Identifier(kind), kind_name=Literal(kind))
    return _named(values, name)


def _named(value: Composable, name: str) -> Composable:
    return SQL("{} AS {}").format(value, Identifier(name))


def _members(names: Mapping[str, str]) -> tuple[Composable, dict[str, str]]:
    """The profile fields under these names as arguments of `concat`, and the values they bind."""
    members = [
        queries["member"].format(name=Placeholder(column), value=_field_value(number, column))
        for number, column in SLOTS
    ]
    bound = {column: f",{msgspec.json.encode(names[column]).decode()}:" for _, column in SLOTS}
    return _COMMA.join(members), bound


def _field_value(number: int, column: str) -> Composable:
    """The SQL of a profile field in the form of the API."""
    field = Identifier("k", column)
    if number in NUMBER_SLOTS:
        return SQL("trim_scale({})").format(field)
    if number in DATE_SLOTS:
        return queries["day_or_moment"].format(field=field)
    return field
