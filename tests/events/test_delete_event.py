"""DELETE /events/{id}."""

from __future__ import annotations

import httpx
import psycopg

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    deleted_event, kept_event = stage.event(contact_id), stage.event(contact_id)
    response = api.send("DELETE", f"/events/{deleted_event}")
    assert response.status_code == 200
    assert response.json() == {"status": 200, "message": "Event deleted."}
    assert api.get(f"/events/{deleted_event}").status_code == 404
    assert [row["id"] for row in api.rows()] == [kept_event]


def test_a_missing_event_gets_the_same_answer(api: Api, stage: Stage) -> None:
    event_id = stage.event(stage.contact())
    first = api.send("DELETE", f"/events/{event_id}")
    second = api.send("DELETE", f"/events/{event_id}")
    assert (first.status_code, first.content) == (second.status_code, second.content)


def test_another_space_keeps_its_event(
    api: Api, client: httpx.Client, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    event_id = other_stage.event(other_stage.contact())
    assert api.send("DELETE", f"/events/{event_id}").status_code == 200
    assert Api(client, other_stage.key).get(f"/events/{event_id}").status_code == 200


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    reader = make_stage(connection, scopes=("events:read",))
    event_id = reader.event(reader.contact())
    assert Api(client, reader.key).send("DELETE", f"/events/{event_id}").status_code == 403
