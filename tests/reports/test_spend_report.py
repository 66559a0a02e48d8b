"""GET /reports/spend: spend next to the revenue it brought, to the cent."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import msgspec
import psycopg
import pytest

from headwater.reports.questions import cost_figures, period_spend
from headwater.sources.ad_platforms import find_billing_platform
from headwater.sources.catalogue import SOURCES
from tests.support.campaigns import pick_share
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
DECODE = msgspec.json.Decoder(float_hook=Decimal).decode


def spend_row(day: int, platform: str, amount: Any, **columns: Any) -> dict[str, Any]:
    row = {"date": f"2026-05-{day:02}", "platform": platform, "amount": amount, "currency": "EUR"}
    return {**row, **columns}


def put(api: Api, *rows: Any) -> None:
    response = put_spend(api, rows)
    assert response.status_code == 200, response.text


def report(api: Api, status: int = 200, **params: Any) -> Any:
    response = api.get("/reports/spend", params={**MAY, **params})
    assert response.status_code == status, response.text
    return DECODE(response.content)


def rows(answer: Any, *names: str) -> list[tuple[Any, ...]]:
    places = [answer["columns"].index(name) for name in names]
    return [tuple(row[index] for index in places) for row in answer["rows"]]


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space in euros, with a sale of 100 through Google's campaign 4711, and a sale of 20 through
    e-mail.
    """
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    for source, amount, ids in (
        ("google_ads", 100, {"campaign_id": "4711"}), ("email", 20, {}),
    ):  # fmt: skip
        contact_id = stage.contact()
        stage.touchpoint(contact_id, source, occurred_at="2026-05-12 12:00:00+00", **ids)
        stage.event(contact_id, amount=amount, event_time="2026-05-13 12:00:00+00")
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(api: Api) -> None:
    platform_figures = {"platform_conversions": 2, "platform_revenue": 150}
    google = spend_row(12, "google", 25, clicks=10, impressions=1000, **platform_figures)
    put(api, google, spend_row(13, "meta", 10), spend_row(13, "billboard", 5))
    answer = report(api)
    names = ("platform", "spend", "clicks", "credited_revenue", "roas", "cpa", "cac")
    assert rows(answer, *names) == [
        ("google", 25, 10, 100, 4, 25, 25), ("meta", 10, 0, 0, 0, None, None),
        ("email", 0, 0, 20, None, None, None),
    ]  # fmt: skip
    assert answer["unmatched"]["spend"] == 5
    assert (answer["totals"]["credited_revenue"], answer["totals"]["roas"]) == (120, 2.5)
    with_spend = answer["with_spend"]
    assert (with_spend["spend"], with_spend["credited_revenue"], with_spend["roas"]) == (
        40, 100, 2.5,
    )  # fmt: skip
    assert rows(answer, "platform_conversions", "platform_revenue")[0] == (2, 150)


@pytest.mark.usefixtures("space")
def test_revenue_of_new_customers(api: Api, space: Stage) -> None:
    """The customer who came through Google buys again."""
    [(contact_id,)] = space.connection.execute(
        "SELECT contact_id FROM events WHERE space_id = %s AND amount = 100", (space.space_id,)
    ).fetchall()
    space.event(contact_id, amount=30, event_time="2026-05-14 12:00:00+00")
    answer = report(api, group_by="source")
    names = ("source", "credited_revenue", "new_customers", "new_customer_revenue")
    assert rows(answer, *names) == [("google_ads", 130, 1, 100), ("email", 20, 1, 20)]
    assert answer["totals"]["new_customer_revenue"] == 120


