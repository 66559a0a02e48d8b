"""`only`: reports of the events and touches behind a row."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api

DAY = timedelta(days=1)
MONEY = {"measures[]": ["credited_revenue", "events"], "attribution_model": "linear"}


def report(api: Api, **parameters: Any) -> dict[str, Any]:
    response = api.get("/reports", params={**RANGE, **parameters})
    assert response.status_code == 200, response.text
    return response.json()


def totals(api: Api, *conditions: str, **parameters: Any) -> list[float]:
    query_parameters = {**MONEY, "group_by[]": "none", "only[]": list(conditions), **parameters}
    return list(report(api, **query_parameters)["totals"].values())


def sell(stage: Stage) -> dict[str, int]:
    """Store three purchases: Ada comes through an ad and an e-mail and buys for 100, and the next day for 10,
    with 3 refunded immediately. Bob has no touch and buys for 20.
    """
    company_id = stage.company()
    ada = stage.contact(name="Ada", country="DE", company_id=company_id)
    spring = {"campaign_id": "4711", "campaign_name": "Spring: sale", "keyword": "boots"}
    stage.touchpoint(ada, "google_ads", occurred_at=NOON - 2 * DAY, **spring)
    stage.touchpoint(ada, "email", occurred_at=NOON - DAY, campaign_name="News: May")
    stage.event(ada, amount=Decimal(100), company_id=company_id)
    stage.event(ada, amount=Decimal(10), event_time=NOON + DAY, event_name="upsell_purchase")
    stage.event(ada, amount=Decimal(-3), event_time=NOON + DAY)
    bob = stage.contact()
    stage.event(bob, amount=Decimal(20))
    return {"ada": ada, "bob": bob, "company": company_id}


def test_it_works(api: Api, stage: Stage) -> None:
    sell(stage)
    assert totals(api, "channel:paid") == [53.5, 3]
    assert totals(api, "channel:paid", "channel:email") == [107, 3]
    assert totals(api, "channel:paid", "event:purchase") == [48.5, 2]
    assert totals(api, "channel:paid", "campaign:4711", "source:google_ads") == [53.5, 3]
    assert totals(api, "channel:paid", "campaign:News: May") == [0, 0]


def test_keys_of_events(api: Api, stage: Stage) -> None:
    ids = sell(stage)
    assert totals(api, "country:DE") == [107, 3]
    assert totals(api, "country:") == [0, 1]
    assert totals(api, f"contact:{ids['bob']}") == [0, 1]
    assert totals(api, f"company:{ids['company']}") == [100, 1]
    assert totals(api, "company:") == [7, 3]
    assert totals(api, f"day:{NOON:%Y-%m-%d}") == [100, 2]
    assert totals(api, "month:2026-05", "weekday:3", "hour:12") == [100, 2]
    assert totals(api, "week:2026-05-11") == [107, 4]
    assert totals(api, "month:2026-05", "month:2026-07") == [107, 4]
    assert totals(api, "month:2026-05", "week:2026-07-06") == [0, 0]


def test_new_customers(api: Api, stage: Stage) -> None:
    sell(stage)
    answer = report(api, **{"measures[]": ["revenue", "new_customers"], "group_by[]": "customer"})
    assert answer["rows"] == [["new", 120, 2], ["returning", 7, 0]]
    assert totals(api, "customer:new") == [100, 2]
    assert totals(api, "customer:returning") == [7, 2]
    assert totals(api, "customer:") == [0, 0]
    upsells = {"event_names[]": "upsell_purchase"}
    assert totals(api, "customer:new", **upsells) == [10, 1]


def test_touches_without_a_key(api: Api, stage: Stage) -> None:
    sell(stage)
    assert totals(api, "keyword:") == [53.5, 3]
    assert totals(api, "keyword:", "keyword:boots") == [107, 3]
    assert report(api, **MONEY, **{"only[]": "keyword:"})["unattributed"] is None


def test_times_of_touches(api: Api, stage: Stage) -> None:
    sell(stage)
    day = f"day:{NOON - DAY:%Y-%m-%d}"
    assert totals(api, day, date_basis="touch") == [53.5, 3]
    assert totals(api, day) == [0, 0]


def test_a_step_is_compared_with_what_its_row_is(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for days, amount in ((0, 10), (1, 5), (-2, 4), (-1, 2)):
        stage.event(contact_id, amount=Decimal(amount), event_time=NOON + days * DAY)
    parameters = {
        "measures[]": "revenue", "compare": "previous_period",
        "start_date": f"{NOON:%Y-%m-%d} 00:00:00", "end_date": f"{NOON + DAY:%Y-%m-%d} 23:59:59",
    }  # fmt: skip
    _, second = report(api, **parameters, **{"group_by[]": "day"})["rows"]
    assert second == [f"{NOON + DAY:%Y-%m-%d}", 5, 2, 1.5]
    alone = report(api, **parameters, **{"only[]": f"day:{second[0]}"})
    assert list(alone["totals"].values()) == second[1:]


@pytest.mark.parametrize(
    "condition",
    ["campaign:0815", "country:de", "event:x", "contact:x", "contact:",
     "contact:9" + "9" * 30, "company:0", "weekday:8", "hour:7", "day:2026-05-13 ", "month:",
     "day:1999-01-01", "customer:old"],
)  # fmt: skip
def test_a_key_that_nothing_has(api: Api, stage: Stage, condition: str) -> None:
    sell(stage)
    assert totals(api, condition) == [0, 0]


def test_another_space_has_the_same_keys(api: Api, stage: Stage, connection: psycopg.Connection) -> None:
    other_ids = sell(make_stage(connection))
    assert totals(api, f"contact:{other_ids['ada']}") == [0, 0]
    sell(stage)
    assert totals(api, f"contact:{other_ids['ada']}") == [0, 0]
    assert totals(api, "country:DE") == [107, 3]


@pytest.mark.parametrize("conditions", ["", "paid", "planet:mars", "channel", ":x"])
def test_bad_conditions_are_refused(api: Api, conditions: str) -> None:
    response = api.get("/reports", params={**RANGE, "only[]": conditions})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["only"]


def test_too_many_days(api: Api) -> None:
    parameters = {"start_date": "1990-01-01 00:00:00", "end_date": "2026-01-01 00:00:00"}
    response = api.get("/reports", params={**parameters, "only[]": "day:2026-01-01"})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["only"]


def test_paths_take_keys_of_events(api: Api, stage: Stage) -> None:
    sell(stage)
    response = api.get("/reports/paths", params={**RANGE, "only[]": ["customer:new", "country:DE"]})
    assert response.json()["totals"]["revenue"] == 100
    refusal = api.get("/reports/paths", params={**RANGE, "only[]": "channel:paid"})
    assert list(refusal.json()["errors"]) == ["only"]
