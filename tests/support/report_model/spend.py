"""Spend next to its results, computed row by row. Each amount is converted at its own day's rate. Amounts
without a rate, or above a limit, are left out and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from tests.models import spend_model
from tests.support.report_model.clock import Period, bucket_key
from tests.support.report_model.counting import round_figure
from tests.support.report_model.facts import Event, Facts
from tests.support.report_model.groups import Key, get_platform
from tests.support.report_model.money import Money
from tests.support.report_model.question import TOUCH_GROUPS, Question
from tests.support.report_model.report import Row, make_report
from tests.support.report_model.selection import keeps, select_conversions

SUMS = (
    "spend", "impressions", "clicks", "platform_conversions", "platform_revenue",
    "credited_revenue", "credited_conversions", "new_customers", "new_customer_revenue",
)  # fmt: skip
RATIOS = {
    "roas": ("credited_revenue", "spend"), "cpa": ("spend", "credited_conversions"),
    "cac": ("spend", "new_customers"),
}  # fmt: skip
OF_LEDGER = ("spend", "impressions", "clicks", "platform_conversions", "platform_revenue")
MONEY = ("spend", "platform_revenue")
PLATFORMS = ("google", "meta", "tiktok")
"""Platforms that the tests know. Others have no source."""
SOURCES = {"tiktok": "tiktok_ads"}
"""Platforms with one source. Others bill several sources together."""
NOT_OF_SPEND = ("country", "keyword", "landing_page")
CREDIT = ("credited_revenue", "credited_conversions", "new_customers")
PLACES = {"campaign": 4, "adset": 5, "ad": 6}
"""Positions of their ids in a ledger row."""

Figures = dict[str, Fraction | None]


@dataclass
class Spending:
    """The entire input of a spend report."""

    facts: Facts
    currencies: Mapping[int, str | None]
    """The currencies in events."""
    ledger: Sequence[spend_model.Row]
    """Amounts in millionths, counts in whole numbers."""
    money: Money
    cost_rate: Fraction | None = None


@dataclass
class CostReport:
    """The answer to a question."""

    rows: dict[Key, Figures]
    totals: Figures
    with_spend: Figures
    unmatched: Figures
    left_out_money: list[dict[str, Any]]
    left_out_spend: list[dict[str, Any]]


def make_cost_report(spending: Spending, question: Question, extra_keys: Collection[Key] = ()) -> CostReport:
    """Compute the report of a question with one group or none. Rows for the keys in `also` appear even
    without credit.
    """
    period = Period(question.start, question.end)
    facts = in_one_currency(spending, _days(spending, question, period))
    spend_rows = list(_select_spend(spending, question))
    group = question.group_by[0] if question.group_by else None
    credit, total = _credit(facts, question)
    is_touch_group = group in TOUCH_GROUPS
    groups = () if group is None or is_touch_group else (group,)
    credit_by_platform, _ = _credit(facts, replace(question, group_by=(*groups, "platform")))
    spend_by_key = add_up_spend(spend_rows, group, {*credit, *extra_keys}, facts)
    total_spend = _zeros()
    for figures in spend_by_key.values():
        total_spend = _add_figures(total_spend, figures)
    nowhere = spend_by_key.pop(None, _zeros()) if group else _zeros()
    pieces = list(_selected_pieces(spending, question))
    paid_on = {platform for platform, amount in pieces if amount and platform in PLATFORMS}
    unsplit = {*paid_on} - {*SOURCES} if group == "source" else set[str]()
    has_ratios = all(_is_filtered(*condition) for condition in question.only)

    customers = _paid_customers(facts, replace(question, group_by=groups), paid_on)

    def paid_credit(key: Key | None = None, *, is_row: bool = False) -> list[Fraction]:
        parts = [
            figures for keys, figures in credit_by_platform.items()
            if (keys[-1] if groups else keys) in paid_on
            and (not is_row or _key(group, keys[0]) == key)
        ]  # fmt: skip
        revenue, conversions, _, new_revenue = [
            sum(column, Fraction(0)) for column in zip(*parts, strict=True)
        ] or [Fraction(0)] * 4
        return [revenue, conversions, customers(key, is_row=is_row), new_revenue]

    make_figures = partial(_figures, spending, ratios=has_ratios)
    no_credit = [Fraction(0)] * 4
    rows = {
        key: make_figures(
            spend_by_key.get(key), row_credit,
            row_credit if is_touch_group else paid_credit(key, is_row=True),
            ratios=has_ratios and not (group == "source" and get_platform(key or "") in unsplit),
        )
        for key in {*credit, *spend_by_key} if group
        for row_credit in [credit.get(key, no_credit)]
    }  # fmt: skip
    tops = (
        make_figures(total_spend, total, paid_credit()),
        make_figures(total_spend, paid_credit(), paid_credit()),
    )
    return CostReport(
        rows, *tops, make_figures(nowhere, no_credit, no_credit),
        left_out_money(spending, facts, question), left_out_spend(spending, question),
    )  # fmt: skip


def _paid_customers(facts: Facts, question: Question, platforms: Collection[str]) -> Callable[..., Fraction]:
    """Return a function that counts the new customers of some platforms. A customer counts once, even if
    several platforms share the order.
    """
    other_conditions = tuple(condition for condition in question.only if condition[0] != "platform")
    conditions = (*other_conditions, *(("platform", platform) for platform in sorted(platforms)))
    credit_by_key, total = (
        _credit(facts, replace(question, only=conditions)) if platforms else ({}, [Fraction(0)] * 4)
    )

    def count(key: Key | None = None, *, is_row: bool = False) -> Fraction:
        return credit_by_key.get(key, [Fraction(0)] * 4)[2] if is_row else total[2]

    return count


def _figures(
    spending: Spending, ledger_sums: list[Fraction] | None, credited: list[Fraction],
    ratio_credit: list[Fraction], *, ratios: bool,
) -> Figures:  # fmt: skip
    sums = dict(zip(OF_LEDGER, ledger_sums or _zeros(), strict=True))
    names = (*CREDIT, "new_customer_revenue")
    sums |= dict(zip(names, credited, strict=True))
    return _with_ratios(
        spending, sums, {**sums, **dict(zip(names, ratio_credit, strict=True))}, ratios=ratios
    )


def _is_filtered(group: str, key: Key) -> bool:
    """Return whether spend can be filtered in the same way as credit."""
    return group not in NOT_OF_SPEND and (group != "source" or is_billed_alone(key))


def is_billed_alone(source: Key) -> bool:
    """Return whether no other source is on the same bill."""
    platform = get_platform(source or "")
    return platform is None or platform not in ("google", "meta")


def _credit(facts: Facts, question: Question) -> tuple[dict[Any, list[Fraction]], list[Fraction]]:
    """Return the credit by the keys of the question's groups, and in total: revenue, conversions, new
    customers, and revenue from new customers.
    """
    total_question = replace(question, measures=CREDIT)
    new_customer_question = replace(
        question, measures=("credited_revenue",), only=(*question.only, ("customer", "new"))
    )
    report, firsts = (
        make_report(facts, part_question) for part_question in (total_question, new_customer_question)
    )

    def figures(row: Row | None, first_order_row: Row | None) -> list[Fraction]:
        row_credit = row.figures if row else {}
        first = first_order_row.figures if first_order_row else {}
        return [Fraction(row_credit.get(name) or 0) for name in CREDIT] + [
            Fraction(first.get("credited_revenue") or 0)
        ]

    group = question.group_by[0] if question.group_by else None

    def row_key(row: Row) -> Any:
        keys = tuple(row.keys)
        return _key(group, keys[0]) if len(keys) == 1 else keys

    rows_by_key = {row_key(row): row for row in report.rows}
    first_rows_by_key = {row_key(row): row for row in firsts.rows}
    return (
        {
            key: figures(rows_by_key.get(key), first_rows_by_key.get(key))
            for key in {*rows_by_key, *first_rows_by_key} if question.group_by
        },
        figures(report.total, firsts.total),
    )  # fmt: skip


def spent_by_key(
    spending: Spending, question: Question, credited_keys: Collection[Key]
) -> dict[Key, list[Fraction]]:
    """Return the spend by the keys of a group. `listed` contains the keys of rows with credit."""
    group = question.group_by[0] if question.group_by else None
    return add_up_spend(_select_spend(spending, question), group, credited_keys, spending.facts)


def add_up_spend(
    spend_rows: Iterable[tuple[Key, list[Fraction]]], group: str | None, credited_keys: Collection[Key],
    facts: Facts,
) -> dict[Key, list[Fraction]]:  # fmt: skip
    sums_by_key: dict[Key, list[Fraction]] = {}
    for key, figures in spend_rows:
        row_key = _row_key(group, key, credited_keys, facts)
        sums_by_key[row_key] = _add_figures(sums_by_key.get(row_key, _zeros()), figures)
    return sums_by_key


def _days(spending: Spending, question: Question, period: Period) -> tuple[date, date]:
    """Return the first and last day, in UTC, of the events in the report. For touch dates, the window extends
    it.
    """
    start, end = period.bounds(spending.facts.zone)
    last = end - timedelta(seconds=1)
    if question.by_touch_date:
        last += timedelta(days=question.window) if question.window else timedelta(days=36_500)
    return start.date(), last.date()


def in_one_currency(spending: Spending, days: tuple[date, date]) -> Facts:
    """Return the facts with the amounts of some days in one currency."""
    return replace(
        spending.facts, events=[_count_amount(spending, event, days) for event in spending.facts.events]
    )


def _count_amount(spending: Spending, event: Event, days: tuple[date, date]) -> Event:
    """Return an event with the amount that counts."""
    amount, day_in_utc = event.sent_amount, event.event_time.astimezone(UTC).date()
    if not amount or not days[0] <= day_in_utc <= days[1]:
        return event
    currency = spending.currencies.get(event.id) or spending.money.currency
    day = event.event_time.astimezone(spending.facts.zone).date()
    reported_amount = spending.money.count(Fraction(amount), currency, day, is_from_page=event.from_page)
    if isinstance(reported_amount, str):
        return event.counting(reported_amount)
    return event.counting(Decimal(reported_amount.numerator) / reported_amount.denominator)


def left_out_money(spending: Spending, facts: Facts, question: Question) -> list[dict[str, Any]]:
    """Return the money that the report leaves out, in the form of the API's answers."""
    period = Period(question.start, question.end)
    events_by_loss: dict[tuple[str, str], list[Event]] = {}
    for conversion in select_conversions(facts, question, period):
        touches = conversion.window if question.by_touch_date else ()
        counts = any(keeps(touch, facts, question, period) for touch in touches)
        if conversion.event.left_out and (counts or not question.by_touch_date):
            currency = spending.currencies.get(conversion.event.id) or spending.money.currency
            events_by_loss.setdefault((currency, conversion.event.left_out), []).append(conversion.event)
    return [
        {
            "currency": currency, "events": len(events),
            "amount": float(sum(event.stated_amount or 0 for event in events)), "reason": reason,
            **_date_bounds({event.event_time.astimezone(facts.zone).date() for event in events}),
        }
        for (currency, reason), events in sorted(events_by_loss.items())
    ]  # fmt: skip


