"""Tools for events answer and act like the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from headwater.assistants.mcp import confirmation
from headwater.assistants.mcp.tools.events import USUAL_FIELDS, USUAL_FIELDS_OF_TOUCHES
from headwater.attribution.models import MODELS
from headwater.spaces.currencies import AMOUNT_FIELDS
from tests.conftest import Running
from tests.mcp.assistants import Assistant, connect, localized, tool_rows
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.trained_models import plant_trained_model

CREDITED = {"sources": ["google_ads", "direct", "facebook_ads"], "attribution_model": "linear",
            "attribution_window": 30}  # fmt: skip
UNKNOWN = 999_999_999_999


def journey(stage: Stage, **event: Any) -> tuple[int, int]:
    """Store a contact's touches a day apart, then its event. Return the ids of the contact and the event."""
    contact_id = stage.contact(email="ada@example.com")
    for days, source in ((3, "google_ads"), (2, "facebook_ads"), (1, "direct")):
        stage.touchpoint(contact_id, source, occurred_at=NOON - timedelta(days=days),
                         campaign_id="c1", campaign_name="Spring")  # fmt: skip
    return contact_id, stage.event(contact_id, **{"amount": 10, **event})


def test_it_works(assistant: Assistant, stage: Stage, api: Api) -> None:
    _, event_id = journey(stage)
    event = api.get(f"/events/{event_id}").json()
    assert assistant.call("get_event", event_id=event_id) == localized(event)


def test_lists_are_those_of_the_api(assistant: Assistant, stage: Stage, api: Api) -> None:
    stage.label_event("custom_event_1", "Demo booked")
    journey(stage)
    journey(stage, event_name="custom_event_1", amount=None)
    by_company = {**CREDITED, "query_mode": "company", "fields": ["campaign_name", "amount"]}
    for arguments in ({}, CREDITED, by_company, {"event_names": ["custom_event_1"]}):
        answer = assistant.call("list_events", **RANGE, **arguments)
        fields = [*USUAL_FIELDS, *(USUAL_FIELDS_OF_TOUCHES if "sources" in arguments else ())]
        api_arguments = {**arguments, "fields": [*arguments.get("fields", fields), *AMOUNT_FIELDS]}
        params = {f"{k}[]" if isinstance(v, list) else k: v for k, v in api_arguments.items()}
        assert answer["rows"] == tool_rows(api.rows(**params))
        assert answer["next_cursor"] is None
        assert answer["period"] == RANGE


def test_the_time_may_be_words(assistant: Assistant, stage: Stage) -> None:
    today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    contact_id = stage.contact()
    events = {days: stage.event(contact_id, event_time=today - timedelta(days=days))
              for days in (0, 3, 40)}  # fmt: skip
    for arguments, expected in (({}, [0, 3]), ({"period": "today"}, [0]), ({"period": "2001"}, [])):
        answer = assistant.call("list_events", **arguments)
        assert [row["id"] for row in answer["rows"]] == [events[days] for days in expected]
    assert answer["period"] == {
        "start_date": "2001-01-01 00:00:00", "end_date": "2001-12-31 23:59:59",
    }  # fmt: skip
    for wrong, message in (
        ({"period": "soon"}, "The period cannot be read; there are: today"),
        ({"period": "today", **RANGE}, "The period must not be given with"),
        ({"period": ["today"]}, "The period must be a single value."),
    ):
        assert message in assistant.refusal("list_events", **wrong)


def test_the_largest_come_first(assistant: Assistant, stage: Stage) -> None:
    contact_id = stage.contact()
    amounts = {stage.event(contact_id, amount=amount): amount for amount in (5, -3, 99.5, None, 40)}
    answer = assistant.call("list_events", **RANGE, order_by="amount", amount_min=4.99)
    assert [row["amount"] for row in answer["rows"]] == [99.5, 40, 5]
    refunds = assistant.call("list_events", **RANGE, amount_max=-0.01)
    assert [amounts[row["id"]] for row in refunds["rows"]] == [-3]


