"""The shop in the database equals the planned shop."""

from __future__ import annotations

from itertools import product
from typing import Any

import psycopg
import pytest

from headwater.attribution.models import MODELS
from tests.assistants.installing import install
from tests.assistants.shop import make_shop
from tests.support.campaigns import pick_share
from tests.support.report_model.facts import Facts
from tests.support.report_model.loading import load
from tests.support.report_model.question import read_question
from tests.support.report_model.report import make_report

HALF_A_YEAR = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-06-30 23:59:59"}
REPORTS: list[dict[str, Any]] = [
    {"measures": ["credited_revenue", "events"], "group_by": ["source", "month"]},
    {"measures": ["touched_revenue", "credited_events"], "group_by": ["campaign", "keyword"]},
    {"measures": ["new_customers", "days_to_conversion"], "group_by": ["country", "hour"]},
    {"measures": ["revenue", "contacts"], "group_by": ["landing_page", "event"]},
]
MODES = ("profile", "company")


def test_it_works(connection: psycopg.Connection) -> None:
    shop = make_shop()
    assert shop == make_shop()
    stored_facts = load(connection, install(connection, shop).space_id)
    facts = shop.facts()
    for report, model, mode in pick_share(product(REPORTS, list(MODELS)[::3], MODES), "shop", 5):
        parameters = {**report, **HALF_A_YEAR, "attribution_model": model, "query_mode": mode}
        assert report_contents(stored_facts, parameters) == report_contents(facts, parameters)
    by_company = {"measures": ["revenue"], "group_by": ["company", "event"], **HALF_A_YEAR}
    assert labelled_figures(stored_facts, by_company) == labelled_figures(facts, by_company)


@pytest.mark.parametrize("months", [1, 2, 3, 4, 5, 6])
def test_every_month_has_something_of_everything(months: int) -> None:
    sales = [sale for sale in make_shop().sales if sale.time.month == months]
    names = {sale.name for sale in sales}
    assert names >= {"purchase", "upsell_purchase", "sign_up"}
    assert any((sale.amount or 0) < 0 for sale in sales)


def report_contents(facts: Facts, parameters: dict[str, Any]) -> Any:
    report = make_report(facts, read_question({**parameters, "limit": 1000}))
    rows = [(row.keys, row.labels, row.figures) for row in report.rows]
    return rows, report.total, report.unattributed, report.overall, report.event_names


def labelled_figures(facts: Facts, parameters: dict[str, Any]) -> Any:
    report = make_report(facts, read_question(parameters))
    return sorted((str(row.labels), row.figures) for row in report.rows)
