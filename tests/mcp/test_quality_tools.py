"""Tools for problems: deliveries and rejected events."""

from __future__ import annotations

import psycopg

from tests.mcp.assistants import Assistant, tool_rows
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api


def test_it_works(assistant: Assistant, stage: Stage, api: Api) -> None:
    destination_id = stage.destination()
    event_id = stage.event(stage.contact())
    stage.add_delivery(destination_id, event_id, error="no such pixel")
    answer = assistant.call("list_deliveries")
    expected = api.get(f"/destinations/{destination_id}/deliveries").json()["data"]
    assert answer == {"rows": tool_rows(expected), "next_cursor": None, "counts": {"failed": 1}}
    assert answer["rows"][0]["error"] == "no such pixel"


def test_deliveries_can_be_chosen(assistant: Assistant, stage: Stage) -> None:
    first, second = stage.destination(), stage.destination()
    events = [stage.event(stage.contact()) for _ in range(3)]
    for event_id in events:
        stage.add_delivery(first, event_id)
    stage.add_delivery(second, events[0], status="skipped", reason="no_consent")

    def list_deliveries(**arguments: object) -> list[tuple[int, int]]:
        rows = assistant.call("list_deliveries", **arguments)["rows"]
        return [(row["destination_id"], row["event_id"]) for row in rows]

    assert list_deliveries(destination_id=second) == [(second, events[0])]
    assert list_deliveries(event_id=events[0]) == [(second, events[0]), (first, events[0])]
    assert list_deliveries(status="skipped") == list_deliveries(reason="no_consent") == [(second, events[0])]
    assert list_deliveries(status="failed", event_id=events[2]) == [(first, events[2])]
    assert "The status must be one of" in assistant.refusal("list_deliveries", status="x")
    refusal = assistant.refusal("list_deliveries", destination_id=999_999_999)
    assert refusal.startswith("Destination not found.")


def test_a_platform_in_a_time(assistant: Assistant, stage: Stage, connection: psycopg.Connection) -> None:
    connection.execute("UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s", (stage.space_id,))
    tiktok, meta = stage.destination(), stage.destination(platform="meta", settings="{}")
    event_id = stage.event(stage.contact())
    stage.add_delivery(tiktok, event_id, created_at="2026-05-13 12:00Z")
    last = stage.add_delivery(meta, event_id, created_at="2026-05-31 14:59Z", status="delivered")
    stage.add_delivery(meta, stage.event(stage.contact()), created_at="2026-05-31 15:00Z")
    answer = assistant.call("list_deliveries", platform="meta", period="2026-05")
    assert [row["id"] for row in answer["rows"]] == [last]
    assert answer["counts"] == {"delivered": 1}
    assert assistant.call("list_deliveries", period="2026-05")["counts"] == {
        "delivered": 1, "failed": 1,
    }  # fmt: skip
    assert "did you mean meta?" in assistant.refusal("list_deliveries", platform="Meta ")


def test_destinations_without_what_is_secret(assistant: Assistant, stage: Stage) -> None:
    destination_id = stage.destination(status="held", status_reason="The token has expired.")
    stage.destination(status="removed")
    stage.add_delivery(destination_id, stage.event(stage.contact()))
    (row,) = assistant.call("list_destinations")["rows"]
    assert (row["id"], row["status"], row["deliveries"]["failed"]) == (destination_id, "held", 1)
    assert row["status_reason"] == "The token has expired."
    assert not {"settings", "secrets"} & row.keys()


def test_cursors_of_deliveries(assistant: Assistant, stage: Stage) -> None:
    destination_id = stage.destination()
    deliveries = [stage.add_delivery(destination_id, stage.event(stage.contact())) for _ in range(5)]
    ids, cursor = [], None
    while True:
        page = assistant.call("list_deliveries", per_page=2, cursor=cursor)
        ids += [row["id"] for row in page["rows"]]
        if not (cursor := page["next_cursor"]):
            break
    assert ids == deliveries[::-1]
    first = assistant.call("list_deliveries", per_page=2)["next_cursor"]
    assert "cursor" in assistant.refusal("list_deliveries", status="failed", cursor=first)


def test_rejected_events_without_what_they_hold(
    assistant: Assistant, viewer: Assistant, connection: psycopg.Connection
) -> None:
    for number in range(1, 6):
        connection.execute(
            "INSERT INTO rejected"
            " (space_id, id, kind, sender, received_at, payload, reason, detail)"
            " VALUES (%s, %s, 'event', 'api_key', '2026-05-13 12:00Z',"
            ' \'{"email":"canary@x.example"}\','
            " 'processing_error', 'DataError')",
            (assistant.space_id, number),
        )
    (first, *_) = viewer.call("list_rejected_events")["rows"]
    assert first.pop("rejected_at")
    assert first == {
        "receipt_id": "5", "kind": "event", "reason": "processing_error", "detail": "DataError",
        "received_at": "2026-05-13T12:00:00+00:00",
    }  # fmt: skip
    ids, cursor = [], None
    while True:
        page = assistant.call("list_rejected_events", per_page=2, cursor=cursor)
        assert "canary" not in str(page)
        ids += [row["receipt_id"] for row in page["rows"]]
        if not (cursor := page["next_cursor"]):
            break
    assert ids == ["5", "4", "3", "2", "1"]
