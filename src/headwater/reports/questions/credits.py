"""`GET /reports/credits`: the events behind a report's figure, with the credit of their touches. The report
engine gives totals and page; only the page's events are read one by one.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import partial
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct
from psycopg import AsyncConnection

from headwater.attribution.trained_models.choice import TRAINED_MODEL, ChosenModel, cite
from headwater.events.filters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.answers import DataPage, Moment
from headwater.http.inputs.fields import one_of, written
from headwater.http.inputs.instants import written_in_utc
from headwater.http.inputs.pagination import (
    CURSOR,
    Cursors,
    Page,
    PageLink,
    Position,
    answer_page,
    make_page,
    page_size,
)
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.http.inputs.timerange import months_after
from headwater.people.contacts import filters
from headwater.reports.engine.acquisition import Acquisition, load_acquired
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.passes import PlanLoader, load_left_out, path_reader
from headwater.reports.engine.report_reader import open_reader, run_in_thread
from headwater.reports.engine.result import PeriodSums
from headwater.reports.hints import Hints
from headwater.reports.query import (
    ALL_ROWS,
    MOST_ROWS,
    TOUCH_GROUPS,
    DateBasis,
    DateTimeSpan,
    Filters,
    KeyCondition,
    Measure,
    ReportQuery,
    common_rules,
    refuse_broken_rules,
    single_model_rules,
)
from headwater.reports.questions.cohorts import UNATTRIBUTED
from headwater.reports.questions.credit_rows import (
    CreditFilter,
    CreditRowReader,
    CreditTotals,
    EventCredit,
    ListedEvents,
    ListRequest,
    SharesByEvent,
    TouchCredit,
    compute_totals,
    list_batch,
)
from headwater.reports.questions.shared import (
    CAMPAIGN,
    DATE_BASIS,
    DEFAULT_MODEL,
    MODEL,
    MOST_CONDITIONS,
    ONLY,
    PERIOD,
    SOURCES_FILTER,
    TIME,
    WINDOW,
    Citation,
    ReportDates,
    UncountedMoney,
    describe_left_out,
    format_span,
    number,
    only_parameter,
    read_filters,
    read_span,
    refuse_unknown_keys,
    rounded_number,
    write_csv,
)
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space


def _month(text: str) -> date:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}", text):
        raise ValueError("must be a month: 2026-05.")
    try:
        month = date(int(text[:4]), int(text[5:]), 1)
        months_after(month, 1)  # fails for the calendar's last month
    except ValueError:
        raise ValueError("must be a month that exists.") from None
    return month


def _acquired_by(text: str) -> KeyCondition | str:
    return UNATTRIBUTED if text == UNATTRIBUTED else _TOUCHES.kind.read(text)


_TOUCHES = only_parameter(TOUCH_GROUPS, "")
ACQUIRED = Parameter(
    name="acquired",
    kind=written({"type": "string", "pattern": "^$|^[0-9]{4}-[0-9]{2}$"}, _month),
    description="Only events of customers whose first order was in this month: 2026-05.",
)
ACQUIRED_BY = ListParameter(
    name="acquired_by",
    kind=written(
        {"type": "string", "pattern": f"^({UNATTRIBUTED}$|({'|'.join(map(str, TOUCH_GROUPS))}):)"},
        _acquired_by,
    ),
    max_values=MOST_CONDITIONS,
    description=(
        "With `acquired`, only customers whose first order is credited to one of these keys: "
        f"source:google_ads, …; {UNATTRIBUTED} for orders without credit."
    ),
)


def read_acquisition(query: Input, sources: SourceNames) -> Acquisition | None:
    """Return None for any customer."""
    month, by = ACQUIRED.read(query), ACQUIRED_BY.read(query)
    conditions = tuple(column for column in by if isinstance(column, KeyCondition))
    refuse_unknown_keys(query, ACQUIRED_BY.name, conditions, sources)
    if by and month is None:
        query.refuse(ACQUIRED_BY.name, f"needs {ACQUIRED.name}.")
    if conditions and len(conditions) < len(by):
        query.refuse(ACQUIRED_BY.name, f"must not combine {UNATTRIBUTED} with other keys.")
    return None if month is None else Acquisition(month, conditions, bool(by) and not conditions)


MEASURES = (Measure.EVENTS, Measure.REVENUE, Measure.CREDITED_EVENTS, Measure.CREDITED_REVENUE)


@dataclass(frozen=True)
class CreditsQuery:
    """One page of the events behind a figure. `query_credits` checks the rules."""

    figure: ReportQuery
    """The report of the figure, with one model."""
    acquired: Acquisition | None = None
    """Only customers of this cohort."""
    credit: CreditFilter | None = None
    """By default, credited events if only some touches count, else all."""
    per_page: int = 200
    at: Position | None = None
    """A Unix second and an event id; None for the first page."""

    @property
    def listed(self) -> CreditFilter:
        is_of_some_touches = self.figure.of_some_touches
        return self.credit or (CreditFilter.CREDITED if is_of_some_touches else CreditFilter.ALL)

    @property
    def report(self) -> ReportQuery:
        """The report of the list's totals."""
        is_touched = self.credit is CreditFilter.TOUCHED
        extra_measures = (Measure.TOUCHED_EVENTS, Measure.TOUCHED_REVENUE) if is_touched else ()
        return replace(self.figure, measures=(*MEASURES, *extra_measures))

    @property
    def filters(self) -> Filters:
        return self.figure.filters

    @property
    def model(self) -> str:
        return self.figure.models[0]


