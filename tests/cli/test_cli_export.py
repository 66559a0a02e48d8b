"""`headwater export`: the same exports as the API's, written to a file by hand."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from pathlib import Path

import pytest

from headwater.cli import main
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

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
    query = {
        "sources": "google_ads", "attribution_model": "linear", "attribution_window": "0",
        "query_mode": "company", "event_names": "purchase", "fields": "amount",
    }  # fmt: skip
    options = [
        "--source", "google_ads", "--attribution-model", "linear", "--attribution-window", "0",
        "--query-mode", "company", "--event-name", "purchase", "--field", "amount",
    ]  # fmt: skip
    assert run(stage, "events", *DAY, *options, output=output) == 0
    lines = gzip.decompress(output.read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == api.rows(**query)


def test_contacts_and_companies(stage: Stage, tmp_path: Path) -> None:
    contact_id, company_id = stage.contact(), stage.company()
    stage.identifier(contact_id, "trk_token", "t")
    dates = ["--start-date", "2026-05-13 00:00:00", "--end-date", "2026-05-13 23:59:59"]
    output = tmp_path / "out"
    assert run(stage, "contacts", *dates, "--include-trk-tokens", output=output) == 0
    contact = json.loads(output.read_text())
    assert (contact["id"], contact["trk_tokens"]) == (contact_id, ["t"])
    assert run(stage, "companies", *dates, output=output) == 0
    assert json.loads(output.read_text())["id"] == company_id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--date", "yesterday"], "date must have the format"),
        ([], "give either --date, or --start-date and --end-date"),
        ([*DAY, "--start-date", "2026-05-13"], "give either --date"),
        ([*DAY, "--whole-range"], "date cannot be given with whole_range"),
        (["--end-date", "2026-05-13", "--whole-range"], "end_date cannot be given with whole_range"),
        (["--start-date", "2026-05-13", "--end-date", "soon"], "--end-date must have the format"),
        (["--start-date", "2026-05-13", "--end-date", "2026-05-12"], "must not be before"),
        ([*DAY, "--source", "google_ads"], "attribution_model is required"),
        ([*DAY, "--field", "nonsense"], "fields must be one of"),
    ],
)
def test_bad_options_are_refused(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    options: list[str], message: str,
) -> None:  # fmt: skip
    output = tmp_path / "out"
    assert run(stage, "events", *options, output=output) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("name", ["file/out", "n" * 300, "loop/out"])
def test_a_file_that_cannot_be_written(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    output = tmp_path / name
    assert run(stage, "events", *DAY, output=output) == 2
    assert str(output) in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"


def test_a_pipe_is_not_replaced(stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as /dev/stdout, by root."""
    output = tmp_path / "pipe"
    os.mkfifo(output)
    assert run(stage, "events", *DAY, output=output) == 2
    assert str(output) in capsys.readouterr().err
    assert output.is_fifo()


def test_a_link_is_followed(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    output = tmp_path / "link"
    output.symlink_to(tmp_path / "file")
    assert run(stage, "events", *DAY, output=output) == 0
    assert output.is_symlink()
    assert output.samefile(tmp_path / "file")


def test_a_space_that_is_not_there(stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", "events", "--space", "999999999", "--output", str(tmp_path / "x"), *DAY]
    assert main(arguments) == 2
    assert "Space not found" in capsys.readouterr().err
    del stage


def read_csv(path: Path) -> list[dict[str, str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(text.decode(), newline="")))


@pytest.mark.parametrize("name", ["day.csv", "day.csv.gz", "day.txt"])
def test_csv_is_what_people_expect(stage: Stage, tmp_path: Path, name: str) -> None:
    event_id = stage.event(stage.contact(), amount="12.5", order_id='=1+1, "x"\nö', event_name="purchase")
    options = ["--format", "csv"] if name.endswith("txt") else []
    assert run(stage, "events", *DAY, *options, output=tmp_path / name) == 0
    (row,) = read_csv(tmp_path / name)
    assert (row["id"], row["event_time_utc"]) == (str(event_id), "2026-05-13T12:00:00Z")
    assert (row["event_name"], row["amount"], row["is_upsell"]) == ("purchase", "12.5", "false")
    assert row["order_id"] == '\'=1+1, "x"\nö', "a spreadsheet must not run it"
    assert row["order_name"] == ""
    assert "source" not in row


def test_csv_with_sources_has_all_there_is_of_them(stage: Stage, tmp_path: Path) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "google_ads")
    stage.event(contact_id, amount=5)
    options = ["--source", "google_ads", "--attribution-model", "linear"]
    output = tmp_path / "day.csv"
    assert run(stage, "events", *DAY, *options, "--attribution-window", "0", output=output) == 0
    (row,) = read_csv(output)
    assert (row["source"], row["amount"]) == ("google_ads", "5")
    assert {"campaign_name", "touchpoint_id", "ad_id"} <= row.keys()


def test_several_days_in_one_file(stage: Stage, tmp_path: Path) -> None:
    ids = [stage.event(stage.contact(), event_time=f"2026-05-{day:02} 12:00Z") for day in range(10, 16)]
    output = tmp_path / "days.ndjson"
    days = ["--start-date", "2026-05-11", "--end-date", "2026-05-14"]
    assert run(stage, "events", *days, output=output) == 0
    exported_ids = [json.loads(line)["id"] for line in output.read_text().splitlines()]
    assert exported_ids == ids[4:0:-1]


def test_contacts_as_csv(stage: Stage, tmp_path: Path) -> None:
    contact_id = stage.contact(profile_field_1="gold", phone="+49151 234")
    for address in ("a@example.com", "b@example.com"):
        stage.identifier(contact_id, "email", address)
    output = tmp_path / "contacts.csv"
    dates = ["--start-date", "2026-05-13 00:00:00", "--end-date", "2026-05-13 23:59:59"]
    assert run(stage, "contacts", *dates, output=output) == 0
    (row,) = read_csv(output)
    assert row["id"] == str(contact_id)
    assert row["profile_field_1"] == "gold"
    assert row["profile_field_2"] == ""
    assert "custom_fields" not in row
    assert sorted(json.loads(row["emails"])) == ["a@example.com", "b@example.com"]
