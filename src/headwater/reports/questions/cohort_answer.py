"""A report of cohorts as JSON and as CSV. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from headwater.attribution.fits.choice import CITATION_OR_NULL, cite
from headwater.http.csv_table import CsvTable
from headwater.http.openapi import (
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    Schema,
    object_schema,
)
from headwater.reports.cohort_models import Cohort, CohortGroup, CohortQuery, CohortReport, Payback
from headwater.reports.left_out_money import (
    LEFT_OUT_MONEY,
    LEFT_OUT_SPEND,
    left_out_answer,
    left_out_spend_answer,
)
from headwater.reports.report_answer import in_digits

UNATTRIBUTED = "unattributed"
_OF_COHORT = ("new_customers", "spend", "cac", "payback", "payback_month")
_OF_MONTH = ("months_since", "complete", "revenue", "cumulative_revenue", "contribution", "customers")


def cohorts_answer(query: CohortQuery, report: CohortReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {
        "groups": [_group(each) for each in report.groups],
        "cohorts": [
            {"key": of.key, "name": of.label, **_cohort(each)}
            for of in report.groups
            for each in of.cohorts
            if each.new_customers or each.spend
        ],
        "left_out": report.left_out,
        "totals": [_cohort(each) for each in report.total.cohorts],
        "unattributed": report.unattributed and [_cohort(each) for each in report.unattributed.cohorts],
        "unmatched": None
        if report.unmatched is None
        else [
            {"month": f"{month:%Y-%m}", "spend": float(spend)}
            for month, spend in zip(report.months, report.unmatched, strict=True)
        ],
        "as_of": f"{report.today}",
        "timezone": report.timezone,
        "currency": report.currency,
        "left_out_money": left_out_answer(report.left_out_money),
        "left_out_spend": left_out_spend_answer(report.left_out_spend),
        "cost_rate": _number(report.cost_rate),
        "group_by": None if report.group is None else str(report.group),
        "attribution_model": query.model,
        "attribution_window": query.window_days,
        "query_mode": "company" if query.by_company else "profile",
        "fit": report.fit and cite(report.fit),
    }


def _group(of: CohortGroup) -> dict[str, Any]:
    return {
        "key": of.key,
        "name": of.label,
        "new_customers": of.new_customers,
        "spend": _number(of.spend),
        "cac": _number(of.cac),
        "revenue": _number(of.revenue),
        "contribution": _number(of.contribution),
    }


def _cohort(cohort: Cohort) -> dict[str, Any]:
    contribution = cohort.contribution
    return {
        "month": f"{cohort.month:%Y-%m}",
        "new_customers": cohort.new_customers,
        "spend": _number(cohort.spend),
        "cac": _number(cohort.cac),
        "payback": str(cohort.payback),
        "payback_month": cohort.payback_month,
        "complete_months": cohort.complete_months,
        "revenue": _numbers(cohort.revenue),
        "cumulative_revenue": _numbers(cohort.cumulative_revenue),
        "contribution": None if contribution is None else _numbers(contribution),
        "customers": list(cohort.customers),
    }


def _number(figure: Decimal | None) -> float | None:
    return None if figure is None else float(figure)


def _numbers(figures: Sequence[Decimal]) -> list[float]:
    return [float(figure) for figure in figures]


def cohorts_csv(report: CohortReport) -> bytes:
    """Return a line for every month since of every cohort; those of nobody come last."""
    keys = [str(report.group), f"{report.group}_name"] if report.group else []
    table = CsvTable(["month", *keys, *_OF_COHORT, *_OF_MONTH])
    for of in report.groups if report.group else (report.total,):
        _write(table, of, [of.key, of.label] if keys else [])
    if keys and report.unattributed is not None:
        _write(table, report.unattributed, ["", UNATTRIBUTED])
    return table.content()


def _write(table: CsvTable, of: CohortGroup, names: list[str | None]) -> None:
    for cohort in of.cohorts:
        if cohort.new_customers or cohort.spend:
            for line in _lines(cohort):
                table.add([f"{cohort.month:%Y-%m}", *names, *line])


def _lines(cohort: Cohort) -> Iterator[list[str]]:
    of_cohort = [
        in_digits(cohort.new_customers),
        in_digits(_number(cohort.spend)),
        in_digits(_number(cohort.cac)),
        str(cohort.payback),
        in_digits(cohort.payback_month),
    ]
    left = cohort.contribution or [None] * len(cohort.revenue)
    months = zip(cohort.revenue, cohort.cumulative_revenue, left, cohort.customers, strict=True)
    for since, (revenue, cumulative, contribution, customers) in enumerate(months):
        complete = "true" if since < cohort.complete_months else "false"
        money = (in_digits(_number(each)) for each in (revenue, cumulative, contribution))
        yield [*of_cohort, str(since), complete, *money, str(customers)]


_NUMBERS: Schema = {"type": "array", "items": {"type": "number"}}
_COHORT: dict[str, Schema] = {
    "month": {**TEXT, "description": "Of the first order: 2026-05."},
    "new_customers": {**WHOLE, "description": "Each once, with any part of the first order."},
    "spend": {**NUMBER_OR_NULL, "description": "Of that month."},
    "cac": NUMBER_OR_NULL,
    "payback": {"type": "string", "enum": [str(each) for each in Payback]},
    "payback_month": {
        **WHOLE_OR_NULL,
        "description": "From 0: the first until which the contribution covers the spend.",
    },
    "complete_months": {**WHOLE, "description": "Months of the lists that are over."},
    "revenue": {**_NUMBERS, "description": "By months since, from 0."},
    "cumulative_revenue": _NUMBERS,
    "contribution": {
        "type": ["array", "null"],
        "items": {"type": "number"},
        "description": "Cumulated, after cost rate and spend; null without a rate.",
    },
    "customers": {"type": "array", "items": WHOLE, "description": "Those with an order."},
}
_LIST: Schema = {"type": "array", "items": object_schema(_COHORT)}
COHORTS: Schema = object_schema(
    {
        "groups": {
            "type": "array",
            "items": object_schema(
                {
                    "key": TEXT_OR_NULL,
                    "name": TEXT_OR_NULL,
                    "new_customers": WHOLE,
                    "spend": NUMBER_OR_NULL,
                    "cac": NUMBER_OR_NULL,
                    "revenue": {"type": "number"},
                    "contribution": NUMBER_OR_NULL,
                }
            ),
        },
        "cohorts": {
            "type": "array",
            "items": object_schema({"key": TEXT_OR_NULL, "name": TEXT_OR_NULL, **_COHORT}),
        },
        "left_out": {**WHOLE, "description": "Groups beyond the limit."},
        "totals": {**_LIST, "description": "Of all customers, each once."},
        "unattributed": {
            **_LIST,
            "type": ["array", "null"],
            "description": "Of customers whose first order nobody has credit of.",
        },
        "unmatched": {
            "type": ["array", "null"],
            "items": object_schema({"month": TEXT, "spend": {"type": "number"}}),
            "description": "Spend that is in no group.",
        },
        "as_of": TEXT,
        "timezone": TEXT,
        "currency": TEXT,
        "cost_rate": NUMBER_OR_NULL,
        "left_out_money": LEFT_OUT_MONEY,
        "left_out_spend": LEFT_OUT_SPEND,
        "group_by": TEXT_OR_NULL,
        "attribution_model": TEXT,
        "attribution_window": WHOLE,
        "query_mode": TEXT,
        "fit": CITATION_OR_NULL,
    }
)
