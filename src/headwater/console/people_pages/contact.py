"""The page of a contact: identity, origin and activity."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import Identifier
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import redirect, render
from headwater.console.people_pages.origin import SENDERS
from headwater.console.people_pages.timeline import Timeline, list_contact_timeline
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import conversion_title
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_id, require_visitor
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.endpoints.services import services
from headwater.events.accepted import SALES_EVENTS
from headwater.forwarding.deliveries.reasons import REASONS as SKIPPED
from headwater.forwarding.deliveries.reasons import STATUSES
from headwater.http.errors import Errors
from headwater.http.inputs.pagination import Cursors, Page, Position
from headwater.http.inputs.parameters import Query
from headwater.intake.merging.merge_log import LoggedMerge, list_merges
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.models import GetContact
from headwater.people.contacts.queries import fetch_contact
from headwater.people.contacts.queries import queries as contact_queries
from headwater.reports.query import Measure
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

queries = Queries(__name__, "contact.sql")

MOST_EVENTS = 10_000
MOST_IDENTIFIERS = 500
MOST_MERGES = 100
IDENTIFIER_KINDS = {
    "email": "E-mail",
    "name": "Name",
    "phone": "Phone",
    "tracking_id": "Tracking id",
    "location": "Location",
    "trk_token": "Browser (trk_token)",
    "fingerprint": "Fingerprint",
}


class ContactHead(Struct, frozen=True):
    """Columns of a contact that the API doesn't show."""

    id: int
    created_at: datetime
    name: str | None
    email: str | None
    company_id: int | None
    company_name: str | None
    city: str | None
    state: str | None
    country: str | None
    device_type: str | None
    os: str | None
    browser: str | None
    language: str | None
    first_source: int | None
    first_touch_at: datetime | None

    @property
    def title(self) -> str:
        return self.name or self.email or f"Contact {self.id}"

    @property
    def device(self) -> str:
        parts = (self.browser, self.os, self.device_type, self.city, self.state, self.country)
        return ", ".join(field for field in parts if field)


class ErasureState(Struct, frozen=True):
    id: int
    requested_at: datetime
    attempts: int
    last_error: str | None
    erased_at: datetime | None


class SalesTotals(Struct, frozen=True):
    """The number of events up to MOST_EVENTS + 1, and the revenue of the latest MOST_EVENTS."""

    events: int
    revenue: Decimal | None
    """None if the sales have several currencies."""
    currencies: str


class ContactContent(Struct, frozen=True):
    head: ContactHead
    first_source: str | None
    """Title of the first touchpoint's source."""
    contact: Mapping[str, Any]
    """Labelled fields of the contact, with the API's values."""
    totals: SalesTotals
    identifiers: list[dict[str, Any]]
    merges: list[LoggedMerge]
    erasure: ErasureState | None
    timeline: Timeline

    @property
    def parts(self) -> list[LoggedMerge]:
        """Return merges that can be undone."""
        return [merge for merge in self.merges if merge.undone_at is None and merge.merged_id != self.head.id]


async def show_contact(request: Request) -> Response:
    """Redirect from a merged contact's id to its survivor."""
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        contact_id = read_id(request, "contact_id")
        canonical = await resolve(connection, inside.space.id, contact_id)
    if canonical != contact_id:
        return redirect(request, contact_path(inside.space.id, canonical))
    return await contact_page(request, inside, canonical)


def contact_path(space_id: int, contact_id: int) -> str:
    return f"{HOME}/spaces/{space_id}/contacts/{contact_id}"


async def contact_page(
    request: Request,
    inside: SpaceVisitor,
    contact_id: int,
    *,
    status: int = 200,
    problem: str | None = None,
    errors: Errors | None = None,
) -> Response:
    """Render a contact by canonical id."""
    shared, space = services(request), inside.space
    path = contact_path(space.id, contact_id)
    query = Query(request.scope["query_string"])
    cursors = Cursors(shared.signing_key, space.id, path, [])
    position = cursors.read_from(query)
    query.finish()
    async with shared.database.transaction() as connection:
        content = await load_contact(connection, space, contact_id, position)
    return render(
        request,
        "contact.html",
        status=status,
        page=content,
        most=MOST_EVENTS,
        head=content.head,
        here=path,
        problem=problem,
        errors=errors or {},
        figures=figures,
        revenue=Measure.REVENUE,
        event_title=partial(conversion_title, space),
        senders=SENDERS,
        kinds=IDENTIFIER_KINDS,
        statuses=STATUSES,
        skipped=SKIPPED,
        links=page_links(content.timeline, path, cursors),
        at=position,
        may_write=inside.may("write_data"),
    )


def page_links(page: Page | Timeline, path: str, cursors: Cursors) -> dict[str, str]:
    positions = {"newer": page.previous, "older": page.next}
    return {
        name: f"{path}?cursor={cursors.write(position)}"
        for name, position in positions.items()
        if position is not None
    }


async def load_contact(
    connection: AsyncConnection, space: Space, contact_id: int, position: Position | None
) -> ContactContent:
    """Load one snapshot. Needs a new transaction."""
    await connection.execute(contact_queries["snapshot"])
    values = {"space_id": space.id, "contact_id": contact_id}
    head = await fetch_one(make_cursor(connection, ContactHead), queries["contact"], values)
    contact = await fetch_contact(connection, space, contact_id, GetContact(labels=True))
    identifiers = await _fetch_identifiers(connection, space.id, contact_id)
    return ContactContent(
        head,
        _first_source(head, space),
        msgspec.json.decode(contact),
        await fetch_totals(connection, space.id, "contact_id", contact_id),
        identifiers,
        await list_merges(connection, space.id, contact_id, MOST_MERGES),
        await fetch_erasure(connection, space.id, contact_id),
        await list_contact_timeline(connection, space, contact_id, position),
    )


async def fetch_totals(connection: AsyncConnection, space_id: int, owner: str, owner_id: int) -> SalesTotals:
    """`owner` is the events' column with the id of their contact or company."""
    values = {"space_id": space_id, "owner_id": owner_id, "sales": [*SALES_EVENTS], "most": MOST_EVENTS}
    return await fetch_one(
        make_cursor(connection, SalesTotals), queries["totals"].format(owner=Identifier(owner)), values
    )


def _first_source(head: ContactHead, space: Space) -> str | None:
    number = head.first_source
    return None if number is None else format_title(space.sources.get_name(number))


async def _fetch_identifiers(
    connection: AsyncConnection, space_id: int, contact_id: int
) -> list[dict[str, Any]]:
    values = {"space_id": space_id, "contact_id": contact_id, "most": MOST_IDENTIFIERS}
    cursor = connection.cursor(row_factory=dict_row)
    return await fetch_all(cursor, queries["identifiers"], values)


async def fetch_erasure(connection: AsyncConnection, space_id: int, contact_id: int) -> ErasureState | None:
    values = {"space_id": space_id, "contact_id": contact_id, "most": MOST_MERGES}
    return await fetch_optional(make_cursor(connection, ErasureState), queries["erasures"], values)


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/contacts/{{contact_id}}", show_contact, methods=["GET"])]