@pytest.mark.parametrize("model", ["linear", "u_shaped", "time_decay", "shapley_distinct", "last_touch"])
def test_customer_of_two_platforms_is_one_customer(api: Api, space: Stage, model: str) -> None:
    """The customer counts in each platform's row, and once in the totals. A model with a single touch credits
    only one platform.
    """
    contact_id = space.contact()
    for hour, source in ((9, "google_ads"), (10, "facebook_ads"), (11, "instagram_ads")):
        space.touchpoint(contact_id, source, occurred_at=f"2026-05-13 {hour}:00:00+00")
    space.event(contact_id, amount=60, event_time="2026-05-13 12:00:00+00")
    put(api, spend_row(12, "google", 20), spend_row(12, "meta", 10), spend_row(12, "tiktok", 5))
    parameters = {"attribution_model": model, "attribution_window": 30}
    shared_count = int(model != "last_touch")
    new_customers = dict(rows(report(api, **parameters), "platform", "new_customers"))
    assert (new_customers["google"], new_customers["meta"]) == (1 + shared_count, 1)
    tops = [report(api, **parameters, group_by=group) for group in ("platform", "source", "month", "none")]
    for answer in tops:
        assert (answer["with_spend"]["new_customers"], answer["with_spend"]["cac"]) == (2, 17.5)
        assert (answer["totals"]["new_customers"], answer["totals"]["cac"]) == (3, 17.5)
    assert rows(tops[2], "new_customers", "cac") == [(3, 17.5)]
    (narrow_row,) = rows(
        report(api, **parameters, group_by="month", only="platform:google"), "new_customers", "cac"
    )
    assert narrow_row == (1 + shared_count, Decimal(20) / (1 + shared_count))


@pytest.mark.usefixtures("space")
def test_contribution_after_the_cost_rate(api: Api, space: Stage) -> None:
    """Revenue minus cost of goods and spend, in rows and totals; null until there is a rate."""
    put(api, spend_row(12, "google", "25.123456"), spend_row(13, "billboard", 5))
    assert report(api)["totals"]["contribution"] is None
    space.connection.execute("UPDATE spaces SET cost_rate = 33.33 WHERE id = %s", (space.space_id,))
    answer = report(api)
    assert answer["cost_rate"] == Decimal("33.33")
    assert rows(answer, "platform", "contribution") == [
        ("google", Decimal("41.546544")), ("email", Decimal("13.334")),
    ]  # fmt: skip
    assert answer["unmatched"]["contribution"] == -5
    assert answer["totals"]["contribution"] == Decimal("49.880544")
    text = api.get("/reports/spend", params=MAY, accept="text/csv").text
    assert [row["contribution"] for row in csv.DictReader(io.StringIO(text))] == [
        "41.546544", "13.334", "-5",
    ]  # fmt: skip


@pytest.mark.usefixtures("space")
def test_campaigns_of_a_platform_and_what_is_not_broken_down(api: Api) -> None:
    campaign = {"account_id": "1", "campaign_id": "4711", "campaign_name": "Spring"}
    put(api, spend_row(12, "google", 25, **campaign), spend_row(12, "google", 40, account_id="1"),
        spend_row(12, "meta", 7))  # fmt: skip
    answer = report(api, group_by="campaign", only="platform:google")
    assert rows(answer, "campaign", "campaign_name", "spend", "credited_revenue") == [
        ("4711", "Spring", 25, 100)
    ]
    assert answer["unmatched"]["spend"] == 15
    assert answer["totals"]["spend"] == 40


def test_a_campaign_that_touchpoints_know_by_name_alone(api: Api, space: Stage) -> None:
    contact_id = space.contact()
    space.touchpoint(contact_id, "facebook_ads", occurred_at="2026-05-12 12:00:00+00", campaign_name="Summer")
    space.event(contact_id, amount=50, event_time="2026-05-13 12:00:00+00")
    put(api, spend_row(12, "meta", 20, campaign_id="9", campaign_name="Summer"))
    answer = report(api, group_by="campaign")
    assert ("Summer", 20, 50, Decimal("2.5")) in rows(answer, "campaign", "spend", "credited_revenue", "roas")
    for key in ("Summer", "9"):
        only = report(api, group_by="adset", only=f"campaign:{key}")
        assert (only["totals"]["spend"], only["totals"]["credited_revenue"]) == (20, 50)


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize(
    ("group", "names"),
    [("day", ["2026-05-13", "2026-05-20"]), ("week", ["2026-W20", "2026-W21"]), ("month", ["2026-05"])],
)
def test_a_time_with_spend_alone_is_named_like_others(api: Api, group: str, names: list[str]) -> None:
    put(api, spend_row(13, "google", 30), spend_row(20, "google", 10))
    assert [name for (name,) in rows(report(api, group_by=group), f"{group}_name")] == names
    put(api, spend_row(13, "meta", 30))
    answer = report(api, group_by=group, only="platform:meta")
    assert [name for (name,) in rows(answer, f"{group}_name")] == names[:1]


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize(
    ("group", "key"), [("day", "2026-05-13"), ("week", "2026-05-11"), ("month", "2026-05-01")]
)
def test_times(api: Api, group: str, key: str) -> None:
    put(api, spend_row(13, "google", 30), spend_row(13, "x", 10))
    answer = report(api, group_by=group)
    assert rows(answer, group, "spend", "credited_revenue") == [(key, 40, 120)]
    assert answer["unmatched"]["spend"] == 0