def test_filters_on_custom_fields(assistant: Assistant, stage: Stage) -> None:
    stage.label_field("profile_field_1")
    stage.label_field("profile_field_16")
    plain = stage.event(stage.contact(profile_field_1="Basic", profile_field_16=5))
    stage.event(stage.contact(profile_field_1="Pro", profile_field_16=6))
    for condition in (
        {"field": "profile_field_1", "operator": "equal_to", "value": "Basic"},
        {"field": "profile_field_16", "operator": "less_than", "value": "5.5"},
        {"field": "profile_field_16", "operator": "equal_to", "value": 5.0},
    ):
        answer = assistant.call("list_events", **RANGE, custom_field_filters=[condition])
        assert [row["id"] for row in answer["rows"]] == [plain]
    unlabelled = [{"field": "profile_field_2", "operator": "any"}]
    refusal = assistant.refusal("list_events", **RANGE, custom_field_filters=unlabelled)
    assert "custom_field_filters.0.field" in refusal


def test_cursors_lead_through_everything(assistant: Assistant, stage: Stage) -> None:
    contact_id = stage.contact()
    events = {stage.event(contact_id, event_time=NOON + timedelta(minutes=n % 3))
              for n in range(7)}  # fmt: skip
    ids, cursor = [], None
    while True:
        page = assistant.call("list_events", **RANGE, per_page=3, cursor=cursor)
        ids += [row["id"] for row in page["rows"]]
        if not (cursor := page["next_cursor"]):
            break
    assert len(ids) == len(events)
    assert set(ids) == events
    first = assistant.call("list_events", **RANGE, per_page=3)["next_cursor"]
    for other_filter in ({"event_names": ["purchase"]}, CREDITED):
        refusal = assistant.refusal("list_events", **RANGE, **other_filter, cursor=first)
        assert "The cursor is not a cursor of this list." in refusal


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start_date": "2026-05-13", "end_date": "2026-05-14"}, "YYYY-MM-DD HH:MM:SS"),
        ({"start_date": "2026-05-13 00:00:00"}, "The end_date is required"),
        ({**RANGE, "order_by": "amount", **CREDITED}, "The order_by cannot be amount with sources"),
        ({**RANGE, "amount_min": "much"}, "The amount_min must be a number."),
        ({**RANGE, "sources": ["google_ads"]}, "The attribution_model is required with sources."),
        ({**RANGE, "sources": ["goggle_ads"]}, "did you mean google_ads? It must be one of facebook_ads"),
        ({**RANGE, "per_page": 1000}, "The per_page must be a whole number from 1 to 200."),
        ({**RANGE, "fields": ["ad_id"]}, "only with sources"),
    ],
)
def test_what_is_wrong_is_told_in_words(
    assistant: Assistant, arguments: dict[str, Any], message: str
) -> None:
    assert message in assistant.refusal("list_events", **arguments)


