"""The download of everything stored about a contact."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import psycopg
import pytest

from headwater.console.people_pages import contact_data
from headwater.privacy.disclosure import disclose
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.factories import Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def test_it_works(stage: Stage, owner: Person) -> None:
    ann = stage.contact(name="Ann Ash", email="ann@ash.example")
    event_id = stage.event(ann)
    path = f"/console/spaces/{stage.space_id}/contacts/{ann}"
    assert f'href="{path}/data.ndjson"' in owner.browser.get(path).text
    answer = owner.browser.get(f"{path}/data.ndjson")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="contact-{ann}.ndjson"'
    _, contact, event = map(json.loads, answer.text.splitlines())
    assert (contact["name"], event["id"]) == ("Ann Ash", event_id)


def test_who_may_only_read_gets_no_link_and_no_file(stage: Stage, person: Callable[..., Person]) -> None:
    path = f"/console/spaces/{stage.space_id}/contacts/{stage.contact()}"
    viewer = person(Role.VIEWER)
    assert "data.ndjson" not in viewer.browser.get(path).text
    assert viewer.browser.get(f"{path}/data.ndjson").status_code == 403


def test_too_many_rows_are_left_to_the_command(
    stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_data, "MOST_LINES", 3)
    ann = stage.contact(name="Ann Ash")
    path = f"/console/spaces/{stage.space_id}/contacts/{ann}/data.ndjson"
    stage.event(ann)
    assert owner.browser.get(path).status_code == 200
    stage.event(ann)
    refused = owner.browser.get(path)
    assert refused.status_code == 422
    assert "headwater contact data" in refused.text


def test_it_is_of_one_moment(stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a merge moves meanwhile are in it."""
    ann, survivor = stage.contact(), stage.contact()
    event_id = stage.event(ann)

    def merge_and_disclose(*values: Any) -> AsyncGenerator[list[bytes]]:
        stage.connection.execute(
            "UPDATE events SET contact_id = %s WHERE space_id = %s AND id = %s",
            (survivor, stage.space_id, event_id),
        )
        return disclose(*values)

    monkeypatch.setattr(contact_data, "disclose", merge_and_disclose)
    answer = owner.browser.get(f"/console/spaces/{stage.space_id}/contacts/{ann}/data.ndjson")
    assert [json.loads(line)["record"] for line in answer.text.splitlines()] == ["space", "contact", "event"]
