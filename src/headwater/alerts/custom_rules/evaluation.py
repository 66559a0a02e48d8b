"""Check custom rules against reports, once an hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.counts import local
from headwater.alerts.custom_rules.models import PERCENTAGES, CustomRule, RuleTerms, is_broken
from headwater.alerts.custom_rules.stored_rules import list_due_rules, record_check
from headwater.alerts.history import AlertHistory, Sign
from headwater.alerts.rules import Rule
from headwater.base.dates import format_day, format_days
from headwater.database.pool import Database
from headwater.http.errors import Invalid, join_rules
from headwater.http.inputs.parameters import JsonInput
from headwater.reports.engine.measures import Figure, rounded
from headwater.reports.engine.report import query_report
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import MOST_ROWS, FigureColumn, Group, ReportRefused
from headwater.reports.questions.report import read_report_query
from headwater.reports.questions.shared import NO_GROUPS
from headwater.reports.questions.spend import CostReport, CostRow, query_spend, read_spend_query
from headwater.sources.ad_platforms import platform_title
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space

MOST_LISTED = 5
"""The most names in a note."""


class RuleFinding(Struct, frozen=True):
    is_broken: bool
    figure: Decimal | None
    """None if the report lacks it."""
    note: str
    """What to know about the figure, or why it is missing; empty if there is nothing to add."""
    is_final: bool = True
    """False if the report was refused: the alert stays as it is."""


class RuleCheck(Struct, frozen=True):
    rule: CustomRule
    finding: RuleFinding


async def check_due_rules(database: Database, space: Space, current_time: datetime) -> list[RuleCheck]:
    """Check the rules not checked since the hour began, each in its own transaction."""
    hour = current_time.replace(minute=0, second=0, microsecond=0)
    async with database.transaction() as connection:
        rules = await list_due_rules(connection, space.id, hour)
    checks: list[RuleCheck] = []
    for rule in rules:
        async with database.transaction(CONNECTION_SECONDS) as connection:
            checks.append(RuleCheck(rule, await find_breach(connection, space, rule.terms, current_time)))
    return checks


async def record_checks(
    connection: AsyncConnection,
    space: Space,
    history: AlertHistory,
    checks: list[RuleCheck],
    current_time: datetime,
) -> None:
    """Open and end alerts, and store the rules' current figures."""
    for check in checks:
        rule, finding = check.rule, check.finding
        is_unchanged = await record_check(
            connection, space.id, rule, current_time, (finding.figure, finding.note)
        )
        if finding.is_final and is_unchanged:
            sign = Sign(
                Rule.CUSTOM,
                str(rule.id),
                rule.terms.title,
                describe(space, rule.terms, finding, current_time),
                local(current_time, space),
                is_out=finding.is_broken,
                is_well=not finding.is_broken,
                end_reason=finding.note if finding.figure is None else "",
            )
            await history.take(sign, current_time)


def describe(space: Space, terms: RuleTerms, finding: RuleFinding, current_time: datetime) -> str:
    """Return the figure, its days and the note as sentences."""
    if finding.figure is None:
        return finding.note
    first, last = terms.find_days(current_time.astimezone(space.zone).date())
    figure = f"{terms.format(finding.figure)}, {format_days(first, last)}."
    return f"{figure} {finding.note}".strip()


async def find_breach(
    connection: AsyncConnection, space: Space, terms: RuleTerms, current_time: datetime
) -> RuleFinding:
    """Compare a rule with its report. Needs a transaction that has read nothing yet."""
    if not _is_listed(space.sources, terms.filter):
        return RuleFinding(False, None, f"{terms.filter_name} is no longer a source of this Space.")
    try:
        if terms.needs_spend_report:
            return await _find_in_spend(connection, space, terms, current_time)
        return await _find_in_report(connection, space, terms, current_time)
    except Invalid as refusal:
        return RuleFinding(False, None, join_rules(refusal.errors))
    except ReportRefused as refusal:
        return RuleFinding(False, None, refusal.message, is_final=False)