class CreditList(Struct, frozen=True):
    """One page of a list, newest event first, and the totals of all pages."""

    rows: tuple[EventCredit, ...]
    totals: CreditTotals
    credit: CreditFilter
    next: Position | None
    previous: Position | None
    span: DateTimeSpan
    timezone: str
    currency: str
    trained_model: ChosenModel | None = None
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """On all pages."""


def check_credits(query: CreditsQuery) -> None:
    """Raise Invalid with every broken rule."""
    credit, figure = query.listed, query.figure
    refuse_broken_rules(
        [
            *common_rules(figure),
            *single_model_rules(figure),
            (
                "credit",
                not (figure.of_some_touches and credit.reasons),
                "must be all, credited or touched if only some touchpoints count.",
            ),
            (
                "credit",
                not figure.of_touch_dates or credit is not CreditFilter.ALL,
                "must be credited or touched if date_basis is touch.",
            ),
            ("per_page", 1 <= query.per_page <= MOST_ROWS, f"must be from 1 to {MOST_ROWS}."),
        ]
    )


CREDIT = Parameter(
    name="credit",
    kind=one_of([str(credit) for credit in CreditFilter]),
    description=(
        "Only events with counted credit, without credit (by reason), or with a touchpoint in "
        "the window. Default: credited if only some touchpoints count, else all."
    ),
)
PER_PAGE = page_size(MOST_ROWS)
SELECTION = (
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    SOURCES_FILTER,
    CAMPAIGN,
    ONLY,
    AMOUNT_MIN,
    AMOUNT_MAX,
    DATE_BASIS,
    ACQUIRED,
    ACQUIRED_BY,
    CREDIT,
    TRAINED_MODEL,
)
PARAMETERS = (*SELECTION, PER_PAGE, CURSOR)


def credit_cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    values = [sorted(query.texts(parameter.name)) for parameter in SELECTION]
    conditions = query.objects(filters.PARAMETER)
    selection = [values, list(conditions.values())]
    return Cursors(signing_key, space_id, "/reports/credits", selection)


