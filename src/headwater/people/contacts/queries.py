"""Read stored contacts: one page of a selection, or one contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal, Placeholder

from headwater.database.queries import Queries
from headwater.http.inputs.pagination import Page, make_page, sort_direction, time_bounds, to_key
from headwater.http.inputs.timerange import bind_zone
from headwater.people.contacts.field_labels import field_names
from headwater.people.contacts.filters import compose_all
from headwater.people.contacts.inputs import COLLECTIONS
from headwater.people.contacts.journey import MAX_ITEMS, count_earlier, fetch_hits, list_journey
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

_COMMA, _AND = SQL(", "), SQL(" AND ")

_PRIMARY = SQL("k.id, k.email, k.name, k.phone, k.location")

MAX_SEARCHED_CONTACTS = 20_000
"""The latest contacts, searched for a text anywhere in their names."""
MAX_MATCHES = 10_000
LAST_CHARACTER = "\U0010ffff"
"""Sorts after any other character."""
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


async def list_contacts(connection: AsyncConnection, space: Space, request: ListContacts) -> Page:
    """Return the highest id first."""
    condition, bound = _conditions(request)
    line, line_values = row_line(request.row)
    bound |= line_values | {"space_id": space.id, **bind_zone(space.zone)}
    rows = _select_rows(request.selection, condition)
    statement = queries["page"].format(rows=rows, order=sort_direction(request.position), line=line)
    # Not prepared: a plan that doesn't know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), request.per_page, request.position, to_key)


async def count_contacts(
    connection: AsyncConnection, space_id: int, selection: ContactSelection, limit: int
) -> int:
    condition, bound = _conditions(ListContacts(selection, ContactRow(), 0, None))
    statement = queries["count"].format(rows=_select_rows(selection, condition))
    bound |= {"space_id": space_id, "most": limit}
    cursor = await connection.execute(statement, bound, prepare=False)
    row = await cursor.fetchone()
    assert row is not None
    return row[0]


def _select_rows(selection: ContactSelection, condition: Composable) -> Composed:
    if not selection.emails and not selection.name:
        return queries["of_time"].format(condition=condition)
    holders = queries["of_emails" if selection.emails else "of_name"]
    return queries["of_holders"].format(holders=holders, condition=condition)


def _spellings(name_part: str) -> list[str]:
    """Return possible results of the database's `lower`, which may know only ASCII letters."""
    return sorted({spelling.translate(_LOWER) for spelling in _beginnings(name_part)})


def _beginnings(name_part: str) -> list[str]:
    """Return beginnings in common cases."""
    return sorted(
        {name_part, name_part.lower(), name_part.upper(), name_part.title(), name_part.capitalize()}
    )


async def fetch_contact(
    connection: AsyncConnection, space: Space, contact_id: int, request: GetContact
) -> bytes:
    """Return JSON by canonical id. Needs a transaction with one snapshot."""
    names = field_names(space.field_labels if request.labels else {})
    members, bound = _members(names)
    columns = [SQL("k.id"), *(_collection(name) for name in COLLECTIONS)]
    columns.append(_alias(queries["filled_fields"].format(members=members), "custom_fields"))
    if request.trk_tokens:
        columns.append(_alias(queries["tokens"], "trk_tokens"))
    line = queries["line"].format(columns=_COMMA.join(columns))
    bound |= {"space_id": space.id, **bind_zone(space.zone), "contact_id": contact_id}
    cursor = await connection.execute(queries["contact"].format(line=line), bound)
    row = await cursor.fetchone()
    assert row is not None
    extra: dict[str, str] = {}
    if request.events:
        direct = request.direct_touchpoints
        page = await list_journey(connection, space, contact_id, ListJourney(direct, MAX_ITEMS))
        extra["events"] = _array(page.lines)
        if page.next is not None:
            left_out = await count_earlier(connection, space.id, contact_id, page.next, direct=direct)
            extra["events_left_out"] = str(left_out)
    if request.hits:
        extra["browsing_session_hits"] = _array(await fetch_hits(connection, space, contact_id))
    return _with_members(row[0], extra)


def _array(items: Sequence[str]) -> str:
    return f"[{','.join(items)}]"


def _with_members(line: str, extra: Mapping[str, str]) -> bytes:
    """Append JSON values to a JSON object."""
    members = [f',"{name}":{value}' for name, value in extra.items()]
    return "".join([line[:-1], *members, "}"]).encode()


def _conditions(request: ListContacts) -> tuple[Composable, dict[str, Any]]:
    selection = request.selection
    bound = {
        "emails": list(selection.emails),
        "limit": request.per_page + 1,
        "spellings": _spellings(selection.name),
        "beginnings": _beginnings(selection.name),
        "most_latest": MAX_SEARCHED_CONTACTS,
        "most_matches": MAX_MATCHES,
        "last_character": LAST_CHARACTER,
        **time_bounds(selection.created, request.position),
    }
    conditions: list[Composable] = [queries["listed"]]
    if selection.conditions:
        field_conditions, values = compose_all(selection.conditions)
        conditions.append(queries["field_conditions"].format(conditions=field_conditions))
        bound |= values
    return _AND.join(conditions), bound


def row_line(row: ContactRow) -> tuple[Composable, dict[str, Any]]:
    """Return a list row's JSON in SQL, and its bound values besides the Space and its time zone."""
    columns: list[Composable] = [_PRIMARY]
    if row.trk_tokens:
        columns.append(_alias(queries["tokens"], "trk_tokens"))
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
    return _alias(values, name)


def _alias(value: Composable, name: str) -> Composable:
    return SQL("{} AS {}").format(value, Identifier(name))


def _members(names: Mapping[str, str]) -> tuple[Composable, dict[str, str]]:
    members = [
        queries["member"].format(name=Placeholder(column), value=_field_value(number, column))
        for number, column in SLOTS
    ]
    bound = {column: f",{msgspec.json.encode(names[column]).decode()}:" for _, column in SLOTS}
    return _COMMA.join(members), bound


def _field_value(number: int, column: str) -> Composable:
    field = Identifier("k", column)
    if number in NUMBER_SLOTS:
        return SQL("trim_scale({})").format(field)
    if number in DATE_SLOTS:
        return queries["day_or_moment"].format(field=field)
    return field
