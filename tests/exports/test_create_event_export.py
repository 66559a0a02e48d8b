"""POST /events/exports and GET /events/exports/{id}: parameters, rules, the file's lines."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.events import export_lines
from tests.conftest import Running, client_for
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

DAY = "2026-05-13"
SOURCES = ["google_ads", "email", "direct"]
FIELDS = {"fields": ["amount", "order_name", "currency", "self_reported_source", "campaign_id", "is_upsell"]}
CREDITED = {"sources": ["google_ads"], "attribution_model": "linear", "attribution_window": 30}


@pytest.fixture
def contact_id(stage: Stage) -> int:
    contact_id = stage.contact(company_id=stage.company())
    stage.touchpoint(contact_id, "google_ads", campaign_id="7", occurred_at=NOON)
    stage.touchpoint(contact_id, "direct", occurred_at=NOON)
    return contact_id


def test_it_works(stage: Stage, contact_id: int, exports: Exports) -> None:
    event_id = stage.event(contact_id, amount=10)
    response = exports.api.send("POST", "/events/exports", json={"date": DAY})
    assert response.status_code == 202
    answer = response.json()
    assert answer.keys() == {"export_id", "status", "message"}
    assert (type(answer["export_id"]), answer["status"]) == (int, "queued")
    queued_status = exports.status(answer["export_id"])
    assert queued_status.keys() == {"export_id", "status", "created_at", "message"}
    assert (queued_status["export_id"], queued_status["status"]) == (answer["export_id"], "queued")
    assert exports.work() >= 1
    status = exports.status(answer["export_id"])
    assert status.keys() == {
        "export_id", "status", "created_at", "download_url", "completed_at", "expires_at",
    }  # fmt: skip
    assert exports.lines(answer["export_id"]) == [{"id": event_id, "event_time_utc": "2026-05-13T12:00:00Z"}]


def test_the_lines_are_those_of_list_events(
    stage: Stage, contact_id: int, exports: Exports, api: Api
) -> None:
    for minute in range(7):
        stage.event(
            contact_id, event_time=NOON.replace(minute=minute), amount=100,
            event_name="purchase" if minute % 2 else "sign_up", order_name='a "quoted\\one"\n',
        )  # fmt: skip
    for parameters in (
        {},
        {"fields": ["amount", "order_name", "configured_name", "company_id", "event_url"]},
        {"event_names": ["purchase"]},
        CREDITED,
        {**CREDITED, "query_mode": "company", "fields": ["amount", "campaign_id", "is_upsell"]},
        {**CREDITED, "sources": ["direct", "google_ads"], "attribution_model": "u_shaped"},
        {**CREDITED, "attribution_model": "last_platform_touch", "sources": ["direct"]},
    ):
        day = {"start_date": f"{DAY} 00:00:00", "end_date": f"{DAY} 23:59:59"}
        assert exports.export(date=DAY, **parameters) == api.rows(**day, **parameters), parameters


@pytest.mark.parametrize("slice_events", [1, 2, 5])
def test_slices_are_in_order_and_complete(
    stage: Stage, exports: Exports, api: Api, slice_events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_lines, "SLICE_EVENTS", slice_events)
    chance = random.Random(slice_events)
    companies = [stage.company(), stage.company(), None]
    contacts = [(stage.contact(company_id=company_id), company_id) for company_id in companies * 2]
    for _ in range(40):
        contact_id, company_id = chance.choice(contacts)
        stage.touchpoint(
            contact_id, chance.choice(SOURCES), company_id=company_id, campaign_id=str(chance.randrange(3)),
            occurred_at=NOON - timedelta(minutes=chance.randrange(60)),
        )  # fmt: skip
    for number in range(30):
        contact_id, company_id = chance.choice(contacts)
        moment = NOON - timedelta(minutes=10 * chance.randrange(4))  # many at the same time
        stage.event(
            contact_id, company_id=company_id, event_time=moment, amount=number, order_name=f"#{number}",
            self_reported_source="email" if number % 3 else None,
        )  # fmt: skip
    bodies = [
        {
            "attribution_model": model,
            "sources": sources,
            "query_mode": mode,
            "attribution_window": 1,
            **FIELDS,
        }
        for model in ("first_touch", "last_touch", "last_platform_touch", "last_non_direct_touch", "linear")
        for sources in (SOURCES, SOURCES[:1])
        for mode in ("profile", "company")
    ]
    jobs = [exports.ask(date=DAY, **body) for body in bodies]
    exports.work()
    for job, body in zip(jobs, bodies, strict=True):
        day = {"start_date": f"{DAY} 00:00:00", "end_date": f"{DAY} 23:59:59"}
        rows = api.rows(per_page=1000, **day, **body)
        assert rows, body
        assert exports.lines(job) == rows, body


def test_an_empty_day_is_an_empty_file(exports: Exports) -> None:
    assert exports.export(date="2031-01-01") == []


@pytest.mark.parametrize(
    ("zone", "day", "first_name", "last_name"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00", "2026-03-29T21:59:59.999"),  # 23 h
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00", "2026-10-25T22:59:59.999"),  # 25 h
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00", "2026-04-05T13:29:59.999"),
        ("Asia/Kathmandu", "2026-05-13", "2026-05-12T18:15:00", "2026-05-13T18:14:59.999"),
    ],
)
def test_a_day_is_the_space_s_day(
    stage: Stage, exports: Exports, zone: str, day: str, first_name: str, last_name: str
) -> None:
    stage.connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, stage.space_id))
    contact_id = stage.contact()
    start, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (first_name, last_name))
    inside_ids = [stage.event(contact_id, event_time=moment) for moment in (start, end)]
    for moment in (start.timestamp() - 0.001, end.timestamp() + 0.001):
        stage.event(contact_id, event_time=datetime.fromtimestamp(moment, UTC))
    assert [row["id"] for row in exports.export(date=day)] == inside_ids[::-1]


def test_a_day_that_did_not_exist_is_empty(stage: Stage, exports: Exports) -> None:
    stage.connection.execute("UPDATE spaces SET timezone = 'Pacific/Apia' WHERE id = %s", (stage.space_id,))
    contact_id = stage.contact()
    for hour in range(24):
        stage.event(contact_id, event_time=datetime(2011, 12, 30, hour, tzinfo=UTC))
    assert exports.export(date="2011-12-30") == []
    assert len(exports.export(date="2011-12-29") + exports.export(date="2011-12-31")) == 24


def test_the_day_is_fixed_when_it_is_asked_for(stage: Stage, exports: Exports) -> None:
    contact_id = stage.contact()
    event_id = stage.event(contact_id, event_time=datetime(2026, 5, 13, 23, 30, tzinfo=UTC))
    export_id = exports.ask(date=DAY)
    stage.connection.execute("UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s", (stage.space_id,))
    exports.work()
    assert [row["id"] for row in exports.lines(export_id)] == [event_id]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "date"),
        ({"date": None}, "date"),
        ({"date": " "}, "date"),
        ({"date": "2026-5-13"}, "date"),
        ({"date": "2026-02-30"}, "date"),
        ({"date": "2026-05-13 00:00:00"}, "date"),
        ({"date": 20260513}, "date"),
        ({"date": ["2026-05-13"]}, "date"),
        ({"date": {"of": 1}}, "date"),
        ({"date": DAY, "query_mode": "people"}, "query_mode"),
        ({"date": DAY, "event_names": ["nonsense"]}, "event_names"),
        ({"date": DAY, "event_names": []}, "event_names"),
        ({"date": DAY, "event_names": "purchase"}, "event_names"),
        ({"date": DAY, "event_names": ["purchase", "purchase"]}, "event_names"),
        ({"date": DAY, "event_names": [f"custom_event_{n}" for n in range(1, 12)]}, "event_names"),
        ({"date": DAY, "sources": ["google_ads"]}, "attribution_model"),
        ({"date": DAY, "sources": ["google_ads"]}, "attribution_window"),
        ({"date": DAY, **CREDITED, "attribution_window": 5}, "attribution_window"),
        ({"date": DAY, **CREDITED, "attribution_window": True}, "attribution_window"),
        ({"date": DAY, **CREDITED, "attribution_window": 30.0}, "attribution_window"),
        ({"date": DAY, **CREDITED, "attribution_model": "best"}, "attribution_model"),
        ({"date": DAY, "attribution_model": "best"}, "attribution_model"),
        ({"date": DAY, "fields": ["campaign_id"]}, "fields"),
        ({"date": DAY, "fields": ["nonsense"]}, "fields"),
        ({"date": DAY, "fields": [None]}, "fields"),
    ],
)
def test_bad_requests_are_refused(exports: Exports, body: dict[str, Any], field: str) -> None:
    errors = exports.refusal(**body)
    assert field in errors
    assert errors[field][0].startswith(f"The {field} ")


def test_members_it_does_not_know_are_ignored(exports: Exports) -> None:
    assert exports.export(date=DAY, nonsense={"deep": [1.5]}, space_id=1) == []


def test_a_hierarchy_field_brings_the_source(stage: Stage, contact_id: int, exports: Exports) -> None:
    stage.event(contact_id, amount=10)
    (row,) = exports.export(date=DAY, **CREDITED, fields=["campaign_id"])
    assert row.keys() == {"id", "event_time_utc", "campaign_id", "source", "touchpoint_id"}


def test_scopes(server: Running, stage: Stage, exports: Exports, make_key: Callable[..., str]) -> None:
    export_id = exports.ask(date=DAY)
    with client_for(server, make_key(stage.space_id, ["events:read"])) as client:
        create_response = client.post("/events/exports", json={"date": DAY})
        status_response = client.get(f"/events/exports/{export_id}")
    assert (create_response.status_code, "exports:write" in create_response.text) == (403, True)
    assert (status_response.status_code, "exports:read" in status_response.text) == (403, True)


def test_an_export_of_another_kind_or_nobody_s_is_not_found(exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    for path in (f"/companies/exports/{export_id}", "/events/exports/999999999999999999"):
        response = exports.api.get(path)
        assert (response.status_code, response.json()) == (404, {"message": "Export not found."})
    assert exports.api.get("/events/exports/x").status_code == 422


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_any_text_arrives_as_it_was(stage: Stage, exports: Exports, texts: list[str]) -> None:
    contact_id = stage.contact()
    day = datetime(2026, 7, 1, 12, tzinfo=UTC)
    stage.connection.execute("DELETE FROM events WHERE space_id = %s", (stage.space_id,))
    for text in texts:
        stage.event(contact_id, event_time=day, order_name=text)
    rows = exports.export(date="2026-07-01", fields=["order_name"])
    assert [row["order_name"] for row in reversed(rows)] == texts
