"""A report of spend as JSON and as CSV, and its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from headwater.attribution.fits.choice import CITATION_OR_NULL, FIT, cite
from headwater.events.parameters import EVENT_NAMES_PARAMETER
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.openapi import NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, WHOLE, Schema, object_schema
from headwater.reports.explanation_answer import WINDOW
from headwater.reports.key_parameters import only_parameter, read_keys
from headwater.reports.left_out_money import (
    LEFT_OUT_MONEY,
    LEFT_OUT_SPEND,
    left_out_answer,
    left_out_spend_answer,
)
from headwater.reports.models import Comparison, DateBasis, Figure, Filters, Group, ReportQuery
from headwater.reports.parameters import (
    COMPARE,
    CURRENCY,
    DATE_BASIS,
    DEFAULT_MODEL,
    LIMIT,
    MODEL,
    NO_GROUPS,
    PERIOD,
    TIME,
    read_report_period,
)
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.spend_report import GROUPS, MEASURES, ONLY, CostReport
from headwater.reports.report_answer import (
    DATES,
    NOT_COMPARED,
    in_digits,
    number,
    uncompared,
    written_moment,
    written_span,
)
from headwater.spaces.models import Space

GROUP = Parameter(
    name="group_by",
    kind=one_of([*map(str, GROUPS), NO_GROUPS]),
    default="platform",
    description="What rows are of.",
)
ONLY_PLACES = only_parameter(ONLY, "Only these rows of groups: platform:meta, ….")
PARAMETERS = (
    GROUP,
    PERIOD,
    *TIME.parameters,
    MODEL,
    WINDOW,
    EVENT_NAMES_PARAMETER,
    ONLY_PLACES,
    DATE_BASIS,
    COMPARE,
    CURRENCY,
    LIMIT,
    FIT,
)
FIGURES = (
    "spend",
    "impressions",
    "clicks",
    "credited_revenue",
    "credited_conversions",
    "new_customers",
    "new_customer_revenue",
    "roas",
    "cpa",
    "cac",
    "contribution",
    "platform_conversions",
    "platform_revenue",
)
_IN_ALL_DIGITS = {"spend", "contribution", "platform_conversions", "platform_revenue"}


def read_spend_query(query: Input, space: Space, now: datetime) -> ReportQuery:
    """Read the report that parameters describe. Raises Invalid with every rule they break."""
    period = read_report_period(query, space, now)
    group = GROUP.read(query)
    report_query = ReportQuery(
        start=period.span.start,
        end=period.span.end,
        now=period.now,
        unit=period.unit,
        measures=MEASURES,
        group_by=() if group in (None, NO_GROUPS) else (Group(group),),
        models=(MODEL.read(query) or DEFAULT_MODEL,),
        window_days=WINDOW.read(query) or 0,
        filters=Filters(EVENT_NAMES_PARAMETER.read(query), only=read_keys(query, ONLY_PLACES, space.sources)),
        date_basis=DateBasis(DATE_BASIS.read(query) or DateBasis.CONVERSION),
        compare=Comparison(COMPARE.read(query) or Comparison.NONE),
        limit=LIMIT.read(query) or 0,
        currency=CURRENCY.read(query),
        fit=FIT.read(query),
    )
    query.finish()
    return report_query


def spend_answer(query: ReportQuery, report: CostReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    then = report.comparable
    return {
        "columns": _columns(report),
        "rows": [
            [*([row.key, row.label] if report.group else []), *_row_values(report, row.figures, row.compared)]
            for row in report.rows
        ],
        "left_out": report.left_out,
        "totals": _named(report, report.total, then and then.total),
        "with_spend": _named(report, report.with_spend, then and then.with_spend),
        "unmatched": _named(report, report.without_place, then and then.without_place),
        "period": written_span(report.span),
        "compared_period": report.compared and written_span(report.compared.span),
        "not_compared": uncompared(report.comparable is not None or report.compared is None),
        "first_event": written_moment(report.ends[0]),
        "last_event": written_moment(report.ends[1]),
        "not_broken_down": [*report.unsplit],
        "no_ratios": report.problem and f"Spend cannot be filtered by {report.problem}.",
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money),
        "left_out_spend": left_out_spend_answer(report.left_out_spend),
        "compared_left_out_money": then and left_out_answer(then.left_out_money),
        "compared_left_out_spend": then and left_out_spend_answer(then.left_out_spend),
        "cost_rate": None if report.cost_rate is None else float(report.cost_rate),
        "attribution_model": query.models[0],
        "attribution_window": query.window_days,
        "date_basis": str(query.date_basis),
        "fit": report.fit and cite(report.fit),
        "reading": report.reading,
    }


def spend_csv(report: CostReport) -> bytes:
    """Return the rows as CSV, and what has no place as the last of them."""
    table = CsvTable(_columns(report))
    then = report.comparable
    if report.group is None:
        whole = _row_values(report, report.total, then and then.total)
        table.add(map(in_digits, whole))
        return table.content()
    for row in report.rows:
        names = (row.key, row.label)
        figures = _row_values(report, row.figures, row.compared)
        table.add([*names, *map(in_digits, figures)])
    rest = _row_values(report, report.without_place, then and then.without_place)
    table.add(["", "unmatched", *map(in_digits, rest)])
    return table.content()


def _columns(report: CostReport) -> list[str]:
    keys = [str(report.group), f"{report.group}_name"] if report.group else []
    return [*keys, *_figure_columns(report)]


def _figure_columns(report: CostReport) -> list[str]:
    if report.compared is None:
        return list(FIGURES)
    return [f"{name}{end}" for name in FIGURES for end in ("", "_before", "_change")]


def _row_values(report: CostReport, now: CostFigures, then: CostFigures | None) -> Iterator[float | None]:
    """Yield the figures of a row, in a comparison each with the compared one and its change."""
    before = _values(then) if then is not None else [None] * len(FIGURES)
    for name, figure, compared in zip(FIGURES, _values(now), before, strict=True):
        yield figure
        if report.compared is not None:
            yield compared
            change = None if then is None else now.change(name, then)
            yield None if change is None else number(change.ratio)


def _values(figures: CostFigures) -> list[float | None]:
    return [spend_number(name, getattr(figures, name)) for name in FIGURES]


def spend_number(name: str, figure: Figure) -> float | None:
    """Return the figure of a name as JSON has it: what is of the ledger in all of its digits."""
    return float(figure) if name in _IN_ALL_DIGITS and figure is not None else number(figure)


def _named(report: CostReport, now: CostFigures, then: CostFigures | None) -> dict[str, float | None]:
    return dict(zip(_figure_columns(report), _row_values(report, now, then), strict=True))


_BY_FIGURE: Schema = {"type": "object", "additionalProperties": NUMBER_OR_NULL}
SPEND: Schema = object_schema(
    {
        "columns": {"type": "array", "items": TEXT},
        "rows": {"type": "array", "items": {"type": "array"}},
        "left_out": {**WHOLE, "description": "Groups beyond the limit."},
        "totals": {**_BY_FIGURE, "description": "All credit and all spend; ratios are those of with_spend."},
        "with_spend": {
            **_BY_FIGURE,
            "description": "All spend, and the credit of platforms with spend: equal under every group_by.",
        },
        "unmatched": {**_BY_FIGURE, "description": "Spend that has no row in the group."},
        "not_compared": NOT_COMPARED,
        "first_event": TEXT_OR_NULL,
        "last_event": TEXT_OR_NULL,
        "not_broken_down": {
            "type": "array",
            "items": TEXT,
            "description": "Platforms whose spend is not known by source: their sources have no ratios.",
        },
        "no_ratios": {**TEXT_OR_NULL, "description": "Why roas, cpa and cac are null."},
        "period": DATES,
        "compared_period": {**DATES, "type": ["object", "null"]},
        "timezone": TEXT,
        "currency": TEXT,
        "left_out_money": LEFT_OUT_MONEY,
        "left_out_spend": LEFT_OUT_SPEND,
        "compared_left_out_money": {**LEFT_OUT_MONEY, "type": ["array", "null"]},
        "compared_left_out_spend": {**LEFT_OUT_SPEND, "type": ["array", "null"]},
        "cost_rate": NUMBER_OR_NULL,
        "attribution_model": TEXT_OR_NULL,
        "attribution_window": WHOLE,
        "date_basis": TEXT,
        "fit": CITATION_OR_NULL,
        "reading": TEXT,
    }
)