def _date_bounds(days: Collection[date]) -> dict[str, str]:
    return {"first_day": f"{min(days)}", "last_day": f"{max(days)}"}


def left_out_spend(spending: Spending, question: Question) -> list[dict[str, Any]]:
    """Return the question's spend without a rate, in the form of the API's answers."""
    sums: dict[str, list[tuple[date, Fraction]]] = {}
    for row in _pieces(spending, question):
        if spending.money.convert(Fraction(1), row[2], row[0]) is None:
            sums.setdefault(row[2], []).append((row[0], Fraction(row[8][0], 10**6)))
    return [
        {
            "currency": currency, "amount": float(sum(amount for _, amount in amounts)),
            **_date_bounds({day for day, _ in amounts}),
        }
        for currency, amounts in sorted(sums.items())
    ]  # fmt: skip


def _pieces(spending: Spending, question: Question) -> Iterator[spend_model.Row]:
    """Yield the ledger parts that a question selects."""
    first, last = question.start.date(), question.end.date()
    for row in spend_model.pieces([r for r in spending.ledger if first <= r[0] <= last]):
        if _is_chosen(row, question, spending.facts):
            yield row


def _select_spend(spending: Spending, question: Question) -> Iterator[tuple[Key, list[Fraction]]]:
    """Yield the ledger parts that a question selects, each with its key."""
    for row in _pieces(spending, question):
        figures = dict(zip(OF_LEDGER, map(Fraction, row[8]), strict=True))
        for name in ("spend", "platform_conversions", "platform_revenue"):
            figures[name] /= 10**6
        for name in MONEY:
            value = spending.money.convert(figures[name], row[2], row[0])
            figures[name] = value or Fraction(0)
        group = question.group_by[0] if question.group_by else None
        yield name_key(group, row), list(figures.values())


