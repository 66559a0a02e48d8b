"""An event's contact, path, credit under every model, and deliveries."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.navigation import ALL_EVENTS, ORDERS
from headwater.console.pages import render
from headwater.console.people_pages.credits import (
    ModelColumn,
    PathTouch,
    build_columns,
    build_path,
    exclusions_in,
)
from headwater.console.people_pages.origin import SENDERS, OriginAnswer, Surroundings, explain_origin
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import (
    MODES,
    WINDOW_TITLES,
    ChoiceLinks,
    conversion_title,
    describe_window,
    model_title,
    window_title,
)
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, read_id
from headwater.console.visits import enter_space
from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor
from headwater.endpoints.services import services
from headwater.events.accepted import SALES_EVENTS
from headwater.events.filters import QUERY_MODE
from headwater.events.queries import sum_refunds
from headwater.forwarding.deliveries.delivery_log import list_event_deliveries
from headwater.forwarding.deliveries.reasons import REASONS as SKIPPED
from headwater.forwarding.deliveries.reasons import STATUSES
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.errors import Invalid
from headwater.http.inputs.parameters import Query
from headwater.intake.ingest.answers import Receipt
from headwater.intake.ingest.receipts import fetch_receipt
from headwater.reports.explanation import EventExplanation, explain_event
from headwater.reports.query import Measure
from headwater.reports.questions.shared import WINDOW
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

queries = Queries(__name__, "event.sql")

_OF_CONTACT, _OF_COMPANY = SQL("t.contact_id = e.contact_id"), SQL("t.company_id = e.company_id")


class EventDetails(Struct, frozen=True):
    """An event, its request and its contact."""

    id: int
    contact_id: int
    company_id: int | None
    event_name: str
    event_time: datetime
    received_at: datetime
    amount: Decimal | None
    currency: str
    """The event's currency, or the Space's."""
    has_own_currency: bool
    is_upsell: bool
    order_id: str | None
    order_name: str | None
    checkout_token: str | None
    upsell_common_id: str | None
    idempotency_key: str | None
    company_external_id: str | None
    event_url: str | None
    user_agent: str | None
    ip: str | None
    do_not_capi: bool
    ad_user_data: bool | None
    ad_personalization: bool | None
    heard_about_us: str | None
    self_reported_source: str | None
    cookies: list[str]
    warnings: list[str]
    sender: str | None
    contact_name: str | None
    contact_email: str | None
    company_name: str | None


class EventContent(Struct, frozen=True):
    event: EventDetails
    refunds: tuple[int, Decimal]
    """Number and total amount of its order's refunds."""
    receipt: Receipt
    explanation: EventExplanation
    path: list[PathTouch]
    columns: list[ModelColumn]
    answer: OriginAnswer | None
    deliveries: list[dict[str, Any]]

    @property
    def in_space_currency(self) -> Decimal | None:
        """Return None if sums leave the amount out."""
        return self.explanation.event["amount_in_space_currency"]

    @property
    def left_out_columns(self) -> bool:
        """Return whether a model credits touchpoints that aren't listed."""
        return any(column.left_out for column in self.columns)


async def show_event(request: Request) -> Response:
    inside = await enter_space(request)
    shared = services(request)
    event_id = read_id(request, "event_id")
    problem, view = None, ReportView()
    try:
        view = _read_view(Query(request.scope["query_string"]))
    except Invalid as error:
        problem = error
    async with shared.database.transaction() as connection:
        content = await load_event(connection, inside.space, event_id, view)
    links = ChoiceLinks(view, request.url.path, {})
    return render(
        request,
        "event.html",
        status=problem.status if problem else 200,
        page=content,
        event=content.event,
        view=view,
        menus=(
            links.menu("attribution_window", "Window", WINDOW_TITLES),
            links.menu("query_mode", "By", MODES),
        ),
        window_before=describe_window(view.attribution_window),
        problem=problem,
        figures=figures,
        measure=Measure.CREDITED_REVENUE,
        model_title=model_title,
        senders=SENDERS,
        statuses=STATUSES,
        skipped=SKIPPED,
        platforms=PLATFORMS,
        source_title=format_title,
        title=conversion_title(inside.space, content.event.event_name),
        page_tab=ORDERS if content.event.event_name in SALES_EVENTS else ALL_EVENTS,
    )


def _read_view(query: Query) -> ReportView:
    """Read the window, and whose touchpoints count. Raise Invalid with every error."""
    window, mode = WINDOW.read(query), QUERY_MODE.read(query)
    query.finish()
    return ReportView(attribution_window=str(window or 0), query_mode=mode or "profile")


async def load_event(
    connection: AsyncConnection, space: Space, event_id: int, view: ReportView
) -> EventContent:
    """Load one snapshot. Needs a new transaction. Raise NotFound."""
    window_days = int(view.attribution_window)
    explanation = await explain_event(connection, space.id, event_id, window_days, by_company=view.by_company)
    values = {"space_id": space.id, "event_id": event_id}
    event = await fetch_one(make_cursor(connection, EventDetails), queries["event"], values)
    owner = _OF_COMPANY if view.by_company and event.company_id is not None else _OF_CONTACT
    surroundings = await fetch_one(
        make_cursor(connection, Surroundings), queries["surroundings"].format(owner=owner), values
    )
    path = build_path(explanation, exclusions_in(space))
    columns = build_columns(explanation, window_title(view.attribution_window))
    deliveries = await _deliveries(connection, space.id, event_id)
    if not view.by_company:
        _add_credit_now(deliveries, [touch.id for touch in path], columns, event.amount, window_days)
    return EventContent(
        event,
        await sum_refunds(connection, space.id, event_id),
        await fetch_receipt(connection, space.id, event_id),
        explanation,
        path,
        columns,
        explain_origin(explanation, path, surroundings, view, space.sources),
        deliveries,
    )


def _add_credit_now(
    deliveries: list[dict[str, Any]],
    touches: list[int],
    columns: list[ModelColumn],
    amount: Decimal | None,
    window_days: int,
) -> None:
    """Add the credit that the model gives today, in percent, to credit that was sent for the same window."""
    by_model = {column.model: column for column in columns}
    for delivery in deliveries:
        sent_credit, touch = delivery["credit"], delivery["touchpoint_id"]
        if (
            sent_credit is None
            or sent_credit["window_days"] != window_days
            or touch not in touches
            or not amount
        ):
            continue
        credit = by_model[sent_credit["model"]].cells[touches.index(touch)].amount or Decimal(0)
        delivery["credit_now"] = credit / amount * 100


async def _deliveries(connection: AsyncConnection, space_id: int, event_id: int) -> list[dict[str, Any]]:
    lines = await list_event_deliveries(connection, space_id, event_id)
    deliveries = [json.loads(line) for line in lines]
    values = {"space_id": space_id, "ids": [delivery["destination_id"] for delivery in deliveries]}
    cursor = connection.cursor(row_factory=dict_row)
    destinations = await fetch_all(cursor, queries["destinations"], values) if deliveries else []
    by_id = {row["id"]: row for row in destinations}
    for delivery in deliveries:
        delivery["destination"] = by_id[delivery["destination_id"]]
    return deliveries


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/events/{{event_id}}", show_event, methods=["GET"])]