def read_credits_query(query: Input, space: Space, cursors: Cursors, current_time: datetime) -> CreditsQuery:
    """Raise Invalid with every broken rule."""
    span, credit = read_span(query, space, current_time), CREDIT.read(query)
    figure = ReportQuery(
        start=span.start,
        end=span.end,
        measures=MEASURES,
        models=(MODEL.read(query) or DEFAULT_MODEL,),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=read_filters(query, space, current_time),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        trained_model=TRAINED_MODEL.read(query),
    )
    credits_query = CreditsQuery(
        figure,
        acquired=read_acquisition(query, space.sources),
        credit=None if credit is None else CreditFilter(credit),
        per_page=PER_PAGE.read(query) or 0,
        at=cursors.read_from(query),
    )
    query.finish()
    return credits_query


class CreditedTouch(Struct, frozen=True):
    """A touchpoint before an event, and its credit."""

    event_time_utc: Moment
    source: str
    channel: str
    campaign_id: str | None
    campaign_name: str | None
    adset_id: str | None
    adset_name: str | None
    ad_id: str | None
    ad_name: str | None
    keyword: str | None
    landing_page: str | None
    credited_events: float
    credited_revenue: float


class CreditedEvent(Struct, frozen=True):
    """An event, and the credit of its touchpoints."""

    event_id: int
    event_time_utc: Moment
    event_name: str
    configured_name: str
    contact_id: int
    contact_name: Annotated[str | None, Meta(description="The name, if known.")]
    company_id: int | None
    company_name: str | None
    order_id: str | None
    amount: float | None
    credited_events: Annotated[float, Meta(description="The credited part of the event.")]
    credited_revenue: Annotated[float, Meta(description="The credited part of its amount.")]
    unattributed_reason: Literal["no_touch", "outside_window", "not_counted"] | None
    original_amount: Annotated[float | None, Meta(description="The reported amount.")]
    original_currency: Annotated[str, Meta(description="The reported currency.")]
    touches: Annotated[
        list[CreditedTouch], Meta(description="Touchpoints whose credit counts; of many, both ends.")
    ]
    left_out: Annotated[int, Meta(description="Touchpoints not listed.")]


class CreditSums(Struct, frozen=True):
    """The sums of a list of events."""

    events: int
    amount: float
    credited_events: float
    credited_revenue: float


class CreditPage(DataPage[CreditedEvent], frozen=True):
    """One page of events, and the totals of all of them."""

    totals: Annotated[CreditSums, Meta(description="Over all pages.")]
    credit: Annotated[str, Meta(extra_json_schema={"enum": [str(credit) for credit in CreditFilter]})]
    period: ReportDates
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    attribution_model: str
    attribution_window: int
    query_mode: str
    date_basis: str
    trained_model: Citation
    hints: Hints = UNSET


def answer_credits(query: CreditsQuery, page: CreditList, link: PageLink, hints: Hints) -> CreditPage:
    totals = page.totals
    lines = [msgspec.json.encode(_credited_event(row)).decode() for row in page.rows]
    return answer_page(
        CreditPage,
        Page(lines, page.next, page.previous),
        query.per_page,
        link,
        totals=CreditSums(
            totals.events,
            rounded_number(totals.amount),
            rounded_number(totals.credited_events),
            rounded_number(totals.credited_revenue),
        ),
        credit=str(page.credit),
        period=format_span(page.span),
        timezone=page.timezone,
        currency=page.currency,
        left_out_money=describe_left_out(page.left_out_money),
        attribution_model=query.model,
        attribution_window=query.figure.window_days,
        query_mode="company" if query.figure.by_company else "profile",
        date_basis=str(query.figure.date_basis),
        trained_model=page.trained_model and cite(page.trained_model),
        hints=hints,
    )


def credits_csv(page: CreditList) -> bytes:
    """Write an event's sources in one column."""
    columns = CreditedEvent.__struct_fields__[:-1]
    rows = ([getattr(event, name) for name in columns[:-1]] for event in map(_credited_event, page.rows))
    paths = (" > ".join(touch.source for touch in row.touches) for row in page.rows)
    return write_csv(columns, ([*row, path] for row, path in zip(rows, paths, strict=True)))


