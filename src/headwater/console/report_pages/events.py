"""Orders or all events: those behind a figure, with the counted part and credited touchpoints. The totals
equal the figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.navigation import ALL_EVENTS, ORDERS
from headwater.console.report_pages.bar import (
    ChoiceLinks,
    Filter,
    conversion_title,
    filter_text,
    model_title,
    read_bar,
)
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.endpoints.services import services
from headwater.http.inputs.pagination import Position
from headwater.http.inputs.parameters import Query
from headwater.people.contacts.lookup import fetch_addresses
from headwater.reports.query import MOST_ROWS, DateBasis, Measure
from headwater.reports.questions.credit_rows import CreditFilter, EventCredit
from headwater.reports.questions.credits import (
    CreditList,
    CreditsQuery,
    credit_cursors,
    credits_csv,
    query_credits,
    read_credits_query,
)
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

CREDITS = {
    CreditFilter.ALL: "all events",
    CreditFilter.CREDITED: "credited events",
    CreditFilter.UNATTRIBUTED: "unattributed events",
    CreditFilter.NO_TOUCH: "no visit seen before",
    CreditFilter.OUTSIDE_WINDOW: "last visit before the window",
    CreditFilter.NOT_COUNTED: "only visits that the model ignores",
    CreditFilter.TOUCHED: "touched events",
}
_OF_TOUCH_DATES = (CreditFilter.CREDITED, CreditFilter.TOUCHED)
"""The choices if the dates of visits decide the period, which other events lack."""
PER_PAGE = 50
_AMOUNTS = {"amount_min": "at least", "amount_max": "at most"}


@dataclass(frozen=True)
class ListChoices:
    credit: str = ""
    amount_min: str = ""
    amount_max: str = ""
    acquired: str = ""
    acquired_by: tuple[str, ...] = ()

    @classmethod
    def read(cls, query: Query, view: ReportView) -> ListChoices:
        """Read choices that `read_credits_query` validates."""
        names = ("credit", *_AMOUNTS, "acquired")
        values = {name: str(query.single(name) or "") for name in names}
        if values["credit"] in {*CREDITS} - {*_list_credit_filters(view)}:
            values["credit"] = ""
        return cls(**values, acquired_by=tuple(query.several("acquired_by")))

    @property
    def pairs(self) -> dict[str, str | list[str]]:
        values = {name: value for name, value in vars(self).items() if value}
        return {name: value if isinstance(value, str) else [*value] for name, value in values.items()}


class EventList(Struct, frozen=True):
    page: CreditList
    addresses: Mapping[int, str]
    """E-mail addresses of contacts without a name."""
    newer: str | None
    older: str | None

    @property
    def splits(self) -> bool:
        return self.page.totals.credited_events != self.page.totals.events


class EventLister:
    def __init__(self, page: ReportPage, choices: ListChoices, **paging: str) -> None:
        """Prepare a list; `paging` has the API's page parameters."""
        self._page, self._choices = page, choices
        query = page.view.input(compare="", **choices.pairs, **paging)
        key = services(page.request).signing_key
        self._query, self._cursors = query, credit_cursors(query, key, page.space.id)

    async def read(self, connection: AsyncConnection) -> EventList:
        """Load the content. Raise Invalid and ReportTooLarge."""
        space_id = self._page.space.id
        page = await query_credits(connection, space_id, self._read_query(datetime.now(UTC)))
        nameless = {row.contact_id for row in page.rows if row.contact_name is None}
        addresses = await fetch_addresses(connection, space_id, nameless)
        return EventList(page, addresses, self.link(page.previous), self.link(page.next))

    async def read_latest(self, connection: AsyncConnection) -> Sequence[EventCredit]:
        """Load the first page's rows, from the last day if it has enough: totals need the whole period. Raise
        Invalid and ReportTooLarge.
        """
        space, current_time = self._page.space, datetime.now(UTC)
        query = self._read_query(current_time)
        for listed_query in (_narrow_to_last_day(query, space, current_time), query):
            rows = (await query_credits(connection, space.id, listed_query)).rows
            if len(rows) == query.per_page or listed_query == query:
                break
        return rows

    def _read_query(self, current_time: datetime) -> CreditsQuery:
        return read_credits_query(self._query, self._page.space, self._cursors, current_time)

    def link(self, position: Position | None) -> str | None:
        if position is None:
            return None
        cursor = self._cursors.write(position)
        return self._page.view.link(self._page.path, **self._choices.pairs, cursor=cursor)


