"""GET /reports/cohorts: the revenue of each month's new customers, and when they paid back."""

from __future__ import annotations

import csv
import io
import random
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from headwater.http.inputs.timerange import months_after
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.reading_fixtures import Api
from tests.support.report_model.cohorts import payback

TODAY = datetime.now(UTC).date()
DECODE = msgspec.json.Decoder(float_hook=Decimal).decode


def month(months_ago: int) -> str:
    """Return an earlier month, in the format of reports."""
    return f"{months_after(TODAY, -months_ago):%Y-%m}"


def moment(months_ago: int, day: int = 10) -> str:
    return f"{month(months_ago)}-{day:02} 12:00:00+00"


WHOLE = {"period": f"{month(5)}-01 to {TODAY}"}


def spend_row(months_ago: int, platform: str, amount: Any, **columns: Any) -> dict[str, Any]:
    return {"date": f"{month(months_ago)}-03", "platform": platform, "amount": amount, "currency": "EUR",
            **columns}  # fmt: skip


def put(api: Api, *rows: Any) -> None:
    response = put_spend(api, rows)
    assert response.status_code == 200, response.text


def report(api: Api, status: int = 200, **params: Any) -> Any:
    response = api.get("/reports/cohorts", params={**WHOLE, **params})
    assert response.status_code == status, response.text
    return DECODE(response.content)