@pytest.mark.usefixtures("space")
def test_each_day_has_its_own_rate(api: Api) -> None:
    put(api, spend_row(12, "google", 10, currency="USD"), spend_row(19, "google", 10, currency="USD"))
    answer = report(api)
    assert answer["totals"]["spend"] == 0
    assert answer["left_out_spend"] == [
        {"currency": "USD", "amount": 20, "first_day": "2026-05-12", "last_day": "2026-05-19"}
    ]
    rate = {"base": "USD", "currency": "EUR"}
    rates = [{**rate, "date": "2026-05-12", "rate": 0.5}, {**rate, "date": "2026-05-19", "rate": 2}]
    api.send("PUT", "/rates", json={"rates": rates})
    assert report(api)["totals"]["spend"] == 25
    assert report(api, group_by="none")["totals"]["spend"] == 25


@pytest.mark.usefixtures("space")
def test_as_csv(api: Api) -> None:
    put(api, spend_row(12, "google", "25.123456"), spend_row(13, "billboard", 5))
    text = api.get("/reports/spend", params=MAY, accept="text/csv").text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [(row["platform"], row["spend"]) for row in table] == [
        ("google", "25.123456"), ("email", "0"), ("", "5"),
    ]  # fmt: skip


def test_spend_that_takes_too_long_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as an outage: it would take as long again."""

    async def list_days(*_: Any) -> list[Any]:
        raise psycopg.errors.QueryCanceled

    monkeypatch.setattr(period_spend, "list_days", list_days)
    assert report(api, 422)["reason"] == "too_much"


def test_other_groups_are_refused(api: Api) -> None:
    errors = report(api, 422, group_by="keyword", only="event:purchase")["errors"]
    assert sorted(errors) == ["group_by", "only"]


BILLED = {source: owner for source in SOURCES if (owner := find_billing_platform(source)) is not None}


@pytest.mark.parametrize("source", BILLED)
def test_spend_on_every_platform_meets_its_credit(api: Api, space: Stage, source: str) -> None:
    """E-mail, affiliates and directories cost money, too."""
    contact_id = space.contact()
    space.touchpoint(contact_id, source, occurred_at="2026-05-12 12:00:00+00")
    space.event(contact_id, amount=300, event_time="2026-05-13 12:00:00+00")
    put(api, spend_row(13, BILLED[source], 10))
    revenue_by_source = {"google_ads": 100, "email": 20}
    credit = 300 + sum(
        revenue_by_source[name] for name in revenue_by_source if BILLED[name] == BILLED[source]
    )
    figures = ("spend", "credited_revenue", "roas")
    answer = report(api)
    assert (BILLED[source], 10, credit, credit / 10) in rows(answer, "platform", *figures)
    for group in pick_share(("platform", "source", "campaign", "day", "month", "none"), source, 3):
        totals = report(api, group_by=group)["with_spend"]
        assert tuple(totals[name] for name in figures) == (10, credit, credit / 10)
    only = report(api, only=f"platform:{BILLED[source]}")
    assert tuple(only["totals"][name] for name in figures) == (10, credit, credit / 10)
    assert answer["unmatched"]["spend"] == 0


def test_too_many_groups_with_credit_are_refused_as_such(
    api: Api, space: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact_id = space.contact()
    space.touchpoint(contact_id, "google_ads", occurred_at="2026-05-12 12:00:00+00", campaign_id="4712")
    space.event(contact_id, amount=1, event_time="2026-05-13 12:00:00+00")
    monkeypatch.setattr(cost_figures, "MOST_CREDITED_GROUPS", 2)
    refusal = report(api, 422, group_by="campaign")
    assert refusal["reason"] == "too_much"
    assert "groups have credit" in refusal["message"]
    assert len(report(api, group_by="platform")["rows"]) == 2
