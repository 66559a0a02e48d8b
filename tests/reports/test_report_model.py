"""SQL against a plain-Python model: every kind of report over random journeys in odd zones.

One example is a Space whose events lie over two years; it is asked many things, and each row,
total and comparison is worked out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.attribution.models import MODELS, WINDOWS
from headwater.reports.models import (
    Comparison,
    DateTimeSpan,
    Group,
    Measure,
    MeasureChange,
    Report,
    ReportRow,
)
from headwater.reports.statement import WHOLE_EVENT
from tests.models import reports as model
from tests.models.attribution import Event, Touch
from tests.models.reports import Facts, Keys, Part
from tests.reports.asking import ask
from tests.support.factories import Stage, make_stage

ZONES = ("UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu")
SOURCES = ("facebook_ads", "google_ads", "google_organic", "email", "direct")
EVERY = tuple(Measure)
GROUPS = (
    Group.SOURCE, Group.CHANNEL, Group.CAMPAIGN, Group.EVENT, Group.DAY, Group.WEEK, Group.MONTH,
    Group.COUNTRY, Group.COMPANY,
)  # fmt: skip
TIMES = (Group.DAY, Group.WEEK, Group.MONTH)

# Few moments, so that ties are common and both sides of clock changes and of midnight are met.
BASES = [
    datetime(2025, 3, 30, 0, 59, 59, tzinfo=UTC), datetime(2025, 11, 2, 5, tzinfo=UTC),
    datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 3, 31, 22, tzinfo=UTC),
]  # fmt: skip
moments = st.builds(
    lambda base, hours: base + timedelta(hours=hours),
    st.sampled_from(BASES), st.sampled_from([0, 1, -1, 24, 24 * 7, -24 * 29]),
)  # fmt: skip
amounts = st.one_of(
    st.none(),
    st.decimals(-1000, 1000, places=2),
    st.sampled_from(["0", "0.01", "-0.0003", "1E14", "33.333"]).map(Decimal),
)
people = st.integers(0, 3)
touch_rows = st.tuples(people, moments, st.sampled_from(SOURCES), st.sampled_from([None, "A", "b"]))
event_rows = st.tuples(people, moments, amounts, st.sampled_from(["purchase", "sign_up"]))
questions = st.fixed_dictionaries({
    "model": st.sampled_from(list(MODELS)),
    "window_days": st.sampled_from(WINDOWS),
    "by_company": st.booleans(),
    "group_by": st.lists(st.sampled_from(GROUPS), max_size=2, unique=True).map(tuple),
    "measures": st.one_of(
        st.just(EVERY), st.lists(st.sampled_from(EVERY), min_size=1, unique=True).map(tuple)
    ),
    "compare": st.sampled_from(Comparison),
    "limit": st.sampled_from([1, 3, 1000]),
    "descending": st.booleans(),
    "span": st.sampled_from([
        DateTimeSpan(datetime(2026, 1, 1), datetime(2026, 12, 31, 23, 59, 59)),  # noqa: DTZ001
        DateTimeSpan(datetime(2026, 3, 1), datetime(2026, 3, 31, 23, 59, 59)),  # noqa: DTZ001
        DateTimeSpan(datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 30, 1)),  # noqa: DTZ001
    ]),
})  # fmt: skip


class Journeys:
    """Rows of one example: four contacts, of which two have a company and three a country."""

    def __init__(self, stage: Stage) -> None:
        company = stage.company()
        countries = ["DE", "DE", "FR", None]
        companies = [company, company, None, None]
        self.stage, self.companies = stage, companies
        self.contacts = [
            stage.contact(company_id=owner, country=country)
            for owner, country in zip(companies, countries, strict=True)
        ]
        self.countries = dict(zip(self.contacts, countries, strict=True))
        self.events: list[Event] = []
        self.touches: list[Touch] = []
        self.names: dict[int, str] = {}
        self.campaigns: dict[int, str | None] = {}

    def touch(self, person: int, at: datetime, source: str, campaign: str | None) -> None:
        who, owner = self.contacts[person], self.companies[person]
        number = self.stage.touchpoint(
            who, source, company_id=owner, occurred_at=at, campaign_id=campaign
        )
        self.touches.append(Touch(number, who, owner, at, source))
        self.campaigns[number] = campaign

    def event(self, person: int, at: datetime, amount: Decimal | None, name: str) -> None:
        who, owner = self.contacts[person], self.companies[person]
        number = self.stage.event(
            who, company_id=owner, event_time=at, amount=amount, event_name=name
        )
        self.events.append(Event(number, who, owner, at, amount))
        self.names[number] = name


@given(
    zone=st.sampled_from(ZONES),
    touches=st.lists(touch_rows, max_size=25),
    events=st.lists(event_rows, min_size=1, max_size=10),
    asked=st.lists(questions, min_size=6, max_size=6),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_sql_agrees_with_the_model(
    connection: psycopg.Connection,
    database_url: str,
    zone: str,
    touches: list[tuple[Any, ...]],
    events: list[tuple[Any, ...]],
    asked: list[dict[str, Any]],
) -> None:
    journeys = Journeys(make_stage(connection, timezone=zone))
    for touch in touches:
        journeys.touch(*touch)
    for event in events:
        journeys.event(*event)
    for question in asked:
        given = {name: value for name, value in question.items() if name != "span"}
        span = question["span"]
        report = ask(database_url, journeys.stage.space_id, start=span.start, end=span.end, **given)
        judge(report, Expected(journeys, ZoneInfo(zone), question))


class Expected:
    """What the model makes of a question."""

    def __init__(self, journeys: Journeys, zone: ZoneInfo, question: dict[str, Any]) -> None:
        self.question, self.groups = question, question["group_by"]
        self.measures: tuple[Measure, ...] = question["measures"]
        self.facts = Facts(
            journeys.events, journeys.touches, zone, question["model"], question["window_days"],
            question["by_company"], journeys.names, journeys.campaigns, journeys.countries,
        )  # fmt: skip

    def parts(self, span: DateTimeSpan) -> list[Part]:
        zone = self.facts.zone
        start, end = (
            [moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
            for moment in (span.start, span.end)
        )  # what a gap leaves out is shifted forward by the earlier reading
        return model.parts_of(self.facts, start[0], max(end) + timedelta(seconds=1))

    def rows(self, parts: list[Part]) -> dict[Keys, dict[str, object]]:
        grouped = model.groups_of(self.facts, self.groups, parts)
        return {keys: self.figures(found) for keys, found in grouped.items()}

    def figures(self, parts: Sequence[Part]) -> dict[str, object]:
        every = model.figures(parts)
        return {measure: every[measure] for measure in self.measures}

    @property
    def credited(self) -> bool:
        return bool(
            {Group.SOURCE, Group.CHANNEL, Group.CAMPAIGN} & set(self.groups)
            or {Measure.CREDITED_EVENTS, Measure.CREDITED_REVENUE} & set(self.measures)
        )


def judge(report: Report, expected: Expected) -> None:
    parts = expected.parts(report.span)
    rows = expected.rows(parts) if expected.groups else {}
    first = expected.measures[0]
    known = [(keys, figures[first]) for keys, figures in rows.items()]
    order = sorted(known, key=lambda row: [(key is None, key or "") for key in row[0]])
    order.sort(key=lambda row: row[1] or 0, reverse=expected.question["descending"])  # type: ignore[arg-type, return-value]
    order.sort(key=lambda row: row[1] is None)
    limit = expected.question["limit"]
    shown = [tuple(key.value for key in row.keys) for row in report.rows]
    assert shown == [keys for keys, _ in order[:limit]]
    assert [row.figures for row in report.rows] == [rows[keys] for keys in shown]
    assert report.left_out == max(0, len(rows) - limit)
    assert report.total.figures == expected.figures(parts)
    if report.unattributed is not None:
        judge_reconciliation(report, parts)
    assert (report.unattributed is not None) == expected.credited
    if report.compared_span is not None:
        judge_comparison(report, expected, report.compared_span)


def judge_reconciliation(report: Report, parts: list[Part]) -> None:
    """What is credited and what is not are together all there is."""
    assert report.unattributed is not None
    everything = model.figures(parts)
    for part, whole in (
        (Measure.CREDITED_EVENTS, "events"), (Measure.CREDITED_REVENUE, "revenue")
    ):  # fmt: skip
        if part in report.total.figures:
            found = [row.figures[part] for row in (report.total, report.unattributed)]
            assert sum(found) == everything[whole]  # type: ignore[arg-type]
            if report.rows and not report.left_out:
                assert sum(row.figures[part] for row in report.rows) == found[0]  # type: ignore[misc]


def judge_comparison(report: Report, expected: Expected, other: DateTimeSpan) -> None:
    parts = expected.parts(other)
    rows = expected.rows(parts)
    assert report.total.compared == expected.figures(parts)
    judge_changes(report.total)
    for row in report.rows:
        keys = tuple(
            other_key(group, key.value or "", expected, report)
            if group in TIMES else key.value
            for group, key in zip(expected.groups, row.keys, strict=True)
        )  # fmt: skip
        timeless = [key for group, key in zip(expected.groups, keys, strict=True) if group in TIMES]
        if None in timeless:
            assert row.compared is None
        else:
            assert row.compared == rows.get(keys, expected.figures([]))
            judge_changes(row)


def other_key(group: Group, key: str, expected: Expected, report: Report) -> str | None:
    assert report.compared_span is not None
    theirs = steps(group, report.compared_span)
    if expected.question["compare"] is Comparison.PREVIOUS_YEAR:
        wanted = model.year_before(group, key)
        return wanted if wanted in theirs else None
    place = steps(group, report.span).index(key)
    return theirs[place] if place < len(theirs) else None


def steps(group: Group, span: DateTimeSpan) -> list[str]:
    """The days, weeks or months with any date of a range; none of these zones skips one."""
    days = (span.end.date() - span.start.date()).days + 1
    found = [span.start.date() + timedelta(days=number) for number in range(days)]
    firsts = {
        Group.DAY: lambda day: day,
        Group.WEEK: lambda day: day - timedelta(days=day.weekday()),
        Group.MONTH: lambda day: day.replace(day=1),
    }[group]
    return list(dict.fromkeys(firsts(day).isoformat() for day in found))


def judge_changes(row: ReportRow) -> None:
    assert row.compared is not None
    assert row.changes is not None
    for measure, now in row.figures.items():
        then = row.compared[measure]
        if now is None or then is None:
            assert measure not in row.changes
            continue
        difference = Fraction(now) - Fraction(then)
        ratio = model.rounded(difference / abs(Fraction(then))) if then else None
        assert row.changes[measure] == MeasureChange(difference, ratio)  # type: ignore[arg-type]


def test_shares_of_an_event_are_exact() -> None:
    """Of paths of up to 40 touches, under the models that share."""
    for touches in range(1, 41):
        assert WHOLE_EVENT % touches == 0
        assert WHOLE_EVENT * 2 % 5 == 0
        assert WHOLE_EVENT % (5 * max(1, touches - 2)) == 0
    assert WHOLE_EVENT * 2 < 2**63