def test_recording_is_as_over_the_api(
    assistant: Assistant, connection: psycopg.Connection, stage: Stage
) -> None:
    event = {"event_name": "purchase", "email": "Ada@Example.com", "amount": 49.99,
             "idempotency_key": "k1", "profile_field_1": "Pro"}  # fmt: skip
    answer = assistant.call("track_event", **event)
    row = connection.execute(
        "SELECT id, kind, payload FROM inbox WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row is not None
    assert str(row[0]) == answer["receipt_id"]
    assert row[1] == "event"
    assert '"amount":"49.99"' in row[2]
    for wrong, words in (
        ({"event_name": "purchase"}, "email"),
        ({"event_name": "bought", "email": "a@b.example"}, "event_name"),
        ({"event_name": "purchase", "email": "a@b.example", "amount": "x"}, "amount"),
        ({"event_name": "purchase", "email": "nobody"}, "email"),
    ):
        assert words in assistant.refusal("track_event", **wrong)


def test_amounts_are_changed_and_cleared(assistant: Assistant, stage: Stage, api: Api) -> None:
    _, event_id = journey(stage)
    before = 10
    for amount in (7.5, 8, 0, None):
        assert assistant.call("update_event_amount", event_id=event_id, amount=amount) == {
            "message": "Event updated.", "amount_before": before, "amount": amount,
            "currency": "USD", "amount_in_space_currency": amount,
            "refunds_of_its_order": {"count": 0, "amount": 0},
        }  # fmt: skip
        before = amount
        assert api.get(f"/events/{event_id}").json()["amount"] == amount
    assert "amount" in assistant.refusal("update_event_amount", event_id=event_id)
    assert "amount" in assistant.refusal("update_event_amount", event_id=event_id, amount="x")
    refusal = assistant.refusal("update_event_amount", event_id=UNKNOWN, amount=1)
    assert refusal == "Event not found.\nFind the event's id with list_events."


def test_refunds_of_the_order_are_told(assistant: Assistant, stage: Stage) -> None:
    contact_id, event_id = journey(stage, order_id="A-1")
    for columns in ({"order_name": "A-1"}, {"order_id": "A-1-refund"}):
        stage.event(contact_id, amount=-2.5, **columns)
    stage.event(contact_id, amount=-9, order_id="A-12")
    stage.event(stage.contact(), amount=-9, order_name="A-1")
    answer = assistant.call("update_event_amount", event_id=event_id, amount=5)
    assert answer["refunds_of_its_order"] == {"count": 2, "amount": -5}
    assert "revenue counts them besides" in answer["message"]


def test_deleting_shows_what_would_go_first(assistant: Assistant, stage: Stage, api: Api) -> None:
    _, event_id = journey(stage, order_id="A-1")
    stage.add_delivery(stage.destination(), event_id, status="delivered")
    preview = assistant.call("delete_event", event_id=event_id)
    assert preview["would_go"]["event"]["order_id"] == "A-1"
    assert preview["would_go"]["deliveries"] == {"delivered": 1}
    assert api.get(f"/events/{event_id}").status_code == 200
    answer = assistant.call("delete_event", event_id=event_id, confirm=preview["confirm"])
    assert answer == {"message": "Event deleted."}
    assert api.get(f"/events/{event_id}").status_code == 404


def test_a_confirmation_is_for_what_was_shown(
    assistant: Assistant,
    stage: Stage,
    connection: psycopg.Connection,
    server: Running,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contact_id, event_id = journey(stage)
    other_event = stage.event(contact_id, amount=10)

    def check_refusal(value: str, event: int = event_id, caller: Assistant = assistant) -> None:
        refusal = caller.refusal("delete_event", event_id=event, confirm=value)
        assert refusal.startswith("The confirm is not for this item as it is now, or older")

    value = assistant.call("delete_event", event_id=event_id)["confirm"]
    check_refusal(value, other_event)
    seconds, _, signature = value.partition(".")
    check_refusal(f"{int(seconds) + 1}.{signature}")
    check_refusal("x")
    with connect(server, connection, stage.space_id) as colleague:
        check_refusal(value, caller=colleague)
    monkeypatch.setattr(confirmation, "time", SimpleNamespace(time=lambda: int(seconds)))
    check_refusal(value)
    monkeypatch.undo()
    assistant.call("update_event_amount", event_id=event_id, amount=11)
    check_refusal(value)
    new_confirm = assistant.call("delete_event", event_id=event_id)["confirm"]
    answer = assistant.call("delete_event", event_id=event_id, confirm=new_confirm)
    assert answer == {"message": "Event deleted."}


def test_deleting_tells_what_is_not_there(assistant: Assistant, stage: Stage) -> None:
    _, event_id = journey(stage)
    assistant.call_confirmed("delete_event", event_id=event_id)
    assert "Event not found." in assistant.refusal("delete_event", event_id=event_id)


def test_a_deleted_event_is_not_forwarded(assistant: Assistant, stage: Stage, api: Api) -> None:
    _, event_id = journey(stage)
    queued_columns = {"status": "queued", "finished_at": None}
    stage.add_delivery(stage.destination(), event_id, **queued_columns)
    assistant.call_confirmed("delete_event", event_id=event_id)
    (row,) = api.get(f"/events/{event_id}/deliveries").json()["data"]
    assert (row["status"], row["reason"]) == ("skipped", "deleted")


def test_an_explanation_agrees_with_every_list(assistant: Assistant, stage: Stage, api: Api) -> None:
    _, event_id = journey(stage)
    plant_trained_model(stage.connection, stage.space_id, "May", "purchase", {"google_ads": 3, "direct": 1})
    explanation = assistant.call("explain_attribution", event_id=event_id, attribution_window=30)
    assert explanation["trained_model"]["name"] == "May"
    assert [touch["source"] for touch in explanation["path"]] == ["google_ads", "facebook_ads", "direct"]
    assert explanation["event"]["amount"] == 10
    assert [result["model"] for result in explanation["models"]] == list(MODELS)
    for result in explanation["models"]:
        params = {**CREDITED, "attribution_model": result["model"],
                  "fields": ["touchpoint_id", "source", "amount"]}  # fmt: skip
        rows = api.rows(**{f"{k}[]" if isinstance(v, list) else k: v for k, v in params.items()})
        listed_credits = {(int(row["touchpoint_id"]), row["source"], row["amount"]) for row in rows}
        credit_set = {(c["touchpoint_id"], c["source"], c["amount"]) for c in result["credits"]}
        assert credit_set == listed_credits
        assert result["unattributed"] is (not rows)


def test_an_explanation_of_what_nothing_brought(assistant: Assistant, stage: Stage) -> None:
    event_id = stage.event(stage.contact(), amount=5)
    explanation = assistant.call("explain_attribution", event_id=event_id)
    assert explanation["path"] == []
    assert all(result["unattributed"] and not result["credits"] for result in explanation["models"])
    assert "list_events" in assistant.refusal("explain_attribution", event_id=UNKNOWN)


def test_addresses_may_hold_anything(assistant: Assistant, stage: Stage, api: Api) -> None:
    """Values reach the domain unchanged: not quoted, split or decoded on the way."""
    contact_id = stage.contact(email="a+b%41@example.com")
    stage.identifier(contact_id, "email", "a+b%41@example.com")
    contact = assistant.call("find_contact_by_email", email=" A+B%41@example.com ")
    path = quote("a+b%41@example.com", safe="")
    assert contact == api.get(f"/contacts/by-email/{path}").json()


def test_each_amount_says_what_it_is_in(assistant: Assistant, stage: Stage, api: Api) -> None:
    """For an order of 100 dollars in a Space with euros."""
    stage.connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (stage.space_id,))
    rates = [{"date": "2026-05-13", "base": "EUR", "currency": "USD", "rate": 1.25}]
    assert api.send("PUT", "/rates", json={"rates": rates}).status_code == 200
    contact_id, event_id = journey(stage, amount=100, currency="USD")
    amounts = {"amount": 100, "currency": "USD", "amount_in_space_currency": 80}
    (journey_item, *_) = assistant.call("get_contact_journey", contact_id=contact_id)["items"]
    explanation = assistant.call("explain_attribution", event_id=event_id)
    (row,) = assistant.call("list_events", **RANGE)["rows"]
    (amount_row,) = assistant.call("list_events", **RANGE, fields=["amount"])["rows"]
    for answer in (assistant.call("get_event", event_id=event_id), journey_item, row, amount_row,
                   explanation["event"]):  # fmt: skip
        assert {name: answer[name] for name in amounts} == amounts
    last_touch = explanation["models"][1]["credits"]
    assert [(credit["amount"], credit["amount_in_space_currency"]) for credit in last_touch] == [(100, 80)]
    event_rows = assistant.call("list_events", **RANGE, **{**CREDITED, "fields": ["amount"]})["rows"]
    assert sum(event_row["amount"] for event_row in event_rows) == 100
    assert sum(event_row["amount_in_space_currency"] for event_row in event_rows) == 80
    update = assistant.call("update_event_amount", event_id=event_id, amount=50)
    assert {name: update[name] for name in ("amount_before", *amounts)} == {
        "amount_before": 100, "amount": 50, "currency": "USD", "amount_in_space_currency": 40,
    }  # fmt: skip