def figures(rows: list[dict[str, Any]], *names: str) -> list[list[Any]]:
    return [[row[name] for name in names] for row in rows]


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space in euros. Three months ago Anna came through an ad and then an e-mail and ordered for 100. She
    bought for 50 a month later, returned 20, and buys again this month. Ben came directly the month after
    her, for 30.
    """
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    anna, ben = stage.contact(), stage.contact()
    stage.touchpoint(anna, "tiktok_ads", occurred_at=moment(3, 8), campaign_id="4711")
    stage.touchpoint(anna, "email", occurred_at=moment(3, 9))
    stage.event(anna, amount=100, event_time=moment(3))
    stage.touchpoint(anna, "direct", occurred_at=moment(2, 9))
    stage.event(anna, amount="50.01", event_time=moment(2))
    stage.event(anna, amount=-20, event_time=moment(2, 11))
    stage.event(anna, amount=7, event_time=f"{TODAY:%Y-%m}-01 00:00:00+00")
    stage.event(ben, amount=30, event_time=moment(2))
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(api: Api) -> None:
    put(api, spend_row(3, "tiktok", 60), spend_row(2, "tiktok", 10), spend_row(3, "billboard", 5))
    answer = report(api, attribution_model="linear")
    by_key = {row["key"]: row for row in answer["cohorts"] if row["new_customers"]}
    google, email = by_key["tiktok_ads"], by_key["email"]
    assert (google["month"], google["new_customers"], google["spend"]) == (month(3), 1, 60)
    assert google["revenue"] == [50, Decimal("15.01"), 0, Decimal("3.5")]
    assert email["revenue"] == [50, 15, 0, Decimal("3.5")]
    so_far = [50, Decimal("65.01"), Decimal("65.01"), Decimal("68.51")]
    assert google["cumulative_revenue"] == so_far
    assert google["customers"] == [1, 1, 0, 1]
    assert (google["cac"], google["payback"], google["payback_month"]) == (60, "reached", 1)
    assert google["complete_months"] == 3
    assert (email["payback"], email["payback_month"]) == ("no_spend", None)
    assert google["contribution"] is None
    totals = {row["month"]: row for row in answer["totals"]}
    assert len(totals) == 4, "from the first order on"
    assert totals[month(3)]["revenue"] == [100, Decimal("30.01"), 0, 7]
    assert totals[month(2)]["revenue"] == [30, 0, 0]
    unattributed = {row["month"]: row["revenue"] for row in answer["unattributed"]}
    assert unattributed[month(2)] == [30, 0, 0]
    assert [row["spend"] for row in answer["unmatched"]] == [5, 0, 0, 0]
    assert figures(answer["groups"], "key", "new_customers", "spend", "revenue") == [
        ["tiktok_ads", 1, 70, Decimal("68.51")], ["email", 1, 0, Decimal("68.5")],
    ]  # fmt: skip


@pytest.mark.parametrize("group", ["source", "platform", "channel", "landing_page", "campaign"])
def test_all_spend_is_in_a_row_or_unmatched(api: Api, space: Stage, group: str) -> None:
    """The part of a shared bill that the ledger has by source is in no row by source."""
    contact = space.contact()
    space.touchpoint(contact, "instagram_ads", occurred_at=moment(3, 8))
    space.event(contact, amount=5, event_time=moment(3))
    put(
        api, spend_row(3, "tiktok", 60), spend_row(3, "meta", 30), spend_row(3, "instagram", 7),
        spend_row(3, "youtube", 2),
    )  # fmt: skip
    answer = report(api, group_by=group)
    spend = sum(row["spend"] or 0 for row in answer["groups"])
    unmatched = sum(row["spend"] for row in answer["unmatched"])
    assert spend + unmatched == sum(row["spend"] for row in answer["totals"]) == 99
    if group == "source":
        assert (spend, unmatched) == (60, 39)


def test_left_out_money_would_have_counted(api: Api, space: Stage) -> None:
    """A sign-up brings no revenue here, so its amount is missing in no sum."""
    for name in ("sign_up", "upsell_purchase"):
        space.event(space.contact(), event_name=name, amount=3, currency="XAF", event_time=moment(2))
    space.connection.execute(
        "INSERT INTO currency_days (space_id, currency, day) VALUES (%s, 'XAF', %s)",
        (space.space_id, f"{month(2)}-10"),
    )
    (left_out,) = report(api)["left_out_money"]
    assert (left_out["events"], left_out["amount"]) == (1, 3)


@pytest.mark.parametrize(("group", "known"), [("source", {"tiktok_ads", "email"}), ("landing_page", set())])
def test_without_its_spend_a_key_has_no_contribution(
    api: Api, space: Stage, group: str, known: set[str]
) -> None:
    """What its ads cost is unknown, not 0; nobody is paid for unattributed orders."""
    space.connection.execute("UPDATE spaces SET cost_rate = 50 WHERE id = %s", (space.space_id,))
    contact = space.contact()
    space.touchpoint(contact, "instagram_ads", occurred_at=moment(3, 8))
    space.event(contact, amount=5, event_time=moment(3))
    put(api, spend_row(3, "tiktok", 60), spend_row(3, "meta", 30))
    answer = report(api, group_by=group, attribution_model="linear")
    assert {row["key"] for row in answer["groups"] if row["contribution"] is not None} == known
    assert {row["key"] for row in answer["cohorts"] if row["contribution"] is not None} == known
    assert answer["unattributed"][1]["contribution"] == [15, 15, 15]


@pytest.mark.usefixtures("space")
def test_payback_after_the_cost_rate(api: Api, space: Stage) -> None:
    put(api, spend_row(3, "tiktok", 60))
    space.connection.execute("UPDATE spaces SET cost_rate = 50 WHERE id = %s", (space.space_id,))
    (row,) = report(api, only="source:tiktok_ads", attribution_model="first_touch")["cohorts"]
    assert (row["payback"], row["payback_month"]) == ("reached", 1)
    assert row["contribution"] == [-10, Decimal("5.005"), Decimal("5.005"), Decimal("8.505")]
    put(api, spend_row(3, "tiktok", 80))
    (row,) = report(api, only="source:tiktok_ads", attribution_model="first_touch")["cohorts"]
    assert (row["payback"], row["payback_month"]) == ("not_yet", None)


@pytest.mark.usefixtures("space")
def test_campaigns_of_a_source(api: Api) -> None:
    put(api, spend_row(3, "tiktok", 60, account_id="1", campaign_id="4711", campaign_name="Spring"),
        spend_row(3, "tiktok", 75, account_id="1"), spend_row(3, "meta", 9))  # fmt: skip
    answer = report(api, group_by="campaign", only="source:tiktok_ads", attribution_model="linear")
    assert figures(answer["cohorts"], "key", "name", "new_customers", "spend") == [["4711", "Spring", 1, 60]]
    assert answer["unattributed"] is None
    assert sum(row["spend"] for row in answer["unmatched"]) == 15
    assert sum(row["spend"] for row in answer["totals"]) == 75
    channels = report(api, group_by="channel", attribution_model="linear")
    assert figures(channels["groups"], "key", "spend") == [["paid", 84], ["email", 0]]
    keywords = report(api, group_by="keyword", attribution_model="linear")
    assert figures(keywords["groups"], "key", "spend", "cac") == [[None, None, None]]
    assert sum(row["spend"] for row in keywords["unmatched"]) == 84


@pytest.mark.usefixtures("space")
def test_companies_as_customers(api: Api, space: Stage) -> None:
    """The first person of a company to order acquires it, through a touch of any of its people."""
    company = space.company()
    first, second = space.contact(company_id=company), space.contact(company_id=company)
    space.touchpoint(first, "bing_ads", occurred_at=moment(4, 8), company_id=company)
    space.event(second, amount=10, event_time=moment(4), company_id=company)
    space.event(first, amount=11, event_time=moment(3), company_id=company)
    answer = report(api, query_mode="company", only="source:bing_ads")
    (row,) = answer["cohorts"]
    assert (row["month"], row["new_customers"], row["revenue"][:2]) == (month(4), 1, [10, 11])
    (row,) = report(api, only="source:bing_ads", attribution_window=90)["cohorts"]
    assert row["month"] == month(3)


@pytest.mark.usefixtures("space")
def test_each_day_has_its_own_rate(api: Api) -> None:
    put(api, spend_row(3, "tiktok", 10, currency="USD"))
    day = f"{month(3)}-03"
    assert report(api)["left_out_spend"] == [
        {"currency": "USD", "amount": 10, "first_day": day, "last_day": day}
    ]
    rate = {"date": f"{month(3)}-03", "base": "USD", "currency": "EUR", "rate": 2}
    api.send("PUT", "/rates", json={"rates": [rate]})
    answer = report(api)
    assert (sum(row["spend"] for row in answer["totals"]), answer["left_out_spend"]) == (20, [])


@pytest.mark.usefixtures("space")
def test_as_csv(api: Api) -> None:
    put(api, spend_row(3, "tiktok", 60))
    text = api.get(
        "/reports/cohorts", params={**WHOLE, "attribution_model": "linear"}, accept="text/csv"
    ).text
    lines = list(csv.DictReader(io.StringIO(text)))
    google = [line for line in lines if line["source"] == "tiktok_ads"]
    assert [
        (line["month"], line["months_since"], line["revenue"], line["complete"]) for line in google
    ] == [
        (month(3), "0", "50", "true"), (month(3), "1", "15.01", "true"),
        (month(3), "2", "0", "true"), (month(3), "3", "3.5", "false"),
    ]  # fmt: skip
    assert {(line["payback"], line["payback_month"]) for line in google} == {("reached", "1")}
    assert lines[-1]["source_name"] == "unattributed"
    total = sum(Decimal(line["revenue"]) for line in lines)
    assert total == Decimal("167.01")


def test_what_does_not_fit_is_refused(api: Api) -> None:
    errors = report(api, 422, group_by="country", only="country:DE")["errors"]
    assert sorted(errors) == ["group_by", "only"]
    assert sorted(report(api, 422, period="2001")["errors"]) == ["period"]
    future = report(api, 422, period=f"{TODAY.year + 1}")
    assert "after this month" in future["errors"]["period"][0]


@pytest.mark.usefixtures("space")
def test_the_events_behind_a_figure(api: Api) -> None:
    """The list has the full events of a cohort's customers in one month."""
    last = months_after(TODAY, -1) - TODAY.resolution
    behind = {
        "start_date": f"{month(2)}-01 00:00:00", "end_date": f"{last} 23:59:59",
        "attribution_model": "linear", "credit": "all", "acquired": month(3),
    }  # fmt: skip
    for by, events, amount in (
        ([], 2, Decimal("30.01")), (["source:tiktok_ads"], 2, Decimal("30.01")),
        (["source:direct"], 0, 0), (["unattributed"], 0, 0),
    ):  # fmt: skip
        answer = DECODE(api.get("/reports/credits", params={**behind, "acquired_by": by}).content)
        assert (answer["totals"]["events"], answer["totals"]["amount"]) == (events, amount), by
    for wrong in (
        {"acquired_by": ["source:email"]},
        {"acquired": month(3), "acquired_by": ["unattributed", "source:email"]},
        {"acquired": month(3), "acquired_by": ["source:no_such_source"]},
    ):
        refusal = api.get("/reports/credits", params={**behind, "acquired": None, **wrong})
        assert (refusal.status_code, [*refusal.json()["errors"]]) == (422, ["acquired_by"])
    assert sorted(api.get("/reports/credits", params={"acquired": "2026-13"}).json()["errors"]) == [
        "acquired"
    ]


