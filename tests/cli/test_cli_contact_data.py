"""`headwater contact data`: everything stored about a contact, as JSON lines."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from headwater.cli import main
from headwater.privacy import disclosure
from headwater.privacy.disclosure import disclose
from tests.support.factories import Stage


@pytest.fixture(autouse=True)
def on_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


def test_it_works(stage: Stage, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    contact_id = stage.contact(email="ann@ash.example")
    merged_id = stage.contact(merged_into=contact_id)
    event_id = stage.event(contact_id)
    assert main(["contact", "data", "--space", str(stage.space_id), str(merged_id)]) == 0
    lines = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    ids = {(line["record"], line.get("id")) for line in lines}
    assert ids == {("space", None), ("contact", contact_id), ("contact", merged_id), ("event", event_id)}


def test_it_is_of_one_moment(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Rows that a merge moves meanwhile are in it."""
    contact_id, survivor_id = stage.contact(), stage.contact()
    event_id = stage.event(contact_id)

    def merge_and_disclose(*values: Any) -> AsyncGenerator[list[bytes]]:
        stage.connection.execute(
            "UPDATE events SET contact_id = %s WHERE space_id = %s AND id = %s",
            (survivor_id, stage.space_id, event_id),
        )
        return disclose(*values)

    monkeypatch.setattr(disclosure, "disclose", merge_and_disclose)
    assert main(["contact", "data", "--space", str(stage.space_id), str(contact_id)]) == 0
    records = [json.loads(line)["record"] for line in capsysbinary.readouterr().out.splitlines()]
    assert records == ["space", "contact", "event"]


def test_an_unknown_contact(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contact", "data", "--space", str(stage.space_id), "999999999"]) == 2
    assert "Contact not found" in capsys.readouterr().err
