"""GET /reports/credits: the events behind a figure."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.upkeep import forget_space
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api

DAY = timedelta(days=1)


def page(api: Api, **params: Any) -> dict[str, Any]:
    response = api.get("/reports/credits", params={**RANGE, **params})
    assert response.status_code == 200, response.text
    return response.json()


def sell(stage: Stage) -> int:
    """Store three sales: Ada comes through an ad and an e-mail and buys for 100; Bob has no touch and buys
    for 20; Cem's only visit was long ago, and he buys for 5.
    """
    company_id = stage.company(name="Acme")
    ada = stage.contact(name="Ada", country="DE", company_id=company_id)
    spring = {"campaign_id": "4711", "campaign_name": "Spring", "keyword": "boots"}
    stage.touchpoint(ada, "google_ads", occurred_at=NOON - 2 * DAY, **spring)
    stage.touchpoint(ada, "email", occurred_at=NOON - DAY)
    stage.event(ada, amount=Decimal(100), company_id=company_id, order_id="o1")
    stage.event(stage.contact(), amount=Decimal(20), event_time=NOON + DAY)
    cem = stage.contact()
    stage.touchpoint(cem, "direct", occurred_at=NOON - 60 * DAY)
    stage.event(cem, amount=Decimal(5), event_time=NOON - DAY)
    return ada


def test_it_works(api: Api, stage: Stage) -> None:
    ada = sell(stage)
    answer = page(api, **{"only[]": "channel:paid"}, attribution_model="linear")
    assert answer["totals"] == {
        "events": 1, "amount": 100, "credited_events": 0.5, "credited_revenue": 50,
    }  # fmt: skip
    assert answer["credit"] == "credited"
    (row,) = answer["data"]
    touches = row.pop("touches")
    assert row.pop("event_id") > 0
    assert row.pop("company_id") > 0
    assert row == {
        "event_time_utc": "2026-05-13T12:00:00Z", "event_name": "purchase",
        "configured_name": "purchase", "contact_id": ada, "contact_name": "Ada",
        "company_name": "Acme", "order_id": "o1", "amount": 100, "credited_events": 0.5,
        "credited_revenue": 50, "unattributed_reason": None, "left_out": 0,
        "original_amount": 100, "original_currency": "USD",
    }  # fmt: skip
    assert touches == [
        {
            "event_time_utc": "2026-05-11T12:00:00Z", "source": "google_ads", "channel": "paid",
            "campaign_id": "4711", "campaign_name": "Spring", "adset_id": None,
            "adset_name": None, "ad_id": None, "ad_name": None, "keyword": "boots",
            "landing_page": None, "credited_events": 0.5, "credited_revenue": 50,
        }
    ]  # fmt: skip


def test_of_what_became_of_the_credit(api: Api, stage: Stage) -> None:
    sell(stage)
    reasons = {row["amount"]: row["unattributed_reason"] for row in page(api)["data"]}
    assert reasons == {20: "no_touch", 100: None, 5: "outside_window"}
    amounts = {
        credit: [row["amount"] for row in page(api, credit=credit)["data"]]
        for credit in ("all", "credited", "unattributed", "no_touch", "not_counted", "touched")
    }
    assert amounts == {
        "all": [20, 100, 5], "credited": [100], "unattributed": [20, 5], "no_touch": [20],
        "not_counted": [], "touched": [100],
    }  # fmt: skip
    totals = page(api, credit="unattributed")["totals"]
    assert list(totals.values()) == [2, 25, 0, 0]
    paid = page(api, credit="not_counted", attribution_model="linear_paid", attribution_window=0)
    assert [row["amount"] for row in paid["data"]] == [5]


def test_touched_events_have_all_their_touches(api: Api, stage: Stage) -> None:
    sell(stage)
    (row,) = page(api, credit="touched")["data"]
    credits_ = [(touch["source"], touch["credited_revenue"]) for touch in row["touches"]]
    assert credits_ == [("google_ads", 0), ("email", 100)]
    filtered_page = page(api, credit="touched", sources="google_ads")
    assert filtered_page["totals"] == {
        "events": 1, "amount": 100, "credited_events": 0, "credited_revenue": 0,
    }  # fmt: skip


def test_pages(api: Api, stage: Stage) -> None:
    """While new events arrive, the pages still list the old ones in order, forward and back."""
    contact_id = stage.contact()
    ids = [stage.event(contact_id, event_time=NOON + number // 2 * DAY) for number in range(5)]
    first = page(api, per_page=2)
    stage.event(contact_id, event_time=NOON + 9 * DAY)
    second = page(api, per_page=2, cursor=first["next_cursor"])
    last = page(api, per_page=2, cursor=second["next_cursor"])
    listed_ids = [row["event_id"] for answer in (first, second, last) for row in answer["data"]]
    assert listed_ids == ids[::-1]
    assert (first["totals"]["events"], last["totals"]["events"]) == (5, 6)
    assert (first["prev_cursor"], last["next_cursor"]) == (None, None)
    back = page(api, per_page=2, cursor=last["prev_cursor"])
    assert back["data"] == second["data"]
    refusal = api.get("/reports/credits", params={**RANGE, "cursor": first["next_cursor"],
                                                  "credit": "touched"})  # fmt: skip
    assert list(refusal.json()["errors"]) == ["cursor"]


def test_the_same_before_and_after_building(api: Api, stage: Stage) -> None:
    sell(stage)
    live = page(api)
    forget_space(stage.connection, stage.space_id)
    assert page(api) == live
    while build_next(stage.connection, stage.space_id):
        pass
    assert page(api) == live


def test_both_ends_of_many_touches(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for index in range(60):
        stage.touchpoint(contact_id, "email" if index else "sms", occurred_at=NOON - (60 - index) * DAY / 9)
    stage.event(contact_id, amount=Decimal(6))
    (row,) = page(api, attribution_model="linear")["data"]
    assert (len(row["touches"]), row["left_out"], row["credited_revenue"]) == (50, 10, 6)
    assert row["touches"][0]["source"] == "sms"


def test_as_csv(api: Api, stage: Stage) -> None:
    sell(stage)
    parameters = {**RANGE, "credit": "credited", "attribution_model": "linear"}
    response = api.get("/reports/credits", params=parameters, accept="text/csv")
    assert response.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(response.text))
    assert (row["amount"], row["credited_events"], row["contact_name"]) == ("100", "1", "Ada")
    assert row["touches"] == "google_ads > email"


def test_by_date_of_the_touch(api: Api, stage: Stage) -> None:
    sell(stage)
    day = {"start_date": "2026-05-11 00:00:00", "end_date": "2026-05-11 23:59:59"}
    answer = page(api, **day, date_basis="touch", attribution_model="linear")
    assert [row["credited_revenue"] for row in answer["data"]] == [50]
    assert page(api, **day)["data"] == []


@pytest.mark.parametrize(
    ("field", "parameters"),
    [("credit", {"credit": "some"}), ("credit", {"credit": "no_touch", "sources": "email"}),
     ("credit", {"credit": "all", "date_basis": "touch"}), ("per_page", {"per_page": "0"}),
     ("attribution_model", {"attribution_model": "magic"}), ("cursor", {"cursor": "x"}),
     ("only", {"only": "x"}), ("acquired", {"acquired": "2026-5"}), ("period", {"period": "today"})],
)  # fmt: skip
def test_bad_parameters_are_refused(api: Api, field: str, parameters: dict[str, Any]) -> None:
    response = api.get("/reports/credits", params={**RANGE, **parameters})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]