def test_random_ledgers_and_paybacks(api: Api, space: Stage) -> None:
    """In every month, the spend of all rows plus unmatched spend equals the ledger. In every later month, the
    revenue of all rows plus unattributed revenue equals the total. Payback equals a plain model's.
    """
    rng = random.Random(7)
    for number in range(40):
        contact = space.contact()
        for source in rng.sample(["tiktok_ads", "facebook_ads", "email"], rng.randrange(4)):
            space.touchpoint(contact, source, occurred_at=moment(5, 1 + number % 5))
        for _ in range(rng.randrange(1, 5)):
            amount = Decimal(rng.randrange(-500, 5_000)) / 100
            space.event(contact, amount=amount, event_time=moment(rng.randrange(1, 6), 10))
    put(api, *(
        spend_row(ago, platform, str(Decimal(rng.randrange(20_000)) / 100), account_id=f"{ago}")
        for ago in range(1, 6) for platform in ("tiktok", "meta", "billboard")
    ))  # fmt: skip
    space.connection.execute("UPDATE spaces SET cost_rate = 30 WHERE id = %s", (space.space_id,))
    for model in ("linear", "time_decay", "last_touch", "u_shaped"):
        answer = report(api, attribution_model=model, attribution_window=0)
        for total, unattributed, unmatched in zip(
            answer["totals"], answer["unattributed"], answer["unmatched"], strict=True
        ):
            rows = [row for row in answer["cohorts"] if row["month"] == total["month"]]
            assert sum(row["spend"] or 0 for row in rows) + unmatched["spend"] == total["spend"]
            for since, revenue in enumerate(total["revenue"]):
                parts = sum(row["revenue"][since] for row in [*rows, unattributed])
                assert parts == revenue, (model, total["month"], since)
            for row in [*rows, total]:
                if row["spend"]:
                    revenues = [Fraction(cell) for cell in row["revenue"]]
                    month_ = payback(revenues, Fraction(row["spend"]), Fraction(30))
                    assert row["payback_month"] == month_