def _narrow_to_last_day(query: CreditsQuery, space: Space, current_time: datetime) -> CreditsQuery:
    """Return the query of the last 24 hours until now. A query by touch date stays as it is: its newest
    events may have earlier touchpoints.
    """
    figure = query.figure
    if figure.of_touch_dates:
        return query
    end = min(figure.end, current_time.astimezone(space.zone).replace(tzinfo=None))
    return replace(query, figure=replace(figure, start=max(figure.start, end - timedelta(days=1))))


async def show_events(request: Request) -> Response:
    page = await open_page(request)
    view, path, choices = page.view, page.path, ListChoices.read(page.query, page.view)
    cursor = str(page.query.single("cursor") or "")
    lister = EventLister(page, choices, per_page=str(PER_PAGE), cursor=cursor)
    events, problem = await page.try_load(lister.read)
    links = ChoiceLinks(view, path, choices.pairs)
    return page.render(
        "events.html",
        read_bar(
            page.space,
            view,
            path,
            absent_choices=frozenset({"compare"}),
            page_choices=choices.pairs,
            filters=_own_filters(page, choices.pairs),
        ),
        problem,
        listed=events,
        Measure=Measure,
        source_title=format_title,
        menu=links.own_menu(
            "credit", "Show", _list_credit_filters(view), choices.credit or _default_filter(events), ""
        ),
        model=model_title(view.attribution_model).lower(),
        event_title=partial(conversion_title, page.space),
        csv=view.link(f"{page.base}/events.csv", **choices.pairs),
        in_file=MOST_ROWS,
        zone=page.space.timezone,
        page_tab=ORDERS if view.is_monetary else ALL_EVENTS,
    )


def _list_credit_filters(view: ReportView) -> dict[CreditFilter, str]:
    is_of_touch_dates = view.date_basis == DateBasis.TOUCH
    return {name: text for name, text in CREDITS.items() if not is_of_touch_dates or name in _OF_TOUCH_DATES}


def _default_filter(events: EventList | None) -> CreditFilter:
    return events.page.credit if events else CreditFilter.ALL


def _own_filters(page: ReportPage, pairs: Mapping[str, str | Sequence[str]]) -> tuple[Filter, ...]:
    """Return amount filters, customers' cohort filter."""

    def drop_choices(*names: str) -> str:
        remaining_pairs = {name: value for name, value in pairs.items() if name not in names}
        return page.view.link(page.path, **remaining_pairs)

    filters = [
        Filter(f"amount {words} {pairs[name]}", drop_choices(name))
        for name, words in _AMOUNTS.items()
        if name in pairs
    ]
    if "acquired" in pairs:
        all_pairs = drop_choices("acquired", "acquired_by")
        filters.append(Filter(f"first order in {pairs['acquired']}", all_pairs))
    if by := pairs.get("acquired_by"):
        texts = [by] if isinstance(by, str) else by
        filter_words = " or ".join(
            text if ":" not in text else filter_text(page.space, *text.split(":", 1)) for text in texts
        )
        filters.append(Filter(f"first order by {filter_words}", drop_choices("acquired_by")))
    return tuple(filters)


async def send_events_csv(request: Request) -> Response:
    """Send the first events, like `GET /reports/credits`."""
    page = await open_page(request)
    lister = EventLister(page, ListChoices.read(page.query, page.view), per_page=str(MOST_ROWS))
    events = await page.load(lister.read)
    return csv_response("events", events.page.span, credits_csv(events.page))


_PATH = f"{HOME}/spaces/{{space_id}}/events"
ROUTES = [Route(_PATH, show_events, methods=["GET"]), Route(f"{_PATH}.csv", send_events_csv, methods=["GET"])]
