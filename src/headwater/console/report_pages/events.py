"""The events behind a figure, each with the part that counts and the
touchpoints that it is credited to. The totals above the list are the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.services import services
from headwater.console.pages import render
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import (
    ChoiceLinks,
    Filter,
    conversion_title,
    model_title,
    read_bar,
    window_title,
)
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.saved_views import list_views
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.http.errors import Invalid
from headwater.http.pagination import Cursors, Position
from headwater.http.parameters import Query
from headwater.reports.credit_answer import credits_csv
from headwater.reports.credit_models import CreditFilter, CreditsPage
from headwater.reports.credit_parameters import credit_cursors, read_credits_query
from headwater.reports.credit_report import query_credits
from headwater.reports.errors import ReportTooLarge
from headwater.reports.models import Measure, NoCredit
from headwater.reports.report_reader import CONNECTION_SECONDS
from headwater.reports.validation import MOST_ROWS
from headwater.sources.titles import title_of
from headwater.spaces.models import Space

CREDITS = {
    CreditFilter.ALL: "all events",
    CreditFilter.CREDITED: "credited events",
    CreditFilter.UNATTRIBUTED: "unattributed events",
    CreditFilter.NO_TOUCH: "without any touchpoint",
    CreditFilter.OUTSIDE_WINDOW: "touchpoints only before the window",
    CreditFilter.NOT_COUNTED: "touchpoints that the model does not count",
    CreditFilter.TOUCHED: "touched events",
}
REASONS = {
    NoCredit.NO_TOUCH: "no touchpoint before it",
    NoCredit.OUTSIDE_WINDOW: "touchpoints only before the window",
    NoCredit.NOT_COUNTED: "only touchpoints that the model does not count",
}
PER_PAGE = 50
_AMOUNTS = {"amount_min": "at least", "amount_max": "at most"}


@dataclass(frozen=True)
class ListChoices:
    """The choices that only this page has, as the address has them."""

    credit: str = ""
    amount_min: str = ""
    amount_max: str = ""

    @classmethod
    def read(cls, query: Query) -> ListChoices:
        """Return the choices; `read_credits_query` finds those that are wrong."""
        names = ("credit", *_AMOUNTS)
        return cls(*(str(query.single(name) or "") for name in names))

    @property
    def pairs(self) -> dict[str, str]:
        """Those that were made."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class EventList:
    """One page of the list, and the addresses of its neighbours."""

    page: CreditsPage
    newer: str | None
    older: str | None

    @property
    def splits(self) -> bool:
        """True when only a part of the events counts."""
        return self.page.totals.credited_events != self.page.totals.events


class EventLister:
    """Reads the list that an address asks for."""

    def __init__(
        self, space: Space, view: ReportView, choices: ListChoices, cursor: str, key: bytes
    ) -> None:
        self._space, self._view, self._choices = space, view, choices
        self._cursor, self._key = cursor, key

    async def load(self, connection: AsyncConnection, path: str) -> EventList:
        """Return a page of the list. Raises Invalid and ReportTooLarge."""
        values = {**self._choices.pairs, "per_page": str(PER_PAGE), "cursor": self._cursor}
        query = self._view.input(compare="", **values)
        cursors = credit_cursors(query, self._key, self._space.id)
        credits_query = read_credits_query(query, self._space, cursors, datetime.now(UTC))
        page = await query_credits(connection, self._space.id, credits_query)
        return EventList(
            page, self._link(path, cursors, page.previous), self._link(path, cursors, page.next)
        )

    def _link(self, path: str, cursors: Cursors, position: Position | None) -> str | None:
        if position is None:
            return None
        return self._view.link(path, **self._choices.pairs, cursor=cursors.write(position))


async def show_events(request: Request) -> Response:
    """The events behind a figure."""
    visitor = await require_visitor(request)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        views = await list_views(connection, inside)
    query, path = Query(request.scope["query_string"]), request.url.path
    view, choices = ReportView.read(query), ListChoices.read(query)
    cursor = str(query.single("cursor") or "")
    lister = EventLister(inside.space, view, choices, cursor, shared.signing_key)
    listed = problem = None
    try:
        async with shared.database.transaction(CONNECTION_SECONDS) as connection:
            listed = await lister.load(connection, path)
    except (Invalid, ReportTooLarge) as error:
        problem = error
    base = f"{HOME}/spaces/{inside.space.id}"
    links = ChoiceLinks(view, path, choices.pairs)
    return render(
        request, "events.html", status=problem.status if problem else 200,
        bar=read_bar(
            inside.space, view, path, without=frozenset({"compare"}), also=choices.pairs,
            filters=_amount_filters(view, choices.pairs, path),
        ),
        menu=links.own_menu("credit", "Show", CREDITS, choices.credit or _listed(listed), ""),
        view=view, views=views, problem=problem, listed=listed, base=base, figures=figures,
        Measure=Measure, reasons=REASONS, source_title=title_of,
        model=model_title(view.attribution_model).lower(),
        window=window_title(view.attribution_window),
        event_title=partial(conversion_title, inside.space),
        csv=view.link(f"{base}/events.csv", **choices.pairs), zone=inside.space.timezone,
    )  # fmt: skip


def _listed(listed: EventList | None) -> CreditFilter:
    """Return what is listed where the address does not say."""
    return listed.page.credit if listed else CreditFilter.ALL


def _amount_filters(view: ReportView, pairs: Mapping[str, str], path: str) -> tuple[Filter, ...]:
    return tuple(
        Filter(
            f"amount {words} {pairs[name]}",
            view.link(path, **{key: value for key, value in pairs.items() if key != name}),
        )
        for name, words in _AMOUNTS.items()
        if name in pairs
    )


async def send_events_csv(request: Request) -> Response:
    """The first events of the list as CSV, as `GET /reports/credits` has them."""
    visitor = await require_visitor(request)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor)
    sent = Query(request.scope["query_string"])
    view, choices = ReportView.read(sent), ListChoices.read(sent)
    query = view.input(compare="", **choices.pairs, per_page=str(MOST_ROWS))
    cursors = credit_cursors(query, shared.signing_key, inside.space.id)
    credits_query = read_credits_query(query, inside.space, cursors, datetime.now(UTC))
    async with shared.database.transaction(CONNECTION_SECONDS) as connection:
        page = await query_credits(connection, inside.space.id, credits_query)
    return csv_response("events", page.span, credits_csv(page))


_PATH = f"{HOME}/spaces/{{space_id}}/events"
ROUTES = [
    Route(_PATH, show_events, methods=["GET"]),
    Route(f"{_PATH}.csv", send_events_csv, methods=["GET"]),
]
