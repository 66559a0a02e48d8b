"""The totals of a spend report are equal under every grouping, model and window, and equal plain sums over
the platform rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random

import httpx
import psycopg
import pytest
from psycopg import AsyncConnection

from headwater.attribution.models import MODELS
from headwater.reports.query import Group, KeyCondition, ReportQuery
from headwater.reports.questions.cost_figures import GROUPS, MEASURES
from headwater.reports.questions.spend import CostReport, query_spend
from tests.support.campaigns import pick_share
from tests.support.factories import Stage
from tests.support.former_networks import put_spend

NOON = datetime(2026, 5, 13, 12, tzinfo=UTC)
SOURCES = (
    "facebook_ads", "instagram_ads", "google_ads", "youtube_ads", "bing_ads", "tiktok_ads",
    "google_organic", "email", "direct",
)  # fmt: skip
PLATFORM_OF = {
    "facebook_ads": "meta", "instagram_ads": "meta", "google_ads": "google",
    "youtube_ads": "google", "bing_ads": "microsoft",
}  # fmt: skip
WITHOUT_TRAINING = tuple(name for name, model in MODELS.items() if not model.needs_training)
WINDOWS = (30, 0)
FIGURES = (
    "spend", "credited_revenue", "credited_conversions", "new_customers", "new_customer_revenue",
    "roas", "cpa", "cac", "contribution",
)  # fmt: skip
START = datetime(2026, 3, 1)  # noqa: DTZ001 - in the Space's zone


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int, client: httpx.Client) -> Stage:
    stage, dice = Stage(connection, space_id, ""), Random("totals")
    tags = [stage.tag_set(campaign_id=f"c{n}", ad_id=f"a{n}") for n in range(3)]
    for _ in range(25):
        contact = stage.contact(country=dice.choice(("DE", "FR", None)))
        for _ in range(dice.randrange(5)):
            moment = NOON - timedelta(hours=dice.randrange(24 * 60))
            tag_columns = {"tag_set_id": dice.choice(tags)} if dice.random() < 0.6 else {}
            stage.touchpoint(contact, dice.choice(SOURCES), occurred_at=moment, **tag_columns)
        for _ in range(dice.randrange(4)):
            name = dice.choice(("purchase", "purchase", "upsell_purchase", "add_to_cart"))
            stage.event(
                contact, event_name=name, amount=Decimal(dice.choice(("50", "7.99", "-20", "0"))),
                event_time=NOON - timedelta(hours=dice.randrange(24 * 30)),
            )  # fmt: skip
    spend = [
        {"date": f"2026-05-{day:02}", "platform": platform, "amount": 10 + day, "currency": "USD",
         "campaign_id": campaign, "country": country}
        for day in range(1, 13, 3)
        for platform, campaign, country in (
            ("meta", "c0", "DE"), ("google", "c1", ""), ("tiktok", "", ""), ("carrier", "", ""),
        )
    ]  # fmt: skip
    assert put_spend(client, spend).status_code == 200
    connection.execute("UPDATE spaces SET cost_rate = 40 WHERE id = %s", [space_id])
    return stage


pytestmark = pytest.mark.usefixtures("stage")


def question(group: Group | None, model: str = "linear", window: int = 30) -> ReportQuery:
    return ReportQuery(
        START, datetime(2026, 5, 31, 23, 59, 59),  # noqa: DTZ001 - in the Space's zone
        MEASURES, () if group is None else (group,), (model,), window,
    )  # fmt: skip


def ask(database_url: str, space_id: int, queries: Sequence[ReportQuery]) -> list[CostReport]:
    async def answers() -> list[CostReport]:
        async with await AsyncConnection.connect(database_url) as connection:
            reports: list[CostReport] = []
            for query in queries:
                async with connection.transaction(force_rollback=True):
                    reports.append(await query_spend(connection, space_id, query))
            return reports

    return asyncio.run(answers())


def ratio(part: Decimal, total: Decimal) -> Decimal:
    return (part / total).quantize(Decimal("0.0001"), ROUND_HALF_UP).normalize()


def tile_figures(report: CostReport) -> dict[str, object]:
    """Return the figures of the tiles, and check that the ratios of the totals are the same."""
    assert report.with_spend.spend == report.total.spend
    for name in ("roas", "cpa", "cac"):
        assert getattr(report.total, name) == getattr(report.with_spend, name)
    return {name: getattr(report.with_spend, name) for name in FIGURES}


def test_it_works(database_url: str, space_id: int) -> None:
    """A month of Meta: one row, whose ROAS is the revenue of its two sources divided by its cost."""
    by_platform, by_source = ask(database_url, space_id, [question(Group.PLATFORM), question(Group.SOURCE)])
    rows = {row.key: row.figures for row in by_platform.rows}
    sources = {row.key: row.figures for row in by_source.rows}
    credited_revenue = sources["facebook_ads"].credited_revenue + sources["instagram_ads"].credited_revenue
    assert rows["meta"].credited_revenue == credited_revenue
    assert rows["meta"].roas == ratio(credited_revenue, rows["meta"].spend)
    assert sources["facebook_ads"].roas is None
    assert sources["tiktok_ads"].roas == rows["tiktok"].roas
    assert by_source.unsplit == ("google", "meta")
    assert by_source.without_place.spend == by_source.total.spend - rows["tiktok"].spend


@pytest.mark.parametrize("model", WITHOUT_TRAINING)
def test_totals_are_equal_under_every_grouping(database_url: str, space_id: int, model: str) -> None:
    other_groups = [group for group in GROUPS if group is not Group.PLATFORM]
    for window in WINDOWS:
        groups = (None, Group.PLATFORM, *pick_share(other_groups, f"{model} {window}", 3))
        queries = [question(group, model, window) for group in groups]
        reports = dict(zip(groups, ask(database_url, space_id, queries), strict=True))
        tops = {group: tile_figures(report) for group, report in reports.items()}
        assert all(top == tops[None] for top in tops.values()), (model, window, tops)
        rows = [row.figures for row in reports[Group.PLATFORM].rows if row.figures.spend]
        paid = sum((row.credited_revenue for row in rows), Decimal(0))
        assert tops[None]["credited_revenue"] == paid
        assert tops[None]["roas"] == ratio(paid, reports[None].total.spend)


def test_filters_apply_to_both_sides(database_url: str, space_id: int) -> None:
    for group, key, has_ratios in (
        (Group.PLATFORM, "meta", True), (Group.CHANNEL, "paid", True), (Group.CAMPAIGN, "c0", True),
        (Group.SOURCE, "tiktok_ads", True), (Group.SOURCE, "facebook_ads", False),
        (Group.COUNTRY, "DE", False), (Group.LANDING_PAGE, None, False),
        (Group.KEYWORD, None, False),
    ):  # fmt: skip
        queries = [
            replace(query, filters=replace(query.filters, only=(KeyCondition(group, key),)))
            for query in map(question, (None, Group.PLATFORM, Group.AD, Group.COUNTRY, Group.MONTH))
        ]
        tops = [tile_figures(report) for report in ask(database_url, space_id, queries)]
        assert all(top == tops[0] for top in tops), (group, tops)
        assert (tops[0]["roas"] is not None) is has_ratios, (group, tops[0])


def test_unpaid_sources_cost_nothing(database_url: str, space_id: int) -> None:
    (report,) = ask(database_url, space_id, [question(Group.SOURCE)])
    for row in report.rows:
        if not row.figures.spend:
            assert (row.figures.roas, row.figures.cpa, row.figures.cac) == (None, None, None)
