"""Refused imports over the API: the answer names what must be given, and nothing of the file is kept."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.base.settings import Settings
from headwater.database.jobs.connection import connect
from headwater.privacy.erasure_job import erase_next
from tests.conftest import API, run_application
from tests.support.factories import Stage
from tests.support.import_desk import ORDERS, SPEND, Desk, client_for_stage, table
from tests.support.waiting import PATIENCE_SECONDS, wait_until

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
    ("contacts", table("email,name", "a@b.org,x"), {"encoding": "utf-16"}, "encoding"),
    ("contacts", table("email,name", "a@b.org,x"), {"encoding": "utf-16 be"}, "file"),
    ("contacts", b"email;n\xfcme\na@b.org;x\n", {"encoding": "utf-8"}, "encoding"),
    ("contacts", b"email;n\x81me\na@b.org;x\n", {"encoding": "windows-1252"}, "encoding"),
    ("contacts", b"email;n\x00me\na@b.org;x\n", {"encoding": "utf-8"}, "file"),
    ("contacts", "", {}, "file"),
    ("contacts", "email,name\n", {}, "file"),
    ("contacts", table("email,email", "a@b.org,b@b.org"), {}, "file"),
    ("contacts", b"PK\x03\x04 a workbook", {}, "file"),
    ("contacts", '{"email": "a@b.org"}', {}, "file"),
    ("contacts", bytes(range(256)) * 40, {}, "file"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "params", "field"), REFUSALS)
def test_it_works(desk: Desk, kind: str, content: bytes | str, params: dict[str, Any], field: str) -> None:
    errors = desk.refusal(kind, content, **params)
    assert set(errors) == {field}
    assert all(errors[field])


@pytest.mark.parametrize(
    ("slots", "row", "cell", "error"),
    [
        (
            "profile_field_26,profile_field_27,profile_field_28",
            ",05/06/2026,01/02/2026",
            "05/06/2026",
            "dates",
        ),
        ("profile_field_16,profile_field_17,profile_field_18", ",1.234,5.678", "1.234", "decimals"),
    ],
)
def test_the_column_of_the_named_cell_is_named(
    desk: Desk, slots: str, row: str, cell: str, error: str
) -> None:
    errors = desk.refusal("contacts", table(f"email,{slots}", f"a@b.org,{row}"))
    [message] = errors[error]
    assert [name for name in (*slots.split(","), cell) if name in message] == [slots.split(",")[1], cell]


SCOPES = {"events": "events:write", "contacts": "contacts:write", "touchpoints": "events:write",
          "spend": "spend:write", "ads": "events:write"}  # fmt: skip


@pytest.mark.parametrize("kind", SCOPES)
def test_a_key_needs_the_scope(desk: Desk, make_key: Callable[..., str], kind: str, space_id: int) -> None:
    other_scopes = [scope for scope in ("events:write", "contacts:write") if scope != SCOPES[kind]]
    stage = Stage(desk.stage.connection, space_id, make_key(space_id, scopes=other_scopes))
    with client_for_stage(desk, stage) as client:
        assert client.post(f"/{kind}/imports", content=ORDERS).status_code == 403
        assert client.get(f"/{kind}/imports/1").status_code == 403
    assert desk.remaining_files() == ([], [])


def test_a_form_and_a_compressed_body_are_refused(desk: Desk) -> None:
    form = desk.client.post("/events/imports", files={"file": ("orders.csv", ORDERS)})
    assert (form.status_code, list(form.json()["errors"])) == (422, ["file"])
    headers = {"Content-Encoding": "gzip"}
    answer = desk.client.post("/events/imports", content=b"\x1f\x8b", headers=headers)
    assert answer.status_code == 415
    assert desk.remaining_files() == ([], [])


@pytest.fixture
def small_client(database_url: str, data_dir: Path, desk: Desk) -> Iterator[httpx.Client]:
    """A client of an application that accepts files of up to one megabyte."""
    settings = Settings(rate_limit_factor=1000, data_dir=data_dir, max_upload_mb=1)
    running = run_application(settings, database_url)
    headers = {"Authorization": desk.client.headers["authorization"]}
    with httpx.Client(base_url=running.base_url + API, headers=headers) as client:
        yield client
    running.stop()


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_that_is_too_large(desk: Desk, small_client: httpx.Client, *, declared: bool) -> None:
    """Clients that send everything before they read also get the answer."""
    row = b"purchase,a@example.com,1,5\n"
    content = ORDERS.encode() + row * (5_000_000 // len(row))
    pieces = (content[start : start + 65536] for start in range(0, len(content), 65536))
    answer = small_client.post("/events/imports", content=content if declared else pieces)
    assert answer.status_code == 413
    assert desk.remaining_files() == ([], [])
    largest_content = ORDERS.encode() + row * ((1_000_000 - len(ORDERS)) // len(row))
    assert small_client.post("/events/imports", content=largest_content).status_code == 202


def test_a_file_declared_too_large_need_not_be_sent(small_client: httpx.Client) -> None:
    url = small_client.base_url
    head = (
        f"POST {API}/events/imports HTTP/1.1\r\nHost: {url.host}\r\nContent-Length: 5000000\r\n"
        f"Authorization: {small_client.headers['authorization']}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(head.encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 413")


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
        wait_until(lambda: bool(desk.remaining_files()[1]))
        erase_somebody(desk)
        yield b"purchase,gone@example.com,3,5\n"

    answer = desk.client.post("/events/imports", content=pieces())
    assert answer.status_code == 409
    assert desk.remaining_files() == ([], [])
    assert desk.send("events", ORDERS).status_code == 202


def test_a_client_that_goes_away_leaves_nothing(desk: Desk) -> None:
    def pieces() -> Iterator[bytes]:
        yield ORDERS.encode()
        wait_until(lambda: bool(desk.remaining_files()[1]))
        raise ConnectionError

    with pytest.raises(ConnectionError):
        desk.client.post("/events/imports", content=pieces())
    wait_until(lambda: desk.remaining_files() == ([], []))
