"""The events behind a figure add up to it, at any point of random histories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.http.inputs.parameters import JsonInput
from headwater.reports.engine.measures import Figures
from headwater.reports.engine.report import ReportResult, query_report
from headwater.reports.query import DateBasis, KeyCondition, ReportQuery
from headwater.reports.questions.credit_rows import CreditFilter, CreditTotals, EventCredit
from headwater.reports.questions.credits import CreditList, CreditsQuery, query_credits
from headwater.reports.questions.report import answer_report, read_report_query
from headwater.spaces.spaces import fetch_space
from tests.reports.court import Court
from tests.reports.histories import History, histories
from tests.reports.playing import World, new_world, play
from tests.reports.questions import keep_one_model, some_question
from tests.support.campaigns import campaign_size
from tests.support.report_model.question import GROUPS

HISTORIES = campaign_size("HEADWATER_HISTORIES", 2, 1000)
QUESTIONS = 6
MEASURES = [
    "events", "revenue", "credited_events", "credited_revenue", "touched_events", "touched_revenue",
]  # fmt: skip
REASONS = (CreditFilter.NO_TOUCH, CreditFilter.OUTSIDE_WINDOW, CreditFilter.NOT_COUNTED)


def test_it_works(court: Court) -> None:
    """For rows of any group, for totals and for unattributed events."""

    @given(history=histories, seed=st.integers(0, 2**16))
    @settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
    def check(history: History, seed: int) -> None:
        world = new_world(court.connection, court.runner, court.reader, history)
        play(world, history)
        dice = Random(seed)
        for _ in range(QUESTIONS):
            query = some_query(world, dice)
            report = ask(world, query)
            check_row(world, dice, query, report)
            check_everything(world, dice, query, report)

    check()


def some_query(world: World, dice: Random) -> ReportQuery:
    """Return a random report with one model and only measures that a list adds up to."""
    question = keep_one_model(some_question(dice))
    for name in ("order_by", "compare"):
        question.pop(name, None)
    question |= {"measures": MEASURES, "limit": 1000, "group_by": [dice.choice(GROUPS)]}
    for name in {"amount_min", "amount_max"} & set(question):
        question[name] = str(question[name])

    async def read() -> ReportQuery:
        async with world.reader.transaction(force_rollback=True):
            space = await fetch_space(world.reader, world.space_id)
        now = datetime(2026, 5, 1, 12, tzinfo=UTC)
        return read_report_query(JsonInput(question), space, now)

    return world.runner.run(read())


def ask(world: World, query: ReportQuery) -> ReportResult:
    async def run() -> ReportResult:
        async with world.reader.transaction(force_rollback=True):
            return await query_report(world.reader, world.space_id, query)

    return world.runner.run(run())


def check_row(world: World, dice: Random, query: ReportQuery, report: ReportResult) -> None:
    """Check the lists filtered by the keys of a row."""
    if not report.rows:
        return
    row = dice.choice(report.rows)
    answer = answer_report(query, report)
    (group,) = query.group_by
    key = answer.rows[report.rows.index(row)][0]
    conditions = [condition for condition in query.filters.only if condition.group is not group]
    only = (*conditions, KeyCondition(group, key))
    list_query = as_list(replace(query, filters=replace(query.filters, only=only)))
    figures = in_words(row.figures)
    assert totals(world, dice, list_query) == expected_totals(figures, "events", "revenue")
    touched_query = replace(list_query, credit=CreditFilter.TOUCHED)
    assert totals(world, dice, touched_query) == expected_totals(figures, "touched_events", "touched_revenue")


def check_everything(world: World, dice: Random, query: ReportQuery, report: ReportResult) -> None:
    """Check the lists behind a report's totals, its overall figures and its unattributed events."""
    query = replace(query, group_by=(), order_by=None)
    list_query, report = as_list(query), ask(world, query)
    total = in_words(report.total.figures)
    credited_totals = totals(world, dice, replace(list_query, credit=CreditFilter.CREDITED))
    assert (credited_totals.credited_events, credited_totals.credited_revenue) == (
        total["credited_events"], total["credited_revenue"],
    )  # fmt: skip
    if query.of_some_touches:
        assert credited_totals == expected_totals(total, "events", "revenue")
    if report.overall is not None:
        overall_figures = in_words(report.overall.figures)
        all_totals = totals(world, dice, replace(list_query, credit=CreditFilter.ALL))
        assert all_totals == expected_totals({**total, **pick(overall_figures)}, "events", "revenue")
    if report.unattributed is None:
        return
    unattributed_totals = totals(world, dice, replace(list_query, credit=CreditFilter.UNATTRIBUTED))
    assert unattributed_totals == check_unattributed(report.unattributed.row.figures)
    for reason in REASONS:
        row = next(row for name, row in report.unattributed.reasons.items() if name == reason.value)
        reason_totals = totals(world, dice, replace(list_query, credit=reason))
        assert reason_totals == check_unattributed(row.figures)


