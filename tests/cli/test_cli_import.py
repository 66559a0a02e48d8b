"""`headwater import`: files of events, touchpoints and ad names; columns, refusals and continuing."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from headwater.events.accepted import STANDARD_NAMES
from tests.support.factories import Stage
from tests.support.importing import Importer
from tests.support.pipeline import Stage as Pipeline

EVENT = {"event_name": "purchase", "email": "ada@example.com", "event_time": "2026-05-13"}
BAD = {**EVENT, "event_name": "nonsense"}
RULE = f"The event_name must be one of {', '.join(STANDARD_NAMES)}, or custom_event_1 to custom_event_50."


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


def numbered_events(count: int) -> list[dict[str, Any]]:
    return [{**EVENT, "order_id": str(number)} for number in range(count)]


def test_it_works(importer: Importer, stage: Stage) -> None:
    file = importer.write("shop.ndjson", {**EVENT, "amount": 10.5}, BAD, {**EVENT, "order_id": "7"})
    report = importer.run("events", file, status=1)
    assert list(report.pop("reasons").values()) == [1]
    assert report == {
        "rows": 3, "queued": 2, "refused": 1, "rows_done_before": 0, "dry_run": False,
        "finished_before": None, "refused_file": f"{file}.refused.ndjson",
        "times_without_offset": 3, "timezone": "UTC",
    }  # fmt: skip
    first, second = importer.waiting()
    assert first == (
        "event",
        {"event_name": "purchase", "event_time": 1778630400000, "email": "ada@example.com",
         "amount": "10.5", "do_not_capi": True},
    )  # fmt: skip
    assert second[1]["order_id"] == "7"
    [line] = (importer.folder / "shop.ndjson.refused.ndjson").read_text().splitlines()
    assert json.loads(line) == {
        "row": 2, "line": 2, "errors": {"event_name": [RULE]}, "values": BAD,
    }  # fmt: skip
    Pipeline(stage.connection, stage.space_id).process()
    [(count,)] = stage.connection.execute(
        "SELECT count(*) FROM events WHERE space_id = %s AND do_not_capi", (stage.space_id,)
    ).fetchall()
    assert count == 2


@pytest.mark.parametrize("name", ["f.ndjson", "f.jsonl", "f.csv", "f.ndjson.gz", "f.csv.gz"])
def test_every_form(importer: Importer, name: str) -> None:
    file = importer.write(name, *numbered_events(3))
    assert importer.run("events", file)["queued"] == 3
    assert [payload["order_id"] for payload in importer.payloads()] == ["0", "1", "2"]


def test_the_event_name_of_rows_without_one(importer: Importer) -> None:
    file = importer.write("f.csv", {"event_name": "sign_up", "email": "a@b.org"}, {"email": "c@d.org"})
    assert importer.run("events", file, "--event-name", "purchase")["queued"] == 2
    assert [payload["event_name"] for payload in importer.payloads()] == ["sign_up", "purchase"]


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_standard_input(importer: Importer, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    file = importer.write(f"f.{form}.gz", *numbered_events(2), BAD)
    monkeypatch.chdir(importer.folder)
    with file.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        report = importer.run("events", "-", "--format", form, status=1)
    assert (report["rows"], report["queued"]) == (3, 2)
    assert report["refused_file"] == str(importer.folder / "stdin.refused.ndjson")


def test_the_cells_of_a_csv_file_are_typed(importer: Importer) -> None:
    cells = [
        {"amount": "12.50", "is_upsell": "TRUE", "do_not_capi": "no", "order_id": "007"},
        {"amount": " -3 ", "is_upsell": "0", "do_not_capi": "1", "profile_field_16": "5.0"},
        {"amount": "0", "is_upsell": "", "do_not_capi": "", "order_id": ""},
        {"amount": "1e3", "is_upsell": "Yes"},
    ]
    file = importer.write("f.csv", *({**EVENT, **row} for row in cells))
    assert importer.run("events", file)["refused"] == 0
    first, second, third, fourth = importer.payloads()
    assert (first["amount"], first["is_upsell"], first["order_id"]) == ("12.5", True, "007")
    assert "do_not_capi" not in first
    assert (second["amount"], second["do_not_capi"]) == ("-3", True)
    assert second["profile_fields"] == {"16": "5"}
    assert "is_upsell" not in second
    assert (third["amount"], third["do_not_capi"]) == ("0", True)
    assert not third.keys() & {"is_upsell", "order_id"}
    assert (fourth["amount"], fourth["is_upsell"]) == ("1000", True)


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        ({"amount": "1.50 apples"}, "The amount must be a number, written like 1234.50."),
        ({"amount": "1e999999999"}, "The amount must be a number, written like 1234.50."),
        ({"amount": "NaN"}, "The amount must be a number, written like 1234.50."),
        ({"is_upsell": "perhaps"}, "The is_upsell must be true or false."),
    ],
)
def test_other_cells_are_refused(importer: Importer, cells: dict[str, str], rule: str) -> None:
    file = importer.write("f.csv", {**EVENT, **cells})
    assert importer.run("events", file, status=1)["refused"] == 1
    line = (importer.folder / "f.csv.refused.ndjson").read_text()
    assert json.loads(line)["errors"] == {rule.split()[1]: [rule]}


def test_columns_by_other_names(importer: Importer) -> None:
    rows = [{"event_name": "purchase", " Mail ": "a@b.org", "Total": "5", "order_id": "x", "no": 1}]
    options = ["--map", "Mail=email", "--map", "Total=amount", "--map", "no=order_id"]
    assert importer.run("events", importer.write("f.csv", *rows), *options)["queued"] == 1
    [payload] = importer.payloads()
    assert (payload["email"], payload["amount"], payload["order_id"]) == ("a@b.org", "5", "1")


def test_paths_into_nested_objects(importer: Importer) -> None:
    row = {**EVENT, "email": None, "customer": {"mail": {"main": "a@b.org"}}, "a.b": "dotted",
           "customer_id": 5}  # fmt: skip
    options = ["--map", "customer.mail.main=email", "--map", "a.b=order_id",
               "--map", "customer_id.x=phone", "--map", "nowhere.at.all=url"]  # fmt: skip
    assert importer.run("events", importer.write("f.ndjson", row), *options)["queued"] == 1
    [payload] = importer.payloads()
    assert (payload["email"], payload["order_id"]) == ("a@b.org", "dotted")
    assert not payload.keys() & {"phone", "url"}


def test_touchpoints(importer: Importer) -> None:
    touchpoint = {"occurred_at": "2026-05-13", "email": "a@b.org", "source": "sms", "campaign_id": "12"}
    for name in ("t.csv", "t.ndjson"):
        file = importer.write(name, touchpoint, {**touchpoint, "source": "pigeon"})
        assert importer.run("touchpoints", file, status=1)["queued"] == 1
    queue_rows = importer.waiting()
    assert [kind for kind, _ in queue_rows] == ["touchpoint"] * 2
    assert queue_rows[0] == queue_rows[1]


def test_ads(importer: Importer, stage: Stage) -> None:
    ads = [{"kind": "ad", "id": "7", "name": "Blue"}, {"kind": "ad", "id": "", "name": "Red"},
           {"kind": "ad", "id": "7", "name": "Green", "platform": "meta"}]  # fmt: skip
    file = importer.write("ads.csv", *ads)
    report = importer.run("ads", file, status=1)
    assert (report["stored"], report["refused"]) == (2, 1)
    line = (importer.folder / "ads.csv.refused.ndjson").read_text()
    assert json.loads(line)["errors"] == {"id": ["The id is required."]}
    rows = stage.connection.execute(
        "SELECT id, name, platform FROM ad_names WHERE space_id = %s", (stage.space_id,)
    ).fetchall()
    assert rows == [("7", "Green", "meta")]


def test_a_dry_run_stores_nothing(importer: Importer, stage: Stage) -> None:
    for kind, rows in (
        ("events", [EVENT, BAD]),
        ("ads", [{"kind": "ad", "id": "7", "name": "Blue"}, {}]),
        ("contacts", [{"email": "a@b.org"}, {}]),
    ):
        report = importer.run(kind, importer.write("f.ndjson", *rows), "--dry-run", status=1)
        assert (report["rows"], report["refused"], report["dry_run"]) == (2, 1, True)
        assert len(Path(report["refused_file"]).read_text().splitlines()) == 1
    for table in ("inbox", "imports", "ad_names", "contacts", "contact_identifiers"):
        query = f"SELECT count(*) FROM {table} WHERE space_id = %s"
        assert stage.connection.execute(query, (stage.space_id,)).fetchone() == (0,)


# ------------------------------------------------------------------------------------ refusals


def test_rows_that_cannot_be_read(importer: Importer) -> None:
    file = importer.folder / "f.ndjson"
    good = json.dumps(EVENT).encode()
    lines = [b"\xef\xbb\xbf" + good, b"", b"{", b"[1]", b'{"email": "\xff"}',
             b'{"email": "a\\u0000"}', b'{"url": "' + b"x" * 300_000 + b'"}', good]  # fmt: skip
    file.write_bytes(b"\n".join(lines))
    report = importer.run("events", file, status=1)
    assert (report["rows"], report["queued"], report["refused"]) == (7, 2, 5)
    refusals = [json.loads(line) for line in
                (importer.folder / "f.ndjson.refused.ndjson").read_text().splitlines()]  # fmt: skip
    assert [(refusal["row"], refusal["line"], list(refusal["errors"])) for refusal in refusals] == [
        (2, 3, ["body"]), (3, 4, ["row"]), (4, 5, ["email"]), (5, 6, ["email"]), (6, 7, ["row"]),
    ]  # fmt: skip


def test_csv_rows_that_cannot_be_read(importer: Importer) -> None:
    file = importer.folder / "f.csv"
    file.write_bytes(
        b"\xef\xbb\xbfevent_name , email,full_name\r\n"
        b'purchase,a@b.org,"two\r\nlines"\r\n'
        b"\r\n"
        b"purchase,a@b.org,x,more\r\n"
        b"purchase,a@b.org,\xff\r\n"
        b"purchase,a@b.org," + b"x" * 300_000 + b"\r\n"
        b"purchase,a@b.org\r\n"
    )  # fmt: skip
    report = importer.run("events", file, status=1)
    assert (report["rows"], report["queued"], report["refused"]) == (5, 2, 3)
    assert importer.payloads()[0]["full_name"] == "two\r\nlines"
    refusals = [json.loads(line) for line in
                (importer.folder / "f.csv.refused.ndjson").read_text().splitlines()]  # fmt: skip
    assert [(refusal["row"], refusal["line"], list(refusal["errors"])) for refusal in refusals] == [
        (2, 5, ["row"]), (3, 6, ["full_name"]), (4, 7, ["row"]),
    ]  # fmt: skip


def test_the_first_refusals_are_told(importer: Importer, capsys: pytest.CaptureFixture[str]) -> None:
    file = importer.write("f.ndjson", *[BAD] * 25)
    arguments = ["import", "events", "--space", str(importer.stage.space_id), str(file)]
    assert main(arguments) == 1
    output = capsys.readouterr()
    lines = [line for line in output.err.splitlines() if line.startswith(("line", "and"))]
    assert lines == [*(f"line {number}: {RULE}" for number in range(1, 21)), "and 5 more"]
    assert "refused               25" in output.out
    assert len((importer.folder / "f.ndjson.refused.ndjson").read_text().splitlines()) == 25


def test_nothing_refused_leaves_no_file(importer: Importer) -> None:
    assert importer.run("events", importer.write("f.ndjson", EVENT))["refused_file"] is None
    assert [path.name for path in importer.folder.iterdir()] == ["f.ndjson"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("f.csv", b"", (), "The file is empty"),
        ("f.csv", b"a, a\n", (), "the header names the column a twice"),
        ("f.xyz", b"", (), "use --format ndjson or --format csv"),
        ("f.XLSX", b"", (), "In Excel choose File, Save As"),
        ("f.csv", b"a\n", ("--map", "b=email"), "no column b; the columns are a"),
        ("f.csv", b"a\n", ("--map", "a=mail"), "no field mail; the fields are email"),
        ("f.csv", b"a\n", ("--map", "a"), "--map a: must be COLUMN=FIELD"),
        ("f.ndjson.gz", gzip.compress(b"{}" * 9999, mtime=0)[:-10], (), "the compressed file is damaged"),
    ],
)
def test_files_that_cannot_be_imported(
    importer: Importer, name: str, content: bytes, options: tuple[str, ...], message: str
) -> None:
    file = importer.folder / name
    file.write_bytes(content)
    assert message in importer.refusal("events", file, *options)


def test_a_file_or_space_that_is_not_there(importer: Importer) -> None:
    assert "No such file" in importer.refusal("events", importer.folder / "none.csv")
    file = importer.write("f.ndjson", EVENT)
    assert "Space not found" in importer.refusal("events", file, "--space", "999999999")


# ------------------------------------------------------------------------------------- going on


def test_a_finished_file_is_not_imported_again(importer: Importer) -> None:
    file = importer.write("f.ndjson", EVENT, BAD)
    importer.run("events", file, status=1)
    copy = importer.folder / "copy.ndjson"
    copy.write_bytes(file.read_bytes())
    report = importer.run("events", copy, status=1)
    assert report["finished_before"] is not None
    assert (report["rows"], report["queued"], report["rows_done_before"]) == (2, 1, 2)
    assert len(importer.waiting()) == 1
    assert importer.run("events", copy, "--again", status=1)["rows_done_before"] == 0
    assert len(importer.waiting()) == 2


def test_what_makes_it_another_import(importer: Importer, make_space: Callable[..., int]) -> None:
    file = importer.write("f.ndjson", {**EVENT, "mail": "b@c.org"})
    importer.run("events", file)
    assert importer.run("events", file, "--map", "mail=email")["queued"] == 1
    other_space = make_space()
    assert importer.run("events", file, "--space", str(other_space))["queued"] == 1
    assert importer.run("contacts", file)["stored"] == 1
    importer.write("f.ndjson", EVENT, EVENT)
    assert importer.run("events", file)["queued"] == 2
