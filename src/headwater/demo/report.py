"""Credited revenue by source, computed from the public API alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Struct

from headwater.demo.client import ApiClient
from headwater.operations.terminal.tables import align
from headwater.spaces.currencies import write_amount

MODELS = ("last_touch", "u_shaped", "time_decay")
WINDOW_DAYS = 30
UNATTRIBUTED = "unattributed"


class SampleReport(Struct, frozen=True):
    total: Decimal
    by_model: dict[str, dict[str, Decimal]]


def make_report(client: ApiClient, start: str, end: str) -> SampleReport:
    """Report a period, with bounds in the API's form."""
    base = [("start_date", start), ("end_date", end), ("measures", "credited_revenue")]
    base += [("measures", "revenue"), ("group_by", "source"), ("limit", "1000")]
    base += [("event_names", name) for name in ("purchase", "upsell_purchase")]
    base += [("attribution_window", str(WINDOW_DAYS))]
    reports = {model: client.get("/reports", [*base, ("attribution_model", model)]) for model in MODELS}
    total = Decimal(reports[MODELS[0]]["overall"]["revenue"])
    return SampleReport(total, {model: _credited(report) for model, report in reports.items()})


def _credited(report: Any) -> dict[str, Decimal]:
    credited = {row[0]: Decimal(row[1]) for row in report["rows"]}
    return credited | {UNATTRIBUTED: Decimal(report["unattributed"]["credited_revenue"])}


def render(report: SampleReport, currency: str) -> str:
    """Return a table; each column adds up to the total."""
    sources = {source for credited in report.by_model.values() for source in credited}
    first = report.by_model[MODELS[0]]
    ranked_sources = sorted(sources - {UNATTRIBUTED}, key=lambda name: -first.get(name, Decimal(0)))
    rows = [["source", *(f"{model} ({currency})" for model in MODELS)]]
    for source in [*ranked_sources, UNATTRIBUTED]:
        amounts = [report.by_model[model].get(source, Decimal(0)) for model in MODELS]
        rows.append([source, *(write_amount(amount, currency) for amount in amounts)])
    totals = [sum(report.by_model[model].values(), Decimal(0)) for model in MODELS]
    rows.append(["total", *(write_amount(amount, currency) for amount in totals)])
    return align(rows, right_columns=range(1, 1 + len(MODELS)))