async def _find_in_report(
    connection: AsyncConnection, space: Space, terms: RuleTerms, current_time: datetime
) -> RuleFinding:
    query = _make_input(space, terms, current_time, measures=[terms.measure], group_by=[NO_GROUPS])
    report_query = read_report_query(query, space, current_time)
    report = await query_report(connection, space.id, report_query)
    figure = report.total.figures[FigureColumn(report_query.measures[0])]
    if figure is not None and terms.measure in PERCENTAGES:
        figure = 100 * Fraction(figure)
    left_out = [money.words for money in report.left_out_money]
    reason = _find_gap(report.began, report.first_event, terms)
    return _judge(terms, None if reason else figure, reason, left_out)


async def _find_in_spend(
    connection: AsyncConnection, space: Space, terms: RuleTerms, current_time: datetime
) -> RuleFinding:
    group = str(terms.group_by or NO_GROUPS)
    query = _make_input(space, terms, current_time, group_by=group, limit=MOST_ROWS)
    report = await query_spend(connection, space.id, read_spend_query(query, space, current_time))
    left_out = [money.words for money in (*report.left_out_money, *report.left_out_spend)]
    gap = _find_gap(report.began, report.ends[0], terms)
    if report.problem is not None:  # spend without this group reads as 0
        gap = f"Ad spend cannot be filtered by this {report.problem}"
    if terms.group_by is None:
        figure: Figure = getattr(report.total, terms.measure)
        return _judge(terms, None if gap else figure, gap or _explain_missing(terms, report), left_out)
    return _judge_rows(terms, report, gap, left_out)


def _judge(terms: RuleTerms, figure: Figure, reason: str, left_out: list[str]) -> RuleFinding:
    """Compare the figure; `reason` explains a missing one."""
    if figure is None:
        return RuleFinding(False, None, _join([reason or "Nothing to divide by in this period", *left_out]))
    value = figure if isinstance(figure, Decimal) else rounded(Fraction(figure))
    return RuleFinding(is_broken(terms, value), value, _join(left_out))


def _judge_rows(terms: RuleTerms, report: CostReport, gap: str, left_out: list[str]) -> RuleFinding:
    """Find rows that spent at least the threshold and have no credited order."""
    if gap:
        return RuleFinding(False, None, _join([gap]))
    rows = [
        row
        for row in report.rows
        if row.key is not None
        and row.figures.spend >= terms.threshold
        and not row.figures.credited_conversions
    ]
    spend = sum((row.figures.spend for row in rows), Decimal(0))
    names = [_name(terms, row) for row in rows[:MOST_LISTED]]
    remaining_note = [f"{len(rows) - MOST_LISTED} more"] if len(rows) > MOST_LISTED else []
    return RuleFinding(bool(rows), spend, _join([*left_out, ", ".join([*names, *remaining_note])]))


def _is_listed(sources: SourceNames, filter_text: str) -> bool:
    """Return False for a removed source, or a platform without any source."""
    group, _, key = filter_text.partition(":")
    if group == Group.SOURCE:
        return key in sources.sources
    if group == Group.PLATFORM:
        return any(sources.find_platform(source) == key for source in sources.sources)
    return True


def _find_gap(began: bool, first_event: datetime | None, terms: RuleTerms) -> str:
    """Return why the period is not complete; empty if it is."""
    if not began:
        return "No events in this period yet"
    if first_event is not None:
        days = f"{terms.days} full day{'s' * (terms.days != 1)}"
        return f"Needs {days} of events; the first event was on {format_day(first_event)}"
    return ""


def _explain_missing(terms: RuleTerms, report: CostReport) -> str:
    if terms.measure == "contribution" and report.cost_rate is None:
        return "Needs a cost rate in the Space's settings"
    return "" if report.total.spend else "No ad spend in this period"


def _name(terms: RuleTerms, row: CostRow) -> str:
    key = row.key or ""
    name = platform_title(key) if terms.group_by is Group.PLATFORM else row.label or key
    return f"{name} {terms.format(row.figures.spend)}"


def _join(sentences: Sequence[str]) -> str:
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _make_input(space: Space, terms: RuleTerms, current_time: datetime, **other_values: Any) -> JsonInput:
    """Return the parameters of the rule's report."""
    first, last = terms.find_days(current_time.astimezone(space.zone).date())
    if terms.filter:
        other_values["only"] = [terms.filter]
    dates = {"start_date": f"{first} 00:00:00", "end_date": f"{last} 23:59:59"}
    return JsonInput({**dates, "currency": terms.currency, **other_values})