def _credited_event(row: EventCredit) -> CreditedEvent:
    return CreditedEvent(
        event_id=row.event_id,
        event_time_utc=written_in_utc(row.event_time),
        event_name=row.event_name,
        configured_name=row.configured_name,
        contact_id=row.contact_id,
        contact_name=row.contact_name,
        company_id=row.company_id,
        company_name=row.company_name,
        order_id=row.order_id,
        amount=number(row.amount),
        credited_events=rounded_number(row.credited_events),
        credited_revenue=rounded_number(row.credited_revenue),
        unattributed_reason=None if row.reason is None else row.reason.value,
        original_amount=number(row.original_amount),
        original_currency=row.original_currency,
        touches=[_credited_touch(touch) for touch in row.touches],
        left_out=row.left_out,
    )


def _credited_touch(touch: TouchCredit) -> CreditedTouch:
    return CreditedTouch(
        event_time_utc=written_in_utc(touch.occurred_at),
        source=touch.source,
        channel=touch.channel,
        credited_events=rounded_number(touch.credited_events),
        credited_revenue=rounded_number(touch.credited_revenue),
        **asdict(touch.tags),
    )


async def query_credits(connection: AsyncConnection, space_id: int, query: CreditsQuery) -> CreditList:
    """Return one page of the events behind a figure. Needs a fresh transaction available for
    CONNECTION_SECONDS.

    Raises Invalid for a broken rule, NotFound for an unknown Space, and ReportTooLarge after SECONDS.
    """
    check_credits(query)
    report = query.report
    async with open_reader(connection, space_id) as reader:
        acquired_keys = [await load_acquired(reader, report, query.acquired)] if query.acquired else ()
        (period_plan,) = await PlanLoader(reader, [report], acquired_keys).plans(report)
        request = ListRequest(query.listed, query.at, query.per_page + 1)
        work = partial(list_batch, period_plan.plan, request)
        paths_reader = path_reader(reader, [period_plan.plan])
        batches = [batch async for batch in reader.batches(paths_reader, period_plan.days, work)]
        sums = await run_in_thread(
            PeriodSums.join, report, period_plan.period, [batch.sums for batch in batches]
        )
        events = ListedEvents.join([batch.events for batch in batches])
        page = _page(query, events.nearest(request.at, request.limit))
        event_ids = np.array([int(line) for line in page.lines], dtype=np.int64)
        await reader.bound_time()
        paths = await reader.in_one_currency(await paths_reader.read_live(event_ids))
        paths = period_plan.plan.scope.kinds.without_other_amounts(paths)
        shares = await run_in_thread(SharesByEvent, period_plan.plan, paths, query.listed)
        rows = await CreditRowReader(reader, shares).rows()
        return CreditList(
            rows=tuple(rows[event_id] for event_id in event_ids.tolist()),
            totals=compute_totals(sums, query.model, query.listed),
            credit=query.listed,
            next=page.next,
            previous=page.previous,
            span=report.span,
            timezone=reader.space.timezone,
            currency=reader.currency,
            trained_model=period_plan.plan.scope.trained_model,
            left_out_money=await load_left_out(reader, period_plan),
        )


async def load_credited_events(connection: AsyncConnection, space_id: int, query: ReportQuery) -> list[int]:
    """Return the ids of all events in a report's total. See `query_credits` for conditions and errors."""
    async with open_reader(connection, space_id, query.currency) as reader:
        (period_plan,) = await PlanLoader(reader, [query]).plans(query)
        work = partial(list_batch, period_plan.plan, ListRequest(CreditFilter.CREDITED, None, ALL_ROWS))
        paths_reader = path_reader(reader, [period_plan.plan])
        batches = [batch async for batch in reader.batches(paths_reader, period_plan.days, work)]
        return ListedEvents.join([batch.events for batch in batches]).event_ids.tolist()


def _page(query: CreditsQuery, events: ListedEvents) -> Page:
    ids: list[int] = events.event_ids.tolist()
    rows = [
        (str(event_id), second, event_id)
        for second, event_id in zip(events.seconds.tolist(), ids, strict=True)
    ]
    return make_page(rows, query.per_page, query.at, tuple)
