"""Imports over the API: a file is read as by the command, stored once, and belongs to its Space."""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager
from random import Random

import psycopg
import pytest
from structlog.testing import capture_logs

from headwater.base.storage import LocalFolder, Sink
from headwater.intake.imports import jobs
from headwater.intake.imports.reception import FULL, NOT_STORED
from tests.imports.test_one_reader import (
    AMOUNTS,
    ENCODINGS,
    KINDS,
    LINE_ENDS,
    SEPARATORS,
    TIMES,
    amount_text,
    encode,
    some_events,
    write,
)
from tests.support.campaigns import campaign_size
from tests.support.factories import make_stage
from tests.support.import_desk import ORDERS, SPEND, Desk, client_for_stage, table
from tests.support.importing import Importer

INSTANCES = campaign_size("HEADWATER_READ_FILES", 8, 24)


def test_it_works(desk: Desk) -> None:
    answer = desk.begin("events", ORDERS, name="orders.csv")
    assert answer["status"] == "queued"
    assert answer["reading"] == {
        "columns": {name: name for name in ("event_name", "email", "order_id", "amount")},
        "constants": {}, "timezone": "UTC", "decimals": "point", "dates": "iso",
        "separator": "comma", "encoding": "utf-8",
    }  # fmt: skip
    assert desk.get("events", answer["import_id"])["status"] == "queued"
    desk.work()
    report = desk.get("events", answer["import_id"])
    (refusal,) = report.pop("refusals")
    assert (refusal["row"], refusal["line"]) == (2, 3)
    assert "email" in refusal["reason"]
    assert {name: report[name] for name in ("kind", "name", "status", "rows_done")} == {
        "kind": "events", "name": "orders.csv", "status": "finished", "rows_done": 2,
    }  # fmt: skip
    assert (report["stored"], report["refused"]) == (1, 1)
    assert len(desk.rows("events")) == 1


def random_table(rows: list[dict[str, str]], dice: Random) -> bytes:
    """Return a table in a random encoding, with a random separator and line ending."""
    text = write(rows, dice.choice(SEPARATORS), dice.choice(LINE_ENDS), dice)
    return encode(text, dice.choice(ENCODINGS))


def some_orders(number: int, dice: Random) -> list[dict[str, str]]:
    style, form = dice.choice([*AMOUNTS]), dice.choice(TIMES)
    rows = [
        {"order_id": f"{number}-{order}", "event_name": "purchase", "email": f"{order}@example.com",
         "amount": amount_text(style, amount), "event_time": moment.strftime(form),
         "full_name": name}
        for order, amount, moment, name in some_events(dice)
    ]  # fmt: skip
    total = dict.fromkeys(rows[0], "") | {"order_id": "Gesamt", "amount": rows[0]["amount"]}
    return [*rows, total] if dice.random() < 0.5 else rows


def some_spend(number: int, dice: Random) -> list[dict[str, str]]:
    style = dice.choice([style for style in AMOUNTS if not set(style) & set("€E")])
    form = dice.choice(("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y"))
    rows = [
        {"Day": moment.strftime(form), "Campaign ID": f"{number}{order}", "Campaign": name,
         "Cost": amount_text(style, amount), "Clicks": str(order)}
        for order, (_, amount, moment, name) in enumerate(some_events(dice))
    ]  # fmt: skip
    total = dict.fromkeys(rows[0], "") | {"Day": "Total", "Cost": rows[0]["Cost"]}
    return [*rows, total] if dice.random() < 0.5 else rows


def some_rows(kind: str, number: int, dice: Random) -> list[dict[str, str]]:
    if kind == "events":
        return some_orders(number, dice)
    if kind == "spend":
        return some_spend(number, dice)
    name = {"contacts": "email", "touchpoints": "campaign_name", "ads": "id"}[kind]
    return [{**row, name: f"{number}-{row[name]}"} for row in KINDS[kind]]


@pytest.mark.parametrize("kind", ["events", "contacts", "touchpoints", "spend", "ads"])
def test_a_file_is_read_as_at_a_terminal(desk: Desk, importer: Importer, kind: str) -> None:
    """In any encoding and with any separator, numbers and dates, even with a row of totals at the end."""
    settings = SPEND if kind == "spend" else {}
    options = [text for name, value in settings.items() for text in (f"--{name}", value)]
    import_ids: list[int] = []
    for number in range(INSTANCES):
        dice = Random(f"{kind} {number}")
        content = random_table(some_rows(kind, number, dice), dice)
        file = importer.folder / f"{number}.csv"
        file.write_bytes(content)
        assert importer.run(kind, file, *options)["refused"] == 0, content
        import_ids.append(desk.begin(kind, content, **settings)["import_id"])
    desk.work()
    for import_id in import_ids:
        report = desk.get(kind, import_id)
        assert (report["status"], report["stored"], report["refused"]) == ("finished", 4, 0), report
    with client_for_stage(desk, importer.stage) as client:
        other_desk = Desk(client, importer.stage, desk.folder, desk.url, desk.earlier_files)
        assert desk.rows(kind) == other_desk.rows(kind)
        assert len(desk.rows(kind)) >= 2.5 * INSTANCES


