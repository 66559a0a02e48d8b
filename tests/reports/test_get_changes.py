"""GET /reports/changes: why a figure differs from what it was."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from headwater.attribution.history import past
from headwater.attribution.history.revisions import begin_era, forget
from headwater.attribution.history.states import Family, FamilyHistory, Transition, gather_families
from headwater.intake.merging.unmerge import unmerge
from headwater.reports.changes import event_sums
from headwater.reports.engine import report_reader
from headwater.spend.rates.store import ReferenceRate, put_reference_rates
from tests.support.factories import Stage as SpaceStage
from tests.support.pipeline import DAY, T0, Stage, event, touch
from tests.support.reading_fixtures import Api
from tests.support.trained_models import plant_trained_model

OCTOBER = {"start_date": "2025-10-01 00:00:00", "end_date": "2025-10-31 23:59:59"}
ADA = {"email": "ada@example.com"}
BY_SOURCE = {"measures[]": ["credited_revenue"], "attribution_model": "linear"}


@pytest.fixture
def shop(stage: SpaceStage) -> Stage:
    """The Space of the API's key, with Ada, who came through an ad and bought for 100."""
    shop = Stage(stage.connection, stage.space_id)
    shop.run(touch(**ADA, occurred_at=T0 - 2 * DAY), event(**ADA, amount="100"))
    return shop


def read(api: Api, **parameters: Any) -> str:
    response = api.get("/reports", params={**OCTOBER, **BY_SOURCE, **parameters})
    assert response.status_code == 200, response.text
    return response.json()["snapshot"]


def changes(api: Api, start: str, **parameters: Any) -> dict[str, Any]:
    response = api.get("/reports/changes", params={**OCTOBER, **BY_SOURCE, "since": start, **parameters})
    assert response.status_code == 200, response.text
    return response.json()


def refusal(api: Api, snapshot: str, parameters: dict[str, Any]) -> tuple[int, Any]:
    response = api.get("/reports/changes", params={**OCTOBER, **BY_SOURCE, "since": snapshot, **parameters})
    return response.status_code, response.json()


@pytest.mark.parametrize("days", [7, 30])
def test_a_touch_at_the_start_of_the_window_has_credit(api: Api, shop: Stage, days: int) -> None:
    """Both ends of a window are inclusive."""
    bob = {"email": "bob@example.com"}
    shop.run(touch(**bob, occurred_at=T0 - days * DAY), event(**bob, amount="20"))
    snapshot = read(api, attribution_window=days)
    shop.run(touch(**bob, occurred_at=T0 - DAY, source="email"))
    answer = changes(api, snapshot, attribution_window=days)
    differences = {row["source"]: row["difference"]["credited_revenue"] for row in answer["rows"]}
    assert differences == {"email": 10, "google_ads": -10}
    assert answer["unexplained"] == {"credited_revenue": 0}


def test_it_works(api: Api, shop: Stage) -> None:
    snapshot = read(api)
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="email"))
    late = shop.run(event(email="bob@example.com", amount="20"))
    answer = changes(api, snapshot)
    assert answer["since"]["snapshot"] == snapshot
    assert answer["rows"] == [
        {
            "source": source,
            "before": {"credited_revenue": before}, "after": {"credited_revenue": 50},
            "difference": {"credited_revenue": 50 - before},
            "causes": {"late_touches": {"credited_revenue": 50 - before}},
        }
        for source, before in (("email", 0), ("google_ads", 100))
    ]  # fmt: skip
    assert answer["overall"] == {
        "before": {"credited_revenue": 100}, "after": {"credited_revenue": 120},
        "difference": {"credited_revenue": 20}, "causes": {"late_events": {"credited_revenue": 20}},
    }  # fmt: skip
    assert answer["unattributed"]["causes"] == {"late_events": {"credited_revenue": 20}}
    assert answer["unexplained"] == {"credited_revenue": 0}
    (largest,) = answer["causes"]["late_events"]["largest"]
    assert (largest["event_id"], largest["revenue"], largest["events"]) == (late[0], 20, 1)
    (largest_touch,) = answer["causes"]["late_touches"]["largest"]
    assert largest_touch["rows"] == [
        {"source": "email", "credited_revenue": 50},
        {"source": "google_ads", "credited_revenue": -50},
    ]


