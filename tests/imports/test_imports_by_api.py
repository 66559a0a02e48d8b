"""Imports over the API: a file is read as at a terminal, or the answer names what has to be given
beside it and nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg
import pytest

from headwater.imports import job_worker, jobs
from headwater.jobs.connection import connect
from headwater.privacy.erasure_job import erase_next
from headwater.settings import Settings
from headwater.storage import LocalFolder
from tests.conftest import API, Running, run_application
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
from tests.support.factories import Stage, make_stage
from tests.support.importing import Importer
from tests.support.waiting import wait_until

INSTANCES = 24
YEARS = {"start_date": "2026-01-01 00:00:00", "end_date": "2027-12-31 23:59:59"}
LISTS: dict[str, dict[str, Any]] = {
    "contacts": {**YEARS, "include_custom_fields": 1, "per_page": 100},
    "ads": {"per_page": 500},
    "spend": {"start_date": "2026-01-01", "end_date": "2026-12-31", "per_page": 500},
}
OWN_TO_A_SPACE = ("id", "updated_at", "as_of", "reported_at")
ORDERS = "event_name,email,order_id,amount\npurchase,a@example.com,1,5.50\npurchase,b@,2,5\n"


@dataclass
class Desk:
    """A Space's key, and the worker."""

    client: httpx.Client
    stage: Stage
    folder: Path
    url: str
    before: frozenset[str]
    """Files that other tests have left."""

    def send(self, kind: str, content: bytes | str, **params: Any) -> httpx.Response:
        headers = {"Content-Type": "text/csv"}
        return self.client.post(f"/{kind}/imports", content=content, params=params, headers=headers)

    def begin(self, kind: str, content: bytes | str, **params: Any) -> dict[str, Any]:
        answer = self.send(kind, content, **params)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def refusal(self, kind: str, content: bytes | str, **params: Any) -> dict[str, list[str]]:
        """The errors of a file that is refused, of which nothing is left."""
        answer = self.send(kind, content, **params)
        assert answer.status_code == 422, answer.text
        assert self.left() == ([], [])
        return answer.json()["errors"]

    def work(self) -> None:
        job_worker.work(self.stage.connection, LocalFolder(self.folder), self.url)

    def get(self, kind: str, import_id: int) -> dict[str, Any]:
        answer = self.client.get(f"/{kind}/imports/{import_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def left(self) -> tuple[list[str], list[Any]]:
        """Files and imports."""
        files = {path.name for path in self.folder.glob("*.upload*")} - self.before
        jobs = self.stage.connection.execute(
            "SELECT id, status FROM import_jobs WHERE space_id = %s", (self.stage.space_id,)
        )
        return sorted(files), jobs.fetchall()

    def rows(self, kind: str) -> list[Any]:
        """Everything that imports of a kind have stored in the Space."""
        if kind in LISTS:
            answer = self.client.get(f"/{kind}", params=LISTS[kind])
            return [
                {name: value for name, value in row.items() if name not in OWN_TO_A_SPACE}
                for row in answer.json()["data"]
            ]
        return self.stage.connection.execute(
            "SELECT payload::json FROM inbox WHERE space_id = %s ORDER BY id",
            (self.stage.space_id,),
        ).fetchall()


@pytest.fixture
def desk(
    client: httpx.Client, server: Running, space_id: int, connection: psycopg.Connection,
    database_url: str,
) -> Desk:  # fmt: skip
    connection.execute("UPDATE import_jobs SET status = 'cancelled' WHERE status IN"
                       " ('checking', 'queued', 'running')")  # fmt: skip
    folder = server.data_dir / "exports"
    before = frozenset(path.name for path in folder.glob("*.upload*"))
    return Desk(client, Stage(connection, space_id, ""), folder, database_url, before)


def test_it_works(desk: Desk) -> None:
    queued = desk.begin("events", ORDERS, name="orders.csv")
    assert queued["status"] == "queued"
    assert queued["reading"] == {
        "columns": {name: name for name in ("event_name", "email", "order_id", "amount")},
        "constants": {}, "timezone": "UTC", "decimals": "point", "dates": "iso",
        "separator": "comma", "encoding": "utf-8",
    }  # fmt: skip
    assert desk.get("events", queued["import_id"])["status"] == "queued"
    desk.work()
    done = desk.get("events", queued["import_id"])
    (refusal,) = done.pop("refusals")
    assert (refusal["row"], refusal["line"]) == (2, 3)
    assert "email" in refusal["reason"]
    assert {name: done[name] for name in ("kind", "name", "status", "rows_done")} == {
        "kind": "events", "name": "orders.csv", "status": "finished", "rows_done": 2,
    }  # fmt: skip
    assert (done["stored"], done["refused"]) == (1, 1)
    assert len(desk.rows("events")) == 1


def by_chance(rows: list[dict[str, str]], dice: Random) -> bytes:
    """A table in any encoding, with any separator and line end."""
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


SPEND = {"platform": "google", "currency": "EUR"}


@pytest.mark.parametrize("kind", ["events", "contacts", "touchpoints", "spend", "ads"])
def test_a_file_is_read_as_at_a_terminal(desk: Desk, importer: Importer, kind: str) -> None:
    """Whatever its encoding, separator, numbers and dates, and with a row of totals below it."""
    said = SPEND if kind == "spend" else {}
    options = [text for name, value in said.items() for text in (f"--{name}", value)]
    begun: list[int] = []
    for number in range(INSTANCES):
        dice = Random(f"{kind} {number}")
        content = by_chance(some_rows(kind, number, dice), dice)
        file = importer.folder / f"{number}.csv"
        file.write_bytes(content)
        assert importer.run(kind, file, *options)["refused"] == 0, content
        begun.append(desk.begin(kind, content, **said)["import_id"])
    desk.work()
    for import_id in begun:
        done = desk.get(kind, import_id)
        assert (done["status"], done["stored"], done["refused"]) == ("finished", 4, 0), done
    with client_for_stage(desk, importer.stage) as client:
        there = Desk(client, importer.stage, desk.folder, desk.url, desk.before)
        assert desk.rows(kind) == there.rows(kind)
        assert len(desk.rows(kind)) >= min(4 * INSTANCES, 60)


def client_for_stage(desk: Desk, stage: Stage) -> httpx.Client:
    headers = {"Authorization": f"Bearer {stage.key}"}
    return httpx.Client(base_url=desk.client.base_url, headers=headers)


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


NAMED = "event_name,email"
REFUSALS: list[tuple[str, bytes | str, dict[str, Any], str]] = [
    ("events", table(f"{NAMED},amount", 'purchase,a@b.org,"1,234"'), {}, "decimals"),
    ("events", table(f"{NAMED},amount", "purchase,a@b.org,1.234"), {}, "decimals"),
    ("events", table(f"{NAMED},event_time", "purchase,a@b.org,05/06/2026"), {}, "dates"),
    ("events", table(f"{NAMED},event_time", "purchase,a@b.org,5-6-2026 10:00"), {}, "dates"),
    ("contacts", table("email,profile_field_16", "a@b.org,12.345"), {}, "decimals"),
    ("contacts", table("email,profile_field_26", "a@b.org,01/02/2026"), {}, "dates"),
    ("touchpoints", table("email,source,occurred_at", "a@b.org,sms,1/2/26"), {}, "dates"),
    ("spend", table("Day,Cost", "2026-05-13,1.234"), SPEND, "decimals"),
    ("spend", table("Day,Cost", "01/02/2026,5.50"), SPEND, "dates"),
    ("events", table("email,amount", "a@b.org,5"), {}, "event_name"),
    ("events", table("event_name,amount", "purchase,5"), {}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"columns[]": ["email:"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"columns[]": ["Mail:email"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"columns[]": ["email:mail"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"columns[]": ["email"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"columns[]": [":email"]}, "columns"),
    ("events", table(f"{NAMED},x", "purchase,a@b.org,"),
     {"columns[]": ["email:email", "x:email"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"),
     {"columns[]": ["email:email", "email:phone"]}, "columns"),
    ("events", table(NAMED, "purchase,a@b.org"), {"event_name": "purchase"}, "event_name"),
    ("events", table("email,amount", "a@b.org,5"), {"event_name": "order"}, "event_name"),
    ("events", ORDERS, {"timezone": "Europe/Atlantis"}, "timezone"),
    ("spend", table("Day,Cost", "2026-05-13,5"), {**SPEND, "timezone": "CET/x"}, "timezone"),
    ("events", ORDERS, {"decimals": "dot"}, "decimals"),
    ("events", ORDERS, {"dates": "ymd"}, "dates"),
    ("events", ORDERS, {"separator": ","}, "separator"),
    ("events", ORDERS, {"encoding": "latin-9"}, "encoding"),
    ("events", ORDERS, {"name": "x" * 201}, "name"),
    ("spend", table("Day,Cost", "2026-05-13,5.50"), {"currency": "EUR"}, "platform"),
    ("spend", table("Day,Cost", "2026-05-13,5.50"), {"platform": "google"}, "currency"),
    ("spend", table("Day,Cost", "2026-05-13,5"), {**SPEND, "platform": "gogle"}, "platform"),
    ("spend", table("Day,Cost", "2026-05-13,5"), {**SPEND, "currency": "Euros"}, "currency"),
    ("spend", table("Day,Clicks", "2026-05-13,5"), SPEND, "columns"),
    ("spend", table("Week,Cost", "2026-05-13,5"), SPEND, "file"),
    ("touchpoints", table("email,source", "a@b.org,sms"), {}, "columns"),
    ("touchpoints", table("source,occurred_at", "sms,2026-05-13"), {}, "columns"),
    ("ads", table("kind,name", "ad,x"), {}, "columns"),
    ("contacts", table("name,phone", "x,1"), {}, "columns"),
    ("contacts", table("email", "a@b.org") * 2, {"separator": "tab", "columns[]": ["x:email"]},
     "columns"),
    ("contacts", "email;name\na@b.org;Köln\n".encode("mac_roman"), {}, "encoding"),
    ("contacts", "", {}, "file"),
    ("contacts", "email,name\n", {}, "file"),
    ("contacts", table("email,email", "a@b.org,b@b.org"), {}, "file"),
    ("contacts", b"PK\x03\x04 a workbook", {}, "file"),
    ("contacts", '{"email": "a@b.org"}', {}, "file"),
    ("contacts", bytes(range(256)) * 40, {}, "file"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "params", "field"), REFUSALS)
def test_a_refusal_names_what_has_to_be_given(
    desk: Desk, kind: str, content: bytes | str, params: dict[str, Any], field: str
) -> None:
    errors = desk.refusal(kind, content, **params)
    assert set(errors) == {field}
    assert all(errors[field])


def test_what_was_asked_for_is_given(desk: Desk) -> None:
    content = "Kunde;Wert;Wann;email\na@b.org;1.234;05/06/2026;x\n".encode("mac_roman")
    columns = ["Kunde:email", "Wert:amount", "Wann:event_time", "email:"]
    errors = desk.refusal("events", content, **{"columns[]": columns})
    assert set(errors) == {"decimals", "dates", "event_name"}
    queued = desk.begin(
        "events", content, event_name="purchase", decimals="comma", dates="dmy",
        timezone="Europe/Berlin", encoding="windows-1252", separator="semicolon", columns=columns,
    )  # fmt: skip
    assert queued["reading"] == {
        "columns": {"Kunde": "email", "Wert": "amount", "Wann": "event_time", "email": ""},
        "constants": {"event_name": "purchase"}, "timezone": "Europe/Berlin", "decimals": "comma",
        "dates": "dmy", "separator": "semicolon", "encoding": "windows-1252",
    }  # fmt: skip
    desk.work()
    [(payload,)] = desk.rows("events")
    assert (payload["email"], payload["amount"]) == ("a@b.org", "1234")
    assert payload["event_time"] == 1780610400000  # 4 June 2026, 22:00 in UTC


@pytest.mark.parametrize("late", [("2.345", "1.234,50"), ("2,345", "1,234.50")])
def test_rows_far_down_tell_how_numbers_are_written(desk: Desk, late: tuple[str, str]) -> None:
    """They would be read wrongly by the first rows alone."""
    rows = [f"purchase;a@b.org;{amount}" for amount in (*range(900), *late)]
    content = table("event_name;email;amount", *rows)
    desk.begin("events", content)
    desk.work()
    amounts = [float(payload["amount"]) for (payload,) in desk.rows("events")][-2:]
    assert amounts == [2345, 1234.5]


@pytest.mark.parametrize(
    "content", ["Day,Cost\n2026-05-13,€5.50\n", "Day;Cost\n2026-05-13;5,50 €\n"]
)
def test_amounts_with_signs_name_their_currency(desk: Desk, content: str) -> None:
    desk.begin("spend", content, platform="google")
    desk.work()
    (row,) = desk.rows("spend")
    assert (row["amount"], row["currency"]) == (5.5, "EUR")


def test_the_same_file_again_stores_nothing(desk: Desk) -> None:
    first, second = desk.begin("events", ORDERS), desk.begin("events", ORDERS)
    desk.work()
    assert desk.get("events", first["import_id"])["stored"] == 1
    again = desk.get("events", second["import_id"])
    assert (again["status"], again["message"][:13]) == ("finished", "The same file")
    assert len(desk.rows("events")) == 1
    desk.begin("events", ORDERS, timezone="Europe/Berlin")
    desk.work()
    assert len(desk.rows("events")) == 2


def test_it_is_of_its_space_and_its_kind(desk: Desk, connection: psycopg.Connection) -> None:
    import_id = desk.begin("events", ORDERS)["import_id"]
    with client_for_stage(desk, make_stage(connection)) as other:
        answers = [
            other.get(f"/events/imports/{import_id}"),
            desk.client.get(f"/contacts/imports/{import_id}"),
            desk.client.get("/events/imports/999999999999"),
        ]
    for answer in answers:
        assert (answer.status_code, answer.json()) == (404, {"message": "Import not found."})
    assert desk.client.get("/events/imports/x").status_code == 422


def test_one_of_the_console_is_readable(desk: Desk) -> None:
    import_id = desk.begin("events", ORDERS)["import_id"]
    for status, stored in (("uploaded", 0), ("checked", 0), ("failed", 3), ("cancelled", 3)):
        desk.stage.connection.execute(
            "UPDATE import_jobs SET status = %s, taken = 3, user_id = 1 WHERE id = %s",
            (status, import_id),
        )
        shown = desk.get("events", import_id)
        assert (shown["status"], shown["stored"]) == (status, stored)
        assert shown["message"]


SCOPES = {"events": "events:write", "contacts": "contacts:write", "touchpoints": "events:write",
          "spend": "events:write", "ads": "events:write"}  # fmt: skip


@pytest.mark.parametrize("kind", SCOPES)
def test_a_key_needs_the_scope(
    desk: Desk, make_key: Callable[..., str], kind: str, space_id: int
) -> None:
    others = [scope for scope in ("events:write", "contacts:write") if scope != SCOPES[kind]]
    stage = Stage(desk.stage.connection, space_id, make_key(space_id, scopes=others))
    with client_for_stage(desk, stage) as client:
        assert client.post(f"/{kind}/imports", content=ORDERS).status_code == 403
        assert client.get(f"/{kind}/imports/1").status_code == 403
    assert desk.left() == ([], [])


def test_a_form_and_a_compressed_body_are_refused(desk: Desk) -> None:
    form = desk.client.post("/events/imports", files={"file": ("orders.csv", ORDERS)})
    assert (form.status_code, list(form.json()["errors"])) == (422, ["file"])
    packed = {"Content-Encoding": "gzip"}
    answer = desk.client.post("/events/imports", content=b"\x1f\x8b", headers=packed)
    assert answer.status_code == 415
    assert desk.left() == ([], [])


@pytest.fixture
def small(database_url: str, data_dir: Path, desk: Desk) -> Iterator[httpx.Client]:
    """The key at an application that takes files of one megabyte."""
    settings = Settings(rate_limit_factor=1000, data_dir=data_dir, max_upload_mb=1)
    running = run_application(settings, database_url)
    headers = {"Authorization": desk.client.headers["authorization"]}
    with httpx.Client(base_url=running.base_url + API, headers=headers) as client:
        yield client
    running.stop()


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_that_is_too_large(desk: Desk, small: httpx.Client, *, declared: bool) -> None:
    """Clients that send all before they listen get the answer, too."""
    row = b"purchase,a@example.com,1,5\n"
    content = ORDERS.encode() + row * (5_000_000 // len(row))
    pieces = (content[at : at + 65536] for at in range(0, len(content), 65536))
    answer = small.post("/events/imports", content=content if declared else pieces)
    assert answer.status_code == 413
    assert desk.left() == ([], [])
    whole = ORDERS.encode() + row * ((1_000_000 - len(ORDERS)) // len(row))
    assert small.post("/events/imports", content=whole).status_code == 202


def erase_somebody(desk: Desk) -> None:
    contact_id = desk.stage.contact(email="gone@example.com")
    desk.stage.identifier(contact_id, "email", "gone@example.com")
    desk.stage.connection.execute(
        "INSERT INTO erasures (space_id, contact_id, receipt_mark)"
        " VALUES (%s, %s, nextval('receipt_ids'))", (desk.stage.space_id, contact_id)
    )  # fmt: skip
    with connect(desk.url) as worker:
        assert erase_next(worker, desk.stage.space_id)


def test_somebody_is_erased_while_a_file_arrives(desk: Desk) -> None:
    def pieces() -> Iterator[bytes]:
        yield ORDERS.encode()
        wait_until(lambda: bool(desk.left()[1]))
        erase_somebody(desk)
        yield b"purchase,gone@example.com,3,5\n"

    answer = desk.client.post("/events/imports", content=pieces())
    assert answer.status_code == 409
    assert desk.left() == ([], [])
    assert desk.send("events", ORDERS).status_code == 202


def test_a_client_that_goes_away_leaves_nothing(desk: Desk) -> None:
    def pieces() -> Iterator[bytes]:
        yield ORDERS.encode()
        wait_until(lambda: bool(desk.left()[1]))
        raise ConnectionError

    with pytest.raises(ConnectionError):
        desk.client.post("/events/imports", content=pieces())
    wait_until(lambda: desk.left() == ([], []))


def test_the_file_goes_when_its_import_ends(desk: Desk) -> None:
    desk.begin("events", ORDERS)
    assert len(desk.left()[0]) == 1
    desk.work()
    jobs.tidy(desk.stage.connection, LocalFolder(desk.folder), desk.stage.space_id)
    assert desk.left()[0] == []
