"""Reports: rows, totals, comparisons, limits, filters and refusals."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from headwater.http.errors import Invalid, NotFound
from headwater.reports.engine import report_reader
from headwater.reports.engine.measures import MeasureChange
from headwater.reports.engine.report import GroupKey
from headwater.reports.engine.time_buckets import cut
from headwater.reports.query import Comparison, DateTimeSpan, FigureColumn, Filters, ReportTooLarge
from tests.reports.asking import Group, Measure, ask, figures_by_key
from tests.support.factories import NOON, Stage, make_stage

EVERY = (
    Measure.EVENTS, Measure.REVENUE, Measure.CREDITED_EVENTS, Measure.CREDITED_REVENUE,
    Measure.CONTACTS, Measure.AVERAGE_ORDER_VALUE,
)  # fmt: skip
_EVENTS, _REVENUE = FigureColumn(Measure.EVENTS), FigureColumn(Measure.REVENUE)
_CREDIT = FigureColumn(Measure.CREDITED_REVENUE)


def local_time(day: int, hour: int = 0, month: int = 5, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour)  # noqa: DTZ001


def test_it_works(database_url: str, stage: Stage) -> None:
    contact_id, other_id = stage.contact(), stage.contact()
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=2))
    stage.touchpoint(contact_id, "email", occurred_at=NOON - timedelta(days=1))
    stage.touchpoint(contact_id, "google_ads")
    stage.event(contact_id, amount=Decimal(100))
    stage.event(other_id, amount=Decimal("20.5"))
    report = ask(database_url, stage.space_id, measures=EVERY, group_by=(Group.SOURCE,), models=("linear",))
    assert figures_by_key(report) == {
        "google_ads": figures(1, 100, Fraction(2, 3), "66.67", 1, 100),
        "email": figures(1, 100, Fraction(1, 3), "33.33", 1, 100),
    }
    assert report.left_out == 0
    assert report.total.figures == figures(2, "120.5", 1, 100, 2, "60.25")
    assert report.unattributed is not None
    assert report.unattributed.row.figures == figures(1, "20.5", 1, "20.5", 1, "20.5")
    assert (report.timezone, report.currency) == ("UTC", "USD")


def figures(
    events: int, revenue: object, credited: object, credit: object, contacts: int, average: object
) -> dict[FigureColumn, object]:
    money = [None if value is None else Decimal(str(value)) for value in (revenue, credit, average)]
    columns = map(FigureColumn, EVERY)
    values = (events, money[0], credited, money[1], contacts, money[2])
    return dict(zip(columns, values, strict=True))


def test_an_empty_space_has_no_rows(database_url: str, stage: Stage) -> None:
    for groups in ((), (Group.SOURCE,), (Group.DAY, Group.COMPANY)):
        report = ask(database_url, stage.space_id, measures=EVERY, group_by=groups)
        assert report.rows == ()
        assert report.total.figures == figures(0, 0, 0, 0, 0, None)
        assert report.unattributed is not None
        assert report.unattributed.row.figures == figures(0, 0, 0, 0, 0, None)


def test_without_credit_nothing_is_unattributed(database_url: str, stage: Stage) -> None:
    stage.event(stage.contact(), amount=Decimal(5))
    report = ask(database_url, stage.space_id, measures=(Measure.REVENUE,), group_by=(Group.EVENT,))
    assert report.unattributed is None
    assert figures_by_key(report) == {"purchase": {_REVENUE: Decimal(5)}}


def test_amounts_that_are_odd(database_url: str, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON - timedelta(hours=1))
    stage.touchpoint(contact_id, "direct")
    for amount in ("-89.5", "0.001", "99999999999.9999", "99999999999999.9999", None):
        stage.event(contact_id, amount=None if amount is None else Decimal(amount))
    report = ask(database_url, stage.space_id, measures=EVERY, group_by=(Group.SOURCE,), models=("linear",))
    revenue = Decimal("99999999910.5009")
    average = Decimal("25000000000.0002")  # the two orders within the bound, over four orders
    assert report.total.figures == figures(5, revenue, 5, revenue, 1, average)
    rows = figures_by_key(report).values()
    assert sum(row[_CREDIT] for row in rows) == revenue  # type: ignore[misc]


def test_the_limit_tells_what_is_left_out(database_url: str, stage: Stage) -> None:
    for day in range(1, 6):
        event_time = datetime(2026, 5, day, 12, tzinfo=UTC)
        stage.event(stage.contact(), amount=Decimal(day), event_time=event_time)
    query_fields = {"measures": (Measure.REVENUE,), "group_by": (Group.DAY,), "limit": 2}
    report = ask(database_url, stage.space_id, **query_fields)
    assert list(figures_by_key(report)) == ["2026-05-05", "2026-05-04"]
    assert report.left_out == 3
    assert report.total.figures == {_REVENUE: Decimal(15)}
    report = ask(database_url, stage.space_id, **query_fields, order_by=Group.DAY, descending=False)
    assert list(figures_by_key(report)) == ["2026-05-01", "2026-05-02"]


_SHARE = (Measure.REVENUE, Measure.SHARE)


@pytest.mark.parametrize(
    ("group", "order"),
    [
        (Group.SOURCE, Measure.EVENTS), (Group.EVENT, Measure.EVENTS), (Group.CONTACT, Measure.EVENTS),
        (Group.PATH, Measure.EVENTS), (Group.SOURCE, Measure.CONTACTS), (Group.SOURCE, Measure.SHARE),
        (Group.SOURCE, Measure.AVERAGE_ORDER_VALUE), (Group.SOURCE, Group.SOURCE),
        (Group.EVENT, Group.EVENT), (Group.CONTACT, Group.CONTACT),
    ],
)  # fmt: skip
def test_the_first_of_many_groups_are_those_of_few(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch, group: Group, order: Measure | Group
) -> None:
    """Groups with the same figure are ordered by their key's text, which their numbers don't follow."""
    sales = [
        ("custom_event_2", "google_ads", 1), ("custom_event_10", "email", 1), ("purchase", "google_ads", 10),
        ("purchase", "email", 15), *[("purchase", "facebook_ads", 4)] * 3, ("purchase", "tiktok_ads", -3),
    ]  # fmt: skip
    contacts = {source: stage.contact() for _, source, _ in sales}
    for source, contact_id in contacts.items():
        stage.touchpoint(contact_id, source)
    for name, source, amount in sales:
        stage.event(contacts[source], event_name=name, amount=Decimal(amount))
    stage.event(stage.contact(), amount=Decimal(1))
    measures = _SHARE if order is Measure.SHARE else (order if isinstance(order, Measure) else _SHARE[0],)
    queries = [
        {
            "measures": measures, "group_by": (group,), "limit": limit, "order_by": order,
            "descending": descending, "models": ("last_touch",),
        }
        for limit, descending in ((1, True), (2, True), (2, False))
    ]  # fmt: skip
    of_few = [ask(database_url, stage.space_id, **query).rows for query in queries]
    monkeypatch.setattr("headwater.reports.engine.result._MAX_SORTED", 0)
    assert [ask(database_url, stage.space_id, **query).rows for query in queries] == of_few


def test_ads_are_called_what_the_catalogue_says(database_url: str, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.ad("campaign", "77", "Spring")
    stage.ad("ad", "9", "Red shoes")
    stage.touchpoint(contact_id, "google_ads", campaign_id="77", ad_id="9", keyword="shoes")
    stage.touchpoint(contact_id, "google_ads", campaign_name="Named")
    stage.event(contact_id, amount=Decimal(2))
    for group, expected in (
        (Group.CAMPAIGN, {GroupKey("77", "Spring"), GroupKey("Named", "Named")}),
        (Group.AD, {GroupKey("9", "Red shoes"), GroupKey(None, None)}),
        (Group.KEYWORD, {GroupKey("shoes", "shoes"), GroupKey(None, None)}),
        (Group.CHANNEL, {GroupKey("paid", "paid")}),
    ):
        report = ask(database_url, stage.space_id, group_by=(group,), models=("linear",))
        assert {row.keys[0] for row in report.rows} == expected


def test_labels_of_events_and_companies(database_url: str, stage: Stage) -> None:
    company_id = stage.company(name="Acme")
    stage.label_event("custom_event_1", "Demo")
    stage.event(stage.contact(country="DE"), event_name="custom_event_1", company_id=company_id)
    for group, key in (
        (Group.EVENT, GroupKey("custom_event_1", "Demo")),
        (Group.COMPANY, GroupKey(str(company_id), "Acme")),
        (Group.COUNTRY, GroupKey("DE", "DE")),
        (Group.WEEK, GroupKey("2026-05-11", "2026-W20")),
        (Group.MONTH, GroupKey("2026-05-01", "2026-05")),
    ):
        (row,) = ask(database_url, stage.space_id, group_by=(group,)).rows
        assert row.keys == (key,)


def test_filters_keep_touches_after_weighting(database_url: str, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "google_ads", campaign_name="Spring SALE")
    stage.touchpoint(contact_id, "email")
    stage.touchpoint(contact_id, "email")
    stage.event(contact_id, amount=Decimal(90))
    stage.event(stage.contact(), amount=Decimal(7))
    for filters, credit in (
        (Filters(sources=("email",)), Decimal(60)),
        (Filters(campaign="spring s"), Decimal(30)),
        (Filters(event_names=("sign_up",)), Decimal(0)),
    ):
        report = ask(
            database_url, stage.space_id, measures=EVERY, filters=filters, models=("linear",),
        )  # fmt: skip
        assert report.total.figures[_CREDIT] == credit
        assert report.total.figures[_REVENUE] == (90 if credit else 0)
        assert (report.unattributed is None) == bool(credit)


def test_the_period_before(database_url: str, stage: Stage) -> None:
    contact_id = stage.contact()
    for day, amount in ((3, 10), (10, 30), (11, 5)):
        event_time = datetime(2026, 5, day, 12, tzinfo=UTC)
        stage.event(contact_id, amount=Decimal(amount), event_time=event_time)
    report = ask(
        database_url, stage.space_id, start=local_time(8), end=local_time(15) - timedelta(seconds=1),
        measures=(Measure.REVENUE,), group_by=(Group.DAY,), compare=Comparison.PREVIOUS_PERIOD,
    )  # fmt: skip
    assert report.compared_span is not None
    assert report.compared_span.start == local_time(1)
    assert report.compared_span.end == local_time(8) - timedelta(seconds=1)
    first, second = report.rows
    assert first.keys[0].value == "2026-05-10"
    assert first.compared == {_REVENUE: Decimal(10)}
    assert first.changes == {_REVENUE: MeasureChange(Decimal(20), Decimal(2))}
    assert second.compared == {_REVENUE: Decimal(0)}
    assert second.changes == {_REVENUE: MeasureChange(Decimal(5), None)}
    assert report.total.changes == {_REVENUE: MeasureChange(Decimal(25), Decimal("2.5"))}


def test_a_leap_day_has_no_counterpart(database_url: str, stage: Stage) -> None:
    for year, month, day in ((2028, 2, 29), (2028, 3, 1), (2027, 3, 1)):
        event_time = datetime(year, month, day, 12, tzinfo=UTC)
        stage.event(stage.contact(), amount=Decimal(day), event_time=event_time)
    report = ask(
        database_url, stage.space_id, start=local_time(1, year=2028, month=2),
        end=local_time(31, year=2028, month=3), measures=(Measure.EVENTS,), group_by=(Group.DAY,),
        compare=Comparison.PREVIOUS_YEAR, order_by=Group.DAY, descending=False,
    )  # fmt: skip
    assert [row.compared for row in report.rows] == [None, {_EVENTS: 1}]


@pytest.mark.parametrize(
    ("start", "end", "compared_end"),
    [
        ("2029-02-01", "2029-02-28 23:59:59", "2028-02-29 23:59:59"),
        ("2028-03-01", "2029-02-28 23:59:59", "2028-02-29 23:59:59"),
        ("2028-02-01", "2028-02-29 23:59:59", "2027-02-28 23:59:59"),
        ("2029-02-01", "2029-02-28 12:00:00", "2028-02-28 12:00:00"),
        ("9999-12-01", "9999-12-31 23:59:59", "9998-12-31 23:59:59"),
    ],
)
def test_whole_months_are_compared_with_whole_months_a_year_earlier(
    database_url: str, stage: Stage, start: str, end: str, compared_end: str
) -> None:
    report = ask(
        database_url, stage.space_id, start=datetime.fromisoformat(start), end=datetime.fromisoformat(end),
        measures=(Measure.EVENTS,), compare=Comparison.PREVIOUS_YEAR,
    )  # fmt: skip
    assert report.compared_span is not None
    assert f"{report.compared_span.end}" == compared_end


@pytest.mark.parametrize(
    ("start", "end", "now", "compared_end"),
    [
        ("2026-05-01", "2026-05-31 23:59:59", "2026-05-31 14:05:00", "2026-04-30 23:59:59"),
        ("2026-03-01", "2026-03-31 23:59:59", "2026-03-29 14:05:00", "2026-02-28 23:59:59"),
        ("2026-03-01", "2026-03-31 23:59:59", "2026-03-28 14:05:00", "2026-02-28 14:05:00"),
        ("2026-01-01", "2026-01-31 23:59:59", "2026-01-31 14:05:00", "2025-12-31 14:05:00"),
    ],
)
def test_a_month_in_progress_is_compared_up_to_the_same_time(
    database_url: str, stage: Stage, start: str, end: str, now: str, compared_end: str
) -> None:
    """Or up to the end of a month without that day."""
    first, last, current_time = map(datetime.fromisoformat, (start, end, now))
    report = ask(
        database_url, stage.space_id, start=first, end=last, now=current_time,
        measures=(Measure.EVENTS,), compare=Comparison.PREVIOUS_PERIOD,
    )  # fmt: skip
    assert report.compared_span is not None
    assert f"{report.compared_span.end}" == compared_end


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("Europe/Berlin", (2026, 3, 29), 23), ("Europe/Berlin", (2026, 10, 25), 25),
     ("America/Havana", (2025, 11, 2), 25), ("Africa/Cairo", (2026, 4, 24), 23)],
)  # fmt: skip
def test_days_of_other_lengths(
    database_url: str, connection: psycopg.Connection, zone: str, day: tuple[int, int, int], hours: int
) -> None:
    stage = make_stage(connection, timezone=zone)
    noon = datetime(*day, 12, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    contact_id = stage.contact()
    for hour in range(-24, 25):
        stage.event(contact_id, event_time=noon + timedelta(hours=hour))
    start = datetime(*day) - timedelta(days=2)  # noqa: DTZ001
    report = ask(
        database_url, stage.space_id, start=start, end=start + timedelta(days=4),
        measures=(Measure.EVENTS,), group_by=(Group.DAY,),
    )  # fmt: skip
    assert figures_by_key(report)[f"{day[0]}-{day[1]:02}-{day[2]:02}"] == {_EVENTS: hours}


def test_a_day_that_did_not_exist(database_url: str, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, timezone="Pacific/Apia")
    midnight = datetime(2011, 12, 30, 10, tzinfo=UTC)  # the date skips from the 29th to the 31st
    for nudge in (-1, 0):
        stage.event(stage.contact(), event_time=midnight + timedelta(seconds=nudge))
    start, end = local_time(28, year=2011, month=12), local_time(31, 23, year=2011, month=12)
    report = ask(
        database_url, stage.space_id, start=start, end=end, measures=(Measure.EVENTS,), group_by=(Group.DAY,)
    )
    assert set(figures_by_key(report)) == {"2011-12-29", "2011-12-31"}
    buckets = cut(DateTimeSpan(start, end), Group.DAY, ZoneInfo("Pacific/Apia"))
    assert [day.day for day in buckets.days] == [28, 29, 31]


@pytest.mark.parametrize(
    ("field", "parameters"),
    [("end_date", {"end": local_time(1), "start": local_time(2)}), ("start_date", {"start": NOON}),
     ("measures", {"measures": ()}), ("measures", {"measures": (Measure.EVENTS,) * 2}),
     ("group_by", {"group_by": (Group.DAY, Group.EVENT, Group.COUNTRY)}),
     ("group_by", {"group_by": (Group.DAY, Group.DAY)}),
     ("group_by", {"group_by": (Group.DAY,), "start": local_time(1, year=1900)}),
     ("attribution_models", {"models": ("best",)}), ("attribution_window", {"window_days": 2}),
     ("limit", {"limit": 0}), ("limit", {"limit": 1001}), ("order_by", {"order_by": Group.DAY}),
     ("event_names", {"filters": Filters(event_names=("bought",))}),
     ("sources", {"filters": Filters(sources=("carrier_pigeon",))}),
     ("campaign", {"filters": Filters(campaign=" ")}),
     ("campaign", {"filters": Filters(campaign="a\0")}),
     ("compare", {"start": local_time(1, year=1), "compare": Comparison.PREVIOUS_YEAR})],
)  # fmt: skip
def test_bad_parameters_are_refused(
    database_url: str, stage: Stage, field: str, parameters: dict[str, object]
) -> None:
    with pytest.raises(Invalid) as caught:
        ask(database_url, stage.space_id, **parameters)
    assert list(caught.value.errors) == [field]


def test_no_such_space(database_url: str) -> None:
    with pytest.raises(NotFound):
        ask(database_url, 2**40)


def test_time_is_over_between_blocks(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in range(0, 200, 20):
        contact, moment = stage.contact(), NOON - timedelta(days=days)
        stage.touchpoint(contact, "email", occurred_at=moment - timedelta(hours=1))
        stage.event(contact, event_time=moment, amount=Decimal(1))
    span = {"start": local_time(1, year=2025), "end": local_time(31), "group_by": (Group.SOURCE,)}
    passed_seconds, blocks = 0.0, []
    real_run = report_reader.run_in_thread

    def run_slowly(work: Any, block: Any, batch: Any) -> Any:
        nonlocal passed_seconds
        passed_seconds += 2 * report_reader.SECONDS
        blocks.append(block)
        return real_run(work, block, batch)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_seconds)
    monkeypatch.setattr("headwater.attribution.paths.reader.MAX_LIVE_EVENTS", 1)
    monkeypatch.setattr(report_reader, "time", clock)
    monkeypatch.setattr(report_reader, "run_in_thread", run_slowly)
    with pytest.raises(ReportTooLarge):
        ask(database_url, stage.space_id, **span)
    assert len(blocks) == 1


def test_too_much_to_add_up(database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    contacts = [stage.contact() for _ in range(20)]
    for _ in range(400):
        stage.touchpoint(contacts[0], "email")
        stage.event(contacts[0], amount=Decimal(1))
    monkeypatch.setattr(report_reader, "SECONDS", 0.0)
    with pytest.raises(ReportTooLarge) as caught:
        ask(database_url, stage.space_id, group_by=(Group.SOURCE,), models=("linear",))
    assert caught.value.message == "This report takes too long. Narrow the range."
    assert caught.value.status == 422


@pytest.mark.parametrize(("seconds", "error"), [(0.0, ReportTooLarge), (19.0, psycopg.InternalError)])
def test_rows_with_a_cancellation_right_behind_them(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch, seconds: float,
    error: type[Exception],
) -> None:  # fmt: skip
    """psycopg reports a statement that times out just after its rows as an internal error, not as a
    cancellation.
    """

    async def read() -> None:
        async with (
            await psycopg.AsyncConnection.connect(database_url) as connection,
            report_reader.open_reader(connection, stage.space_id),
        ):
            raise psycopg.InternalError

    monkeypatch.setattr(report_reader, "SECONDS", seconds)
    with pytest.raises(error):
        asyncio.run(read())


def test_another_space_is_not_counted(
    database_url: str, connection: psycopg.Connection, stage: Stage
) -> None:
    foreign = make_stage(connection)
    foreign.event(foreign.contact(), amount=Decimal(9))
    for groups in ((), (Group.SOURCE,), (Group.COUNTRY,)):
        report = ask(database_url, stage.space_id, measures=EVERY, group_by=groups)
        assert report.total.figures == figures(0, 0, 0, 0, 0, None)