def test_time_is_over_between_events(api: Api, shop: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = read(api)
    shop.run(*(event(**ADA, amount="20") for _ in range(3)))
    passed_seconds = 0.0
    transitions = FamilyHistory.transitions

    def list_slowly(history: FamilyHistory, first: int) -> Iterator[Transition]:
        nonlocal passed_seconds
        for transition in transitions(history, first):
            passed_seconds += report_reader.SECONDS / 2
            yield transition

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_seconds)
    monkeypatch.setattr(report_reader, "time", clock)
    monkeypatch.setattr(FamilyHistory, "transitions", list_slowly)
    status, body = refusal(api, snapshot, {})
    assert (status, body["message"]) == (422, "This report takes too long. Narrow the range.")
    assert passed_seconds == report_reader.SECONDS


def test_the_event_loop_does_not_wait_for_versions(
    api: Api, shop: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other requests of the process are answered meanwhile."""
    snapshot = read(api)
    shop.run(event(**ADA, amount="20"))
    loops: list[object] = []

    def gather(*values: Any) -> list[Family]:
        loops.append(asyncio._get_running_loop())
        return gather_families(*values)

    monkeypatch.setattr(past, "gather_families", gather)
    assert changes(api, snapshot)["overall"]["difference"] == {"credited_revenue": 20}
    assert loops == [None]


@pytest.mark.usefixtures("shop")
def test_nothing_has_changed(api: Api) -> None:
    answer = changes(api, read(api))
    assert (answer["rows"], answer["causes"]) == ([], {})
    assert answer["totals"]["difference"] == {"credited_revenue": 0}


def test_an_edit_and_a_deletion(api: Api, shop: Stage) -> None:
    first = read(api)
    (event_id,) = shop.values("events", "id")
    assert api.send("PUT", f"/events/{event_id}", json={"amount": 80}).status_code == 200
    second = read(api)
    assert api.send("DELETE", f"/events/{event_id}").status_code == 200
    assert changes(api, first)["overall"]["causes"] == {
        "edits": {"credited_revenue": -20}, "deletions": {"credited_revenue": -80},
    }  # fmt: skip
    between = changes(api, first, until=second)
    assert between["overall"]["causes"] == {"edits": {"credited_revenue": -20}}
    (deletion,) = changes(api, second)["causes"]["deletions"]["largest"]
    assert (deletion["event_id"], deletion["is_stored"]) == (event_id, False)


def test_a_merge_and_its_undoing(api: Api, shop: Stage, database_url: str) -> None:
    shop.run(touch(tracking_id="u1", occurred_at=T0 - DAY, source="email"))
    first = read(api)
    shop.run(event(**ADA, tracking_id="u1", event_time=T0 + 90 * DAY))
    merge_changes = changes(api, first)
    assert {row["source"]: row["causes"] for row in merge_changes["rows"]} == {
        "email": {"merges": {"credited_revenue": 50}},
        "google_ads": {"merges": {"credited_revenue": -50}},
    }
    second = read(api)
    (contact_id,) = shop.values("merges", "merged_id")
    undo(database_url, shop.space_id, contact_id)
    assert [(row["difference"], [*row["causes"]]) for row in changes(api, first)["rows"]] == [
        ({"credited_revenue": 0}, ["merges", "unmerges"])
    ] * 2
    undone = changes(api, second)
    assert {row["source"]: row["causes"] for row in undone["rows"]} == {
        "email": {"unmerges": {"credited_revenue": -50}},
        "google_ads": {"unmerges": {"credited_revenue": 50}},
    }


def undo(database_url: str, space_id: int, contact_id: int) -> None:
    """Undo the merge of a contact like the console."""

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await unmerge(connection, space_id, contact_id)

    asyncio.run(run())


def test_another_trained_model(api: Api, shop: Stage) -> None:
    """Changes of events are credited by the later trained model. The trained model's own effect is the
    difference between both models.
    """
    by_trained_model = {"attribution_model": "markov"}
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="email"))
    first_id = plant_trained_model(shop.connection, shop.space_id, "one", proportions={"google_ads": 1})
    first = read(api, **by_trained_model)
    two = plant_trained_model(
        shop.connection, shop.space_id, "two", proportions={"google_ads": 1, "email": 3}
    )
    shop.run(event(**ADA, amount="20"))
    answer = changes(api, first, **by_trained_model)
    assert [answer[name]["trained_model"]["id"] for name in ("since", "until")] == [first_id, two]
    assert {row["source"]: row["causes"] for row in answer["rows"]} == {
        "email": {"late_events": {"credited_revenue": 15}, "trained_models": {"credited_revenue": 75}},
        "google_ads": {"late_events": {"credited_revenue": 5}, "trained_models": {"credited_revenue": -75}},
    }
    assert answer["causes"]["trained_models"] == {"events": None, "largest": []}
    assert answer["unexplained"] == {"credited_revenue": 0}
    delete = "DELETE FROM trained_models WHERE space_id = %s AND name = 'one'"
    shop.connection.execute(delete, (shop.space_id,))
    status, error = refusal(api, first, by_trained_model)
    assert (status, error["reason"]) == (422, "trained_model_deleted")


def test_another_half_life(api: Api, shop: Stage) -> None:
    by_age = {"attribution_model": "time_decay"}
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="email"))
    first = read(api, **by_age)
    _set(shop, "UPDATE spaces SET half_life_days = 1 WHERE id = %s")
    answer = changes(api, first, **by_age)
    assert (answer["since"]["half_life_days"], answer["until"]["half_life_days"]) == (7, 1)
    for row in answer["rows"]:
        assert row["causes"] == {"half_life": row["difference"]}
    assert {row["source"]: row["after"]["credited_revenue"] for row in answer["rows"]} == {
        "email": 66.67, "google_ads": 33.33,
    }  # fmt: skip


def put_rate(api: Api, rate: float) -> None:
    day = datetime.fromtimestamp(T0 / 1000, UTC).date()
    rates = [{"date": f"{day}", "base": "JPY", "currency": "USD", "rate": rate}]
    assert api.send("PUT", "/rates", json={"rates": rates}).status_code == 200


def test_other_rates(api: Api, shop: Stage) -> None:
    """A new rate changes earlier amounts; events that arrived later use the later rate."""
    bob = {"email": "bob@example.com", "currency": "JPY"}
    put_rate(api, 0.01)
    shop.run(event(**bob, amount="1000"))
    first = read(api)
    put_rate(api, 0.02)
    shop.run(event(**bob, amount="500"))
    answer = changes(api, first)
    assert answer["overall"] == {
        "before": {"credited_revenue": 110}, "after": {"credited_revenue": 130},
        "difference": {"credited_revenue": 20},
        "causes": {"late_events": {"credited_revenue": 10}, "rates": {"credited_revenue": 10}},
    }  # fmt: skip
    second = read(api)
    put_rate(api, 0.03)
    assert changes(api, first, until=second)["overall"] == answer["overall"]
    assert changes(api, second)["overall"]["causes"] == {"rates": {"credited_revenue": 15}}


def test_a_rate_that_there_was_none_of(api: Api, shop: Stage) -> None:
    first = read(api)
    late = {"email": "bob@example.com", "currency": "JPY", "amount": "1000"}
    shop.run(event(**late))
    between = first_moment_after(shop)
    put_rate(api, 0.01)
    assert changes(api, first)["overall"]["causes"] == {"late_events": {"credited_revenue": 10}}
    with_rate = changes(api, between)
    assert with_rate["overall"]["causes"] == {"rates": {"credited_revenue": 10}}
    assert [entry["events"] for entry in with_rate["left_out_money_before"]] == [1]


def test_other_rates_of_all_spaces(api: Api, shop: Stage, database_url: str) -> None:
    day = datetime.fromtimestamp(T0 / 1000, UTC).date()

    def put(per_euro: str) -> None:
        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                rates = [ReferenceRate(day, "USD", Decimal(per_euro))]
                await put_reference_rates(connection, rates)

        asyncio.run(run())

    put("1.5")
    try:
        shop.run(event(email="bob@example.com", amount="10", currency="EUR"))
        first = read(api)
        put("2")
        assert changes(api, first)["overall"]["causes"] == {"rates": {"credited_revenue": 5}}
    finally:
        delete = "DELETE FROM reference_rates WHERE date = %s"
        shop.connection.execute(delete, (day,))


def first_moment_after(shop: Stage) -> str:
    """Return a moment after all earlier changes, which are backdated for it."""
    older = (
        "UPDATE new_rows SET made_at = now() - interval '1 hour'"
        " WHERE space_id = %s AND made_at > now() - interval '30 minutes'"
    )
    shop.connection.execute(older, (shop.space_id,))
    zone = "SELECT timezone FROM spaces WHERE id = %s"
    ((name,),) = shop.connection.execute(zone, (shop.space_id,)).fetchall()
    moment = datetime.now(ZoneInfo(name)) - timedelta(minutes=30)
    return f"{moment:%Y-%m-%d %H:%M:%S}"


@pytest.mark.usefixtures("shop")
def test_a_moment_in_place_of_a_reading(api: Api) -> None:
    for earlier in ("2020-01-01 00:00:00", "0001-01-01 00:00:00"):
        assert changes(api, earlier)["overall"]["before"] == {"credited_revenue": 0}
    answer = changes(api, "2100-01-01 00:00:00")
    assert answer["overall"]["difference"] == {"credited_revenue": 0}


def test_as_csv(api: Api, shop: Stage) -> None:
    snapshot = read(api)
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="email"))
    parameters = {**OCTOBER, **BY_SOURCE, "since": snapshot}
    response = api.send("GET", "/reports/changes", accept="text/csv", params=parameters)
    rows = list(csv.reader(io.StringIO(response.text)))
    assert rows[:5] == [
        ["source", "part", "credited_revenue"],
        ["email", "before", "0"], ["email", "after", "50"], ["email", "difference", "50"],
        ["email", "late_touches", "50"],
    ]  # fmt: skip


def test_a_group_with_names_has_two_columns(api: Api, shop: Stage) -> None:
    parameters = {"since": read(api, **{"group_by[]": "campaign"}), "group_by[]": "campaign"}
    shop.run(touch(**ADA, occurred_at=T0 - DAY, campaign_id="7", campaign_name="Spring"))
    rows = changes(api, parameters["since"], **parameters)["rows"]
    assert [(row["campaign"], row["campaign_name"]) for row in rows] == [(None, None), ("7", "Spring")]
    table = api.get("/reports/changes", params={**OCTOBER, **BY_SOURCE, **parameters}, accept="text/csv").text
    assert ["7", "Spring", "difference", "50"] in list(csv.reader(io.StringIO(table)))


def test_many_events_are_added_up_in_chunks(api: Api, shop: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, orders = read(api), (event(**ADA, amount=amount) for amount in ("20", "10", "4"))
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="email"), *orders)
    monkeypatch.setattr(event_sums, "MOST_TOUCHES", 3)
    answer = changes(api, snapshot)
    differences = {row["source"]: row["difference"]["credited_revenue"] for row in answer["rows"]}
    assert (differences, answer["overall"]["causes"], answer["unexplained"]) == (
        {"email": 67, "google_ads": -33},
        {"late_events": {"credited_revenue": 34}},
        {"credited_revenue": 0},
    )
    monkeypatch.setattr(event_sums, "MAX_WORK", 0)
    assert refusal(api, snapshot, {})[1]["reason"] == "too_much"


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"measures[]": "average_order_value"}, "measures"),
        ({"measures[]": "contacts"}, "measures"),
        ({"group_by[]": "country"}, "group_by"),
        ({"only[]": "company:1"}, "only"),
        ({"campaign": "spring"}, "campaign"),
        ({"query_mode": "company"}, "query_mode"),
        ({"since": "nonsense"}, "since"),
        ({"since": ""}, "since"),
        ({"until": "A" * 64}, "until"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_other_measures_are_refused(api: Api, parameters: dict[str, Any], field: str) -> None:
    status, answer = refusal(api, read(api), parameters)
    assert (status, [*answer["errors"]]) == (422, [field])


def _other_period(_: Stage) -> dict[str, Any]:
    return {"end_date": "2025-10-30 23:59:59"}


def _change_zone(shop: Stage) -> dict[str, Any]:
    _set(shop, "UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s")
    return {}


def _restore(shop: Stage) -> dict[str, Any]:
    begin_era(shop.connection)
    return {}


def _forget(shop: Stage) -> dict[str, Any]:
    shop.run(event(**ADA, amount="1"))
    ((now,),) = shop.connection.execute("SELECT now()").fetchall()
    forget(shop.connection, shop.space_id, now + timedelta(days=1))
    return {}


def _change_by_hand(shop: Stage) -> dict[str, Any]:
    _set(shop, "DELETE FROM events WHERE space_id = %s")
    return {}


def _set(shop: Stage, statement: str) -> None:
    shop.connection.execute(statement, (shop.space_id,))


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        (_other_period, "other_question"), (_change_zone, "settings_changed"),
        (_restore, "other_past"), (_change_by_hand, "uncounted"), (_forget, "too_old"),
    ],
)  # fmt: skip
def test_readings_that_cannot_be_compared(
    api: Api, shop: Stage, do: Callable[[Stage], dict[str, Any]], reason: str
) -> None:
    snapshot = read(api)
    status, answer = refusal(api, snapshot, do(shop))
    assert (status, answer["reason"]) == (422, reason)
