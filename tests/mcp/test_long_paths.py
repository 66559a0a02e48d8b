"""Answers with the path of a contact or an event are bounded, and say how much they leave out."""

from __future__ import annotations

from headwater.people.contacts.journey import MAX_ITEMS
from tests.events.test_long_paths import TOUCHPOINTS
from tests.mcp.assistants import Assistant, tool_rows
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api, journey_items


def test_an_explanation_shows_both_ends_of_a_path(stage: Stage, assistant: Assistant) -> None:
    contact_id = stage.contact()
    values = {"space": stage.space_id, "contact": contact_id}
    stage.connection.execute(TOUCHPOINTS, values | {"count": 300})
    event_id = stage.event(contact_id, amount=10, event_time=NOON.replace(month=6))
    explanation = assistant.call("explain_attribution", event_id=event_id, attribution_window=0)
    assert (len(explanation["path"]), explanation["left_out"]) == (200, 100)
    linear = next(result for result in explanation["models"] if result["model"] == "linear")
    cents = sum(round(100 * credit["amount"]) for credit in linear["credits"])
    assert (len(linear["credits"]), linear["left_out"]) == (200, 100)
    assert cents + round(100 * linear["left_out_amount"]) == 1000
    last = next(result for result in explanation["models"] if result["model"] == "last_touch")
    assert (len(last["credits"]), last["left_out"], last["left_out_amount"]) == (1, 0, None)


def test_a_journey_shows_its_latest_part(stage: Stage, api: Api, assistant: Assistant) -> None:
    contact_id = stage.contact()
    values = {"space": stage.space_id, "contact": contact_id}
    stage.connection.execute(TOUCHPOINTS, values | {"count": MAX_ITEMS})
    params = {"include_events": 1, "hide_direct_touchpoints": 0}
    full_journey = api.get(f"/contacts/{contact_id}", params=params).json()
    assert len(full_journey["events"]) == MAX_ITEMS
    assert "events_left_out" not in full_journey
    latest = stage.event(contact_id, event_time=NOON.replace(month=6))
    cut_journey = api.get(f"/contacts/{contact_id}", params=params).json()
    assert (len(cut_journey["events"]), cut_journey["events_left_out"]) == (MAX_ITEMS, 1)
    assert cut_journey["events"][0]["id"] == latest
    assert cut_journey["events"][1:] == full_journey["events"][:-1]
    answer = assistant.call("get_contact_journey", contact_id=contact_id, limit=10, hide_direct_touchpoints=0)
    assert (answer["items"], answer["left_out"]) == (
        tool_rows(journey_items(cut_journey["events"][:10])),
        MAX_ITEMS - 9,
    )
