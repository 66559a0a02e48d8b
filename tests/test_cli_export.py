"""`headwater export`: the API's exports, written to a file by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from headwater.cli import main
from tests.factories import Stage
from tests.reading_fixtures import Api

DAY = ["--date", "2026-05-13"]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


def run(stage: Stage, kind: str, *options: str, output: Path) -> int:
    return main(
        ["export", kind, "--space", str(stage.space_id), "--output", str(output), "--json",
         *options]
    )  # fmt: skip


def test_it_works(stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contact_id = stage.contact()
    event_id = stage.event(contact_id, amount=5)
    output = tmp_path / "events.ndjson"
    assert run(stage, "events", *DAY, "--field", "amount", output=output) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(output), "rows": 1}
    row = {"id": event_id, "amount": 5, "event_time_utc": "2026-05-13T12:00:00Z"}
    assert json.loads(output.read_text()) == row


def test_credited_and_compressed(stage: Stage, api: Api, tmp_path: Path) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "google_ads")
    stage.event(contact_id, amount=5, event_name="purchase")
    stage.event(contact_id, amount=5, event_name="sign_up")
    output = tmp_path / "events.ndjson.gz"
    asked = {
        "sources": "google_ads", "attribution_model": "linear", "attribution_window": "0",
        "query_mode": "company", "event_names": "purchase", "fields": "amount",
    }  # fmt: skip
    options = [
        "--source", "google_ads", "--attribution-model", "linear", "--attribution-window", "0",
        "--query-mode", "company", "--event-name", "purchase", "--field", "amount",
    ]  # fmt: skip
    assert run(stage, "events", *DAY, *options, output=output) == 0
    lines = gzip.decompress(output.read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == api.rows(**asked)


def test_contacts_and_companies(stage: Stage, tmp_path: Path) -> None:
    contact_id, company_id = stage.contact(), stage.company()
    stage.identifier(contact_id, "trk_token", "t")
    dates = ["--start-date", "2026-05-13 00:00:00", "--end-date", "2026-05-13 23:59:59"]
    output = tmp_path / "out"
    assert run(stage, "contacts", *dates, "--include-trk-tokens", output=output) == 0
    told = json.loads(output.read_text())
    assert (told["id"], told["trk_tokens"]) == (contact_id, ["t"])
    assert run(stage, "companies", *dates, output=output) == 0
    assert json.loads(output.read_text())["id"] == company_id


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--date", "yesterday"], "date must have the format"),
        ([*DAY, "--source", "google_ads"], "attribution_model is required"),
        ([*DAY, "--field", "nonsense"], "fields must be one of"),
    ],
)
def test_what_it_refuses(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    options: list[str], told: str,
) -> None:  # fmt: skip
    output = tmp_path / "out"
    assert run(stage, "events", *options, output=output) == 2
    assert told in capsys.readouterr().err
    assert not output.exists()


def test_a_file_that_cannot_be_written(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    output = tmp_path / "file" / "out"
    assert run(stage, "events", *DAY, output=output) == 2
    assert str(output) in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"


def test_a_space_that_is_not_there(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", "events", "--space", "999999999", "--output", str(tmp_path / "x"), *DAY]
    assert main(arguments) == 2
    assert "Space not found" in capsys.readouterr().err
    del stage