def name_key(group: str | None, row: spend_model.Row) -> Key:
    """Return the key of a ledger part."""
    match group:
        case None:
            return None
        case "platform":
            return row[1] if row[1] in PLATFORMS else None
        case "source" | "channel":
            paid_channel = "paid" if row[1] in PLATFORMS else None
            return SOURCES.get(row[1]) if group == "source" else paid_channel
        case "country":
            return row[7] or None
        case "campaign" | "adset" | "ad":
            return row[PLACES[group]] or None
        case _:
            return _key(group, bucket_key(group, row[0]))


def _key(group: str | None, key: Key) -> Key:
    return f"{key}-01" if group == "month" else key


def _is_chosen(row: spend_model.Row, question: Question, facts: Facts) -> bool:
    for group in {group for group, _ in question.only} - {*NOT_OF_SPEND}:
        key = name_key(group, row)
        names_of_key = {key, facts.ad_names.get((group, key or ""), key)}
        if not names_of_key & {selected_key for name, selected_key in question.only if name == group}:
            return False
    return True


def _row_key(group: str | None, key: Key, credited_keys: Collection[Key], facts: Facts) -> Key:
    """Return the key of the row that spend belongs to: touchpoints may know a campaign only by name."""
    name = facts.ad_names.get((group or "", key or ""))
    is_under_name = key not in credited_keys and name is not None and name in credited_keys
    return name if is_under_name else key


def _zeros() -> list[Fraction]:
    return [Fraction(0)] * len(OF_LEDGER)


def _add_figures(addends: list[Fraction], other_addends: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(addends, other_addends, strict=True)]


def _selected_pieces(spending: Spending, question: Question) -> Iterator[tuple[str, int]]:
    """Yield the platform and amount of every ledger part that a question selects."""
    first, last = question.start.date(), question.end.date()
    for row in spend_model.pieces([r for r in spending.ledger if first <= r[0] <= last]):
        if _is_chosen(row, question, spending.facts):
            yield row[1], row[8][0]


def _with_ratios(
    spending: Spending, sums: dict[str, Fraction], base: dict[str, Fraction], *, ratios: bool
) -> Figures:
    """Return sums with their ratios, and with the contribution after cost of goods and spend."""
    figures: Figures = dict(sums)
    for name, (numerator, denominator) in RATIOS.items():
        is_known = ratios and sums["spend"] and base[denominator]
        figures[name] = round_figure(base[numerator] / base[denominator]) if is_known else None
    rate = spending.cost_rate if ratios else None
    margin = None if rate is None else sums["credited_revenue"] * (100 - rate) / 100
    figures["contribution"] = None if margin is None else margin - sums["spend"]
    return figures