def as_list(query: ReportQuery, **changes: Any) -> CreditsQuery:
    figure = ReportQuery(
        query.start, query.end, query.measures, (), query.models[:1], query.window_days,
        query.by_company, query.filters, query.date_basis, trained_model=query.trained_model,
    )  # fmt: skip
    return replace(CreditsQuery(figure), **changes)


def in_words(figures: Figures) -> dict[str, Any]:
    return {str(column): figure for column, figure in figures.items()}


def pick(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("events", "revenue")}


def expected_totals(figures: dict[str, Any], events: str, amount: str) -> CreditTotals:
    return CreditTotals(
        figures[events], figures[amount], figures["credited_events"], figures["credited_revenue"]
    )


def check_unattributed(figures: Figures) -> CreditTotals:
    """Return the totals of events without credit: all of their revenue counts."""
    words = in_words(figures)
    assert words["credited_events"] == words["events"]
    assert words["credited_revenue"] == words["revenue"]
    return CreditTotals(words["events"], words["revenue"])


def totals(world: World, dice: Random, query: CreditsQuery) -> CreditTotals:
    """Return the totals of a list, and check that its pages are the same forward and backward."""
    query = replace(query, per_page=dice.choice((1, 2, 5, 1000)))
    pages = [get(world, query)]
    while (position := pages[-1].next) is not None:
        pages.append(get(world, replace(query, at=position)))
    rows = [row for page in pages for row in page.rows]
    check_rows(query, rows)
    back = [pages[-1]]
    while (position := back[-1].previous) is not None:
        back.append(get(world, replace(query, at=position)))
    assert [page.rows for page in back[::-1]] == [page.rows for page in pages]
    assert {page.totals for page in pages} == {pages[0].totals}
    sums = CreditTotals(
        len(rows),
        sum((row.amount or Decimal(0) for row in rows), Decimal(0)),
        sum((row.credited_events for row in rows), Fraction(0)),
        sum((row.credited_revenue for row in rows), Decimal(0)),
    )
    assert sums == pages[0].totals
    return sums


def check_rows(query: CreditsQuery, rows: list[EventCredit]) -> None:
    keys = [(row.event_time.replace(microsecond=0), row.event_id) for row in rows]
    assert keys == sorted(set(keys), reverse=True)
    for row in rows:
        assert 0 <= row.credited_events <= 1
        if not row.left_out:
            assert sum(touch.credited_events for touch in row.touches) == row.credited_events
            assert sum(touch.credited_revenue for touch in row.touches) == row.credited_revenue
        times = [touch.occurred_at for touch in row.touches]
        assert times == sorted(times)
        if query.figure.date_basis is DateBasis.CONVERSION and not query.figure.of_some_touches:
            assert (row.reason is None) is (row.credited_events == 1)


def get(world: World, query: CreditsQuery) -> CreditList:
    async def run() -> CreditList:
        async with world.reader.transaction(force_rollback=True):
            return await query_credits(world.reader, world.space_id, query)

    return world.runner.run(run())
