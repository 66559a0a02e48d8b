"""Contacts read back: one page of a selection, or one contact.

Either is one statement, put together from closed tables: which contacts, and what is shown of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Identifier, Literal, Placeholder

from headwater.contacts.field_labels import shown_names
from headwater.contacts.inputs import COLLECTIONS
from headwater.contacts.journey import fetch_hits, fetch_journey
from headwater.contacts.models import ContactRow, ContactSelection, GetContact, ListContacts
from headwater.database.queries import Queries
from headwater.http.pagination import Page, page_of, places, to_key
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, SLOTS
from headwater.spaces.models import Space

queries = Queries(__name__, "contacts.sql")

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_COMMA, _AND = SQL(", "), SQL(" AND ")

_PRIMARY = SQL("k.id, k.email, k.name, k.phone, k.location")


async def list_contacts(connection: AsyncConnection, space: Space, asked: ListContacts) -> Page:
    """One page, the highest id first."""
    backward = asked.at is not None and asked.at.backward
    only, bound = _conditions(asked)
    line, named = row_line(asked.row)
    bound |= named | {"space_id": space.id, "timezone": space.timezone}
    rows = queries["of_emails" if asked.selection.emails else "of_time"].format(only=only)
    order = _OLDEST_FIRST if backward else _NEWEST_FIRST
    statement = queries["page"].format(rows=rows, order=order, line=line)
    # Not prepared: a plan that does not know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), asked.per_page, asked.at, to_key)


async def fetch_contact(
    connection: AsyncConnection, space: Space, contact_id: int, asked: GetContact
) -> bytes:
    """A contact by its canonical id, as JSON. What is asked for beside the contact itself is read
    by further statements, so it wants a transaction in which all of them see the same rows.
    """
    names = shown_names(space.field_labels if asked.labels else {})
    members, bound = _members(names)
    columns = [SQL("k.id"), *(_collection(name) for name in COLLECTIONS)]
    columns.append(_named(queries["filled_fields"].format(members=members), "custom_fields"))
    if asked.trk_tokens:
        columns.append(_named(queries["tokens"], "trk_tokens"))
    line = queries["line"].format(columns=_COMMA.join(columns))
    bound |= {"space_id": space.id, "timezone": space.timezone, "contact_id": contact_id}
    cursor = await connection.execute(queries["contact"].format(line=line), bound)
    row = await cursor.fetchone()
    assert row is not None
    further: dict[str, str] = {}
    if asked.events:
        direct = asked.direct_touchpoints
        journey = await fetch_journey(connection, space.id, contact_id, direct=direct)
        further["events"] = _array(journey.items)
        if journey.left_out:
            further["events_left_out"] = str(journey.left_out)
    if asked.hits:
        hits = await fetch_hits(connection, space.id, contact_id)
        further["browsing_session_hits"] = _array(hits)
    return _with_members(row[0], further)


def _array(items: Sequence[str]) -> str:
    """The JSON of a list whose items are JSON already."""
    return f"[{','.join(items)}]"


def _with_members(line: str, further: Mapping[str, str]) -> bytes:
    """An object's JSON with further members, whose values are JSON already."""
    members = [f',"{name}":{value}' for name, value in further.items()]
    return "".join([line[:-1], *members, "}"]).encode()


def _conditions(asked: ListContacts) -> tuple[Composable, dict[str, Any]]:
    """What a page asks of contacts `k`, and what that binds."""
    selection = asked.selection
    bound = {
        "emails": list(selection.emails), "limit": asked.per_page + 1,
        **places(selection.created, asked.at),
    }  # fmt: skip
    conditions: list[Composable] = [queries["listed"]]
    if selection.conditions:
        conditions.append(_asked(selection, bound))
    return _AND.join(conditions), bound


def _asked(selection: ContactSelection, bound: dict[str, Any]) -> Composable:
    composed = [each.compose(number) for number, each in enumerate(selection.conditions)]
    for _, values in composed:
        bound |= values
    return queries["asked"].format(conditions=_AND.join(fragment for fragment, _ in composed))


def row_line(row: ContactRow) -> tuple[Composable, dict[str, Any]]:
    """The JSON of a list's row, and what that binds beside the Space and its time zone."""
    columns: list[Composable] = [_PRIMARY]
    if row.trk_tokens:
        columns.append(_named(queries["tokens"], "trk_tokens"))
    if row.emails:
        columns.append(_collection("emails"))
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
    """The profile fields under these names as arguments of `concat`, and what they bind."""
    members = [
        queries["member"].format(name=Placeholder(column), value=_shown(number, column))
        for number, column in SLOTS
    ]
    bound = {column: f",{msgspec.json.encode(names[column]).decode()}:" for _, column in SLOTS}
    return _COMMA.join(members), bound


def _shown(number: int, column: str) -> Composable:
    """A profile field as the API shows it."""
    field = Identifier("k", column)
    if number in NUMBER_SLOTS:
        return SQL("trim_scale({})").format(field)
    if number in DATE_SLOTS:
        return queries["day_or_moment"].format(field=field)
    return field