def test_what_was_asked_for_is_given(desk: Desk) -> None:
    content = "Kunde;Wert;Wann;email\na@b.org;1.234;05/06/2026;x\n".encode("mac_roman")
    columns = ["Kunde:email", "Wert:amount", "Wann:event_time", "email:"]
    errors = desk.refusal("events", content, **{"columns[]": columns})
    assert set(errors) == {"decimals", "dates", "event_name"}
    answer = desk.begin(
        "events", content, event_name="purchase", decimals="comma", dates="dmy",
        timezone="Europe/Berlin", encoding="windows-1252", separator="semicolon", columns=columns,
    )  # fmt: skip
    assert answer["reading"] == {
        "columns": {"Kunde": "email", "Wert": "amount", "Wann": "event_time", "email": ""},
        "constants": {"event_name": "purchase"}, "timezone": "Europe/Berlin", "decimals": "comma",
        "dates": "dmy", "separator": "semicolon", "encoding": "windows-1252",
    }  # fmt: skip
    desk.work()
    [(payload,)] = desk.rows("events")
    assert (payload["email"], payload["amount"]) == ("a@b.org", "1234")
    assert payload["event_time"] == 1780610400000  # 4 June 2026, 22:00 in UTC


@pytest.mark.parametrize("late_rows", [("2.345", "1.234,50"), ("2,345", "1,234.50")])
def test_rows_far_down_tell_how_numbers_are_written(desk: Desk, late_rows: tuple[str, str]) -> None:
    """With only the first rows, they would be read wrongly."""
    rows = [f"purchase;a@b.org;{amount}" for amount in (*range(900), *late_rows)]
    content = table("event_name;email;amount", *rows)
    desk.begin("events", content)
    desk.work()
    amounts = [float(payload["amount"]) for (payload,) in desk.rows("events")][-2:]
    assert amounts == [2345, 1234.5]


@pytest.mark.parametrize("content", ["Day,Cost\n2026-05-13,€5.50\n", "Day;Cost\n2026-05-13;5,50 €\n"])
def test_amounts_with_signs_name_their_currency(desk: Desk, content: str) -> None:
    desk.begin("spend", content, platform="google")
    desk.work()
    (row,) = desk.rows("spend")
    assert (row["amount"], row["currency"]) == (5.5, "EUR")


def test_the_same_file_again_stores_nothing(desk: Desk) -> None:
    first, second = desk.begin("events", ORDERS), desk.begin("events", ORDERS)
    desk.work()
    assert desk.get("events", first["import_id"])["stored"] == 1
    second_report = desk.get("events", second["import_id"])
    assert (second_report["status"], second_report["message"][:13]) == ("finished", "This file was")
    assert len(desk.rows("events")) == 1
    desk.begin("events", ORDERS, timezone="Europe/Berlin")
    desk.work()
    assert len(desk.rows("events")) == 2


def test_it_is_of_its_space_and_its_kind(desk: Desk, connection: psycopg.Connection) -> None:
    import_id = desk.begin("events", ORDERS)["import_id"]
    with client_for_stage(desk, make_stage(connection)) as other_client:
        answers = [
            other_client.get(f"/events/imports/{import_id}"),
            desk.client.get(f"/contacts/imports/{import_id}"),
            desk.client.get("/events/imports/999999999999"),
        ]
    for answer in answers:
        assert (answer.status_code, answer.json()) == (404, {"message": "Import not found."})
    assert desk.client.get("/events/imports/x").status_code == 422


def test_one_of_the_console_is_readable(desk: Desk) -> None:
    import_id = desk.begin("events", ORDERS)["import_id"]
    for status, stored_count in (("uploaded", 0), ("checked", 0), ("failed", 3), ("cancelled", 3)):
        desk.stage.connection.execute(
            "UPDATE import_jobs SET status = %s, taken = 3, user_id = 1 WHERE id = %s", (status, import_id)
        )
        report = desk.get("events", import_id)
        assert (report["status"], report["stored"]) == (status, stored_count)
        assert report["message"]


def test_the_file_goes_when_its_import_ends(desk: Desk) -> None:
    desk.begin("events", ORDERS)
    assert len(desk.remaining_files()[0]) == 1
    desk.work()
    jobs.tidy(desk.stage.connection, LocalFolder(desk.folder), desk.stage.space_id)
    assert desk.remaining_files()[0] == []


@pytest.mark.parametrize(("code", "message"), [(errno.ENOSPC, FULL), (errno.EACCES, NOT_STORED)])
def test_a_file_that_cannot_be_stored_names_the_cause(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    def fail(*_: object) -> AbstractContextManager[Sink]:
        raise OSError(code, "failed")

    monkeypatch.setattr(LocalFolder, "create", fail)
    with capture_logs() as lines:
        answer = desk.send("events", ORDERS)
    assert (answer.status_code, answer.json()["message"]) == (503, message)
    assert [line["exc_info"].errno for line in lines if line["event"] == "upload not stored"] == [code]
    assert desk.remaining_files() == ([], [])
    monkeypatch.undo()
    assert desk.begin("events", ORDERS)["status"] == "queued"
