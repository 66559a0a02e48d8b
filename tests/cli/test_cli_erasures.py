"""`headwater contact erasures`: which contacts were to be erased, and the result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.cli import main
from headwater.privacy.erasure_job import erase_next
from headwater.privacy.erasures import wait_until_erased
from tests.support.factories import Stage


@pytest.fixture(autouse=True)
def on_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


def list_erasures(capsys: pytest.CaptureFixture[str], space_id: int) -> list[dict[str, Any]]:
    assert main(["contact", "erasures", "--space", str(space_id), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_works(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    contact_id = stage.contact()
    for columns in ({"erased_at": "2026-11-21 12:00:00Z"}, {"attempts": 2, "last_error": "Oops"}):
        stage._insert("erasures", {"contact_id": contact_id, "receipt_mark": 7, **columns})
    latest, first = list_erasures(capsys, stage.space_id)
    assert list(latest) == [
        "id", "contact_id", "requested_at", "attempts", "retry_at", "last_error", "erased_at",
    ]  # fmt: skip
    assert latest["id"] > first["id"]
    fields = ("contact_id", "attempts", "last_error", "erased_at")
    assert [latest[name] for name in fields] == [contact_id, 2, "Oops", None]
    assert [first[name] for name in fields] == [contact_id, 0, None, "2026-11-21T12:00:00+00:00"]


def test_no_erasures_are_listed(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert list_erasures(capsys, stage.space_id) == []
    assert main(["contact", "erasures", "--space", str(stage.space_id)]) == 0
    assert capsys.readouterr().out == "none\n"


def test_an_unknown_space(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contact", "erasures", "--space", "999999999"]) == 2
    assert "Space not found" in capsys.readouterr().err


def test_the_command_waits_for_erasures(stage: Stage) -> None:
    stage.connection.execute("UPDATE erasures SET erased_at = now() WHERE erased_at IS NULL")
    assert wait_until_erased(stage.connection, 0)
    stage._insert("erasures", {"contact_id": stage.contact(), "receipt_mark": 7})
    assert not wait_until_erased(stage.connection, 0)
    assert erase_next(stage.connection, stage.space_id)
    assert wait_until_erased(stage.connection, 0)
