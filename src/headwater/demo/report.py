"""Credited revenue by source, computed from the public API alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from headwater.demo.client import ApiClient
from headwater.sources.catalogue import SOURCES
from headwater.terminal.tables import align

MODELS = ("last_touch", "u_shaped", "time_decay")
WINDOW_DAYS = 30
MAX_SOURCES = 15  # the most in one request
UNATTRIBUTED = "unattributed"

Parameters = list[tuple[str, str]]


@dataclass(frozen=True)
class SampleReport:
    """Revenue of a period: in total, and by source under each model."""

    total: Decimal
    by_model: dict[str, dict[str, Decimal]]


def make_report(client: ApiClient, start: str, end: str) -> SampleReport:
    """The report of a period, its bounds written as the API takes them."""
    base = [("start_date", start), ("end_date", end), ("fields", "amount"), ("per_page", "1000")]
    base += [("event_names", name) for name in ("purchase", "upsell_purchase")]
    amounts = {row["id"]: Decimal(row["amount"] or 0) for row in client.pages("/events", base)}
    by_model = {model: _credited(client, base, model, amounts) for model in MODELS}
    return SampleReport(sum(amounts.values(), Decimal(0)), by_model)


def _credited(
    client: ApiClient, base: Parameters, model: str, amounts: dict[int, Decimal]
) -> dict[str, Decimal]:
    credited: dict[str, Decimal] = defaultdict(Decimal)
    uncredited = dict(amounts)
    for start in range(0, len(SOURCES), MAX_SOURCES):
        query = [*base, ("fields", "source"), ("attribution_model", model)]
        query += [("attribution_window", str(WINDOW_DAYS))]
        query += [("sources", source) for source in SOURCES[start : start + MAX_SOURCES]]
        for row in client.pages("/events", query):
            credited[row["source"]] += Decimal(row["amount"] or 0)
            uncredited.pop(row["id"], None)
    credited[UNATTRIBUTED] = sum(uncredited.values(), Decimal(0))
    return dict(credited)


def render(report: SampleReport, currency: str) -> str:
    """The report as a table; each column adds up to the total."""
    sources = {source for credited in report.by_model.values() for source in credited}
    first = report.by_model[MODELS[0]]
    ranked = sorted(sources - {UNATTRIBUTED}, key=lambda name: -first.get(name, Decimal(0)))
    rows = [["source", *(f"{model} ({currency})" for model in MODELS)]]
    for source in [*ranked, UNATTRIBUTED]:
        amounts = [report.by_model[model].get(source, Decimal(0)) for model in MODELS]
        rows.append([source, *(f"{amount:,.2f}" for amount in amounts)])
    totals = [sum(report.by_model[model].values(), Decimal(0)) for model in MODELS]
    rows.append(["total", *(f"{amount:,.2f}" for amount in totals)])
    return align(rows, right=range(1, 1 + len(MODELS)))
