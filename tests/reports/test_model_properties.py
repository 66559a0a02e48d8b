"""Properties of every answer of the report model, for any history and question."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reports.court import Court
from tests.reports.histories import History, histories
from tests.reports.playing import new_world, play
from tests.reports.questions import some_question
from tests.support.campaigns import campaign_size
from tests.support.report_model import loading
from tests.support.report_model.counting import Figures
from tests.support.report_model.facts import Facts
from tests.support.report_model.paths import Tally, make_paths
from tests.support.report_model.question import CREDITED, Question, read_question
from tests.support.report_model.report import Report, make_report

HISTORIES = campaign_size("HEADWATER_HISTORIES", 6, 100)
QUESTIONS = 30


def test_it_works(court: Court) -> None:
    @given(history=histories, seed=st.integers(0, 2**16))
    @settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
    def check(history: History, seed: int) -> None:
        world = new_world(court.connection, court.runner, court.reader, history)
        play(world, history)
        facts, dice = loading.load(world.connection, world.space_id), Random(seed)
        for _ in range(QUESTIONS):
            question = read_question(some_question(dice))
            report = make_report(facts, question)
            check_money(report)
            check_credit(question, report)
            check_paths(facts, question)

    check()


def every_figures(report: Report) -> Iterable[Figures]:
    for row in (*report.rows, report.total, *([report.overall] if report.overall else [])):
        yield row.figures
        if row.comparison is not None:
            yield row.comparison


def check_money(report: Report) -> None:
    """Check that revenue is gross revenue minus refunds."""
    for figures in every_figures(report):
        if {"gross_revenue", "refunds", "revenue"} <= figures.keys():
            gross, refunds = figures["gross_revenue"], figures["refunds"]
            assert gross is not None
            assert refunds is not None
            assert figures["revenue"] == gross - refunds
        for name in ("events", "orders", "contacts", "touched_events", "refunds"):
            assert (figures.get(name) or 0) >= 0
        assert not {"events", "orders"} <= figures.keys() or figures["orders"] <= figures["events"]  # type: ignore[operator]


def check_credit(question: Question, report: Report) -> None:
    """Check that credited and unattributed figures add up to the overall ones, and the rows to the total."""
    for column in report.columns:
        if not column.startswith(CREDITED):
            continue
        total = report.total.figures[column]
        if report.rows and not report.left_out:
            assert total == _sum(row.figures[column] for row in report.rows)
        if report.unattributed is None:
            continue
        assert report.overall is not None
        assert total is not None
        unattributed = report.unattributed.row.figures[column]
        assert unattributed is not None
        assert report.overall.figures[column] == total + unattributed
        reasons = report.unattributed.reasons.values()
        assert unattributed == _sum(row.figures[column] for row in reasons)
    if question.by_touch_date:
        assert (report.overall, report.unattributed) == (None, None)


def check_paths(facts: Facts, question: Question) -> None:
    """Check that every event has one path, one length, one duration and one pair of ends."""
    paths = make_paths(facts, question)
    parts = [paths.touches.values(), paths.days.values(), paths.first_and_last.values()]
    if not paths.left_out:
        parts.append([tally for _, tally in paths.ways])
    for tallies in parts:
        assert _add_tallies(tallies) == _add_tallies([paths.total])


def _add_tallies(tallies: Iterable[Tally | None]) -> tuple[int, Fraction]:
    existing_tallies = [tally for tally in tallies if tally is not None]
    return sum(tally.events for tally in existing_tallies), _sum(tally.revenue for tally in existing_tallies)


def _sum(figures: Iterable[Fraction | None]) -> Fraction:
    return sum((figure for figure in figures if figure is not None), Fraction(0))
