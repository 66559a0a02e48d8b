"""`headwater contact data`: everything stored about a contact, as JSON lines."""

from __future__ import annotations

import json

import pytest

from headwater.cli import main
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


def test_an_unknown_contact(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contact", "data", "--space", str(stage.space_id), "999999999"]) == 2
    assert "Contact not found" in capsys.readouterr().err
