"""Lists and searches of contacts and companies.

Exact and prefix searches use an index. Parts of names come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.events.accepted import SALES_EVENTS
from headwater.events.queries import find_order
from headwater.forwarding.platforms.identifiers import read_phone
from headwater.http.inputs.pagination import Page, Position
from headwater.http.inputs.timerange import EVER
from headwater.people.contacts.models import ContactRow, ContactSelection, ListContacts
from headwater.people.contacts.queries import LAST_CHARACTER, list_contacts
from headwater.spaces.models import Space

queries = Queries(__name__, "people.sql")

PER_PAGE = 25
MOST_EVENTS = 1000
"""Maximum events summed for a contact in a list."""
MOST_NAMES = 20_000
"""Latest contacts and companies searched by part of a name."""
LONGEST = 320
"""Maximum characters of a search; no e-mail address is longer."""
SHORTEST_PART = 2
_MOST_DIGITS = 18
_EXACT_KINDS = ("tracking_id", "trk_token", "fingerprint")


class PersonRow(Struct, frozen=True):
    id: int
    name: str | None
    email: str | None
    phone: str | None
    created_at: datetime
    company_id: int | None
    company_name: str | None
    event_id: int | None
    event_name: str | None
    event_time: datetime | None
    revenue: Decimal | None
    """None if the sales have several currencies."""
    currencies: str
    has_more_events: bool


class CompanyRow(Struct, frozen=True):
    id: int
    name: str
    domain: str | None
    external_id: str | None


class OrderEvent(Struct, frozen=True):
    id: int
    event_name: str
    event_time: datetime
    number: str
    amount: Decimal | None
    currency: str


class SearchResult(Struct, frozen=True):
    people: list[PersonRow]
    companies: list[CompanyRow]
    order_events: list[OrderEvent]
    """The purchase, upsells and refunds of an order."""


async def list_newest(
    connection: AsyncConnection, space: Space, position: Position | None
) -> tuple[Page, list[PersonRow]]:
    selection = ContactSelection(EVER, (), ())
    page = await list_contacts(connection, space, ListContacts(selection, ContactRow(), PER_PAGE, position))
    ids = [msgspec.json.decode(line)["id"] for line in page.lines]
    return page, await fetch_people(connection, space.id, ids)


async def search(connection: AsyncConnection, space: Space, text: str) -> SearchResult:
    """Return at most PER_PAGE contacts, companies and events of an order."""
    text = " ".join(text.split())[:LONGEST]
    ids = list(
        dict.fromkeys(
            [*await _find_exact(connection, space, text), *await _beginning(connection, space.id, text)]
        )
    )[:PER_PAGE]
    if not ids and len(text) >= SHORTEST_PART and "@" not in text:
        ids = await _parts(connection, space.id, text)
    values = {
        "space_id": space.id,
        "text": text.lower(),
        "written": text,
        "limit": PER_PAGE,
        "most": MOST_NAMES,
        "last_character": LAST_CHARACTER,
    }
    companies = await fetch_all(make_cursor(connection, CompanyRow), queries["companies"], values)
    people = await fetch_people(connection, space.id, ids)
    return SearchResult(people, companies, await _fetch_order(connection, space.id, text))


async def _fetch_order(connection: AsyncConnection, space_id: int, number: str) -> list[OrderEvent]:
    values = {"space_id": space_id, "ids": await find_order(connection, space_id, number, PER_PAGE)}
    return await fetch_all(make_cursor(connection, OrderEvent), queries["events"], values)


async def fetch_people(connection: AsyncConnection, space_id: int, ids: Sequence[int]) -> list[PersonRow]:
    if not ids:
        return []
    values = {"space_id": space_id, "ids": list(ids), "sales": [*SALES_EVENTS], "most": MOST_EVENTS}
    return await fetch_all(make_cursor(connection, PersonRow), queries["rows"], values)


async def _find_exact(connection: AsyncConnection, space: Space, text: str) -> list[int]:
    """Search by id and exact identifiers."""
    identifiers = [("email", text.lower()), *((kind, text) for kind in _EXACT_KINDS)]
    phones = {text, text.replace(" ", ""), read_phone(text, space.phone_region) or text}
    identifiers += [("phone", phone) for phone in sorted(phones)]
    values = {
        "space_id": space.id,
        "kinds": [kind for kind, _ in identifiers],
        "values": [value for _, value in identifiers],
        "limit": PER_PAGE,
    }
    ids = [row[0] for row in await fetch_all(connection, queries["exact"], values)]
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        by_id = {"space_id": space.id, "ids": [int(text)]}
        ids = [row[0] for row in await fetch_all(connection, queries["by_id"], by_id)] + ids
    return ids


async def _beginning(connection: AsyncConnection, space_id: int, text: str) -> list[int]:
    """Search the beginnings of addresses and names."""
    if len(text) < SHORTEST_PART:
        return []
    ids: list[int] = []
    for kind, spellings in (("email", [text.lower()]), ("name", _spellings(text))):
        values = {
            "space_id": space_id,
            "kind": kind,
            "values": spellings,
            "limit": PER_PAGE,
            "last_character": LAST_CHARACTER,
        }
        ids += [row[0] for row in await fetch_all(connection, queries["beginning"], values)]
    return ids


async def _parts(connection: AsyncConnection, space_id: int, text: str) -> list[int]:
    values = {"space_id": space_id, "values": _spellings(text), "limit": PER_PAGE, "most": MOST_NAMES}
    return [row[0] for row in await fetch_all(connection, queries["parts"], values)]


def _spellings(text: str) -> list[str]:
    """Return spellings, because the comparison is case-sensitive."""
    return sorted({text, text.lower(), text.upper(), text.title(), text.capitalize()})
