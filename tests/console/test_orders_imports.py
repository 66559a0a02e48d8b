"""An import, from the upload of its file to its refused rows. The test decides when the worker runs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.storage import LocalFolder
from headwater.console.forms import form_token, once_token
from headwater.intake.imports import job_worker, jobs
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.pipeline import Stage as Pipeline
from tests.support.waiting import PATIENCE_SECONDS

HOSTILE = "<script>alert(1)</script>"
GERMAN = (
    "Bestellnummer;E-Mail;Gesamtbetrag;Bestelldatum;Notiz\r\n"
    "1001;ada@example.com;1.234,50;13.05.2026 09:30;Größe\r\n"
    "1002;bob@example.com;10,00;14.05.2026 23:15;\r\n"
    "1003;kein;10,00;14.05.2026;\r\n"
)


@dataclass
class Desk:
    """A member who imports files, and the worker."""

    browser: Browser
    space_id: int
    connection: psycopg.Connection
    url: str
    folder: Path
    earlier_files: frozenset[str]
    """Files left by other tests."""

    @property
    def orders(self) -> str:
        return f"/console/spaces/{self.space_id}/orders"

    def upload(
        self, content: bytes | str, name: str = "orders.csv", kind: str = "events", **data: str
    ) -> httpx.Response:
        raw = content.encode() if isinstance(content, str) else content
        form = self.browser.form(f"{self.orders}/imports/new", f"{self.orders}/imports/upload")
        fields = {**dict(form.fields), "kind": kind, **data}
        return self.browser.client.post(
            form.action, data=fields, files={"file": (name, raw, "text/csv")},
            follow_redirects=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    def begin(self, content: bytes | str, **options: str) -> str:
        """Upload a file that is accepted, and return the path of its page."""
        page = self.upload(content, **options)
        assert page.status_code == 200, re.findall(r'class="refusal"[^>]*>([^<]*)', page.text)
        return page.url.path

    def check(self, path: str, **values: Any) -> httpx.Response:
        """Send the guessed mapping with some values changed, and let the worker check."""
        answer = self.browser.fill(f"{path}?edit", f"{path}/check", **values)
        assert answer.status_code == 200, re.findall(r'class="refusal"[^>]*>([^<]*)', answer.text)
        self.work()
        return self.browser.get(path)

    def start(self, path: str, **values: Any) -> httpx.Response:
        self.browser.fill(path, f"{path}/start", **values)
        self.work()
        return self.browser.get(path)

    def work(self) -> None:
        job_worker.work(self.connection, LocalFolder(self.folder), self.url)

    def tidy(self) -> None:
        for space_id in jobs.spaces_to_tidy(self.connection):
            jobs.tidy(self.connection, LocalFolder(self.folder), space_id)

    def files(self) -> list[str]:
        names = {path.name for path in self.folder.glob("*.upload*")}
        return sorted(names - self.earlier_files)

    def events(self) -> list[tuple[Any, ...]]:
        Pipeline(self.connection, self.space_id).process()
        return self.connection.execute(
            "SELECT e.order_id, e.amount, e.event_time, c.email FROM events e"
            " JOIN contacts c ON c.space_id = e.space_id AND c.id = e.contact_id"
            " WHERE e.space_id = %s ORDER BY e.order_id", (self.space_id,)
        ).fetchall()  # fmt: skip


ZIP = b"PK\x03\x04" + bytes(26)
"""The start of an archive, before the name of its first file."""


@pytest.fixture
def desk(
    owner: Person, console: Running, space_id: int, connection: psycopg.Connection,
    database_url: str,
) -> Desk:  # fmt: skip
    connection.execute("UPDATE import_jobs SET status = 'cancelled' WHERE status IN"
                       " ('checking', 'queued', 'running')")  # fmt: skip
    folder = console.data_dir / "exports"
    before = frozenset(path.name for path in folder.glob("*.upload*"))
    return Desk(owner.browser, space_id, connection, database_url, folder, before)


def refusal(page: httpx.Response) -> str:
    assert page.status_code == 422
    (text,) = re.findall(r'class="refusal" id="file-refusal">([^<]*)', page.text)
    return text


def test_it_works(desk: Desk) -> None:
    import_path = desk.begin(GERMAN.encode("cp1252"))
    page = desk.browser.get(import_path).text
    assert "separated by semicolons" in page
    assert ", 1 kB, uploaded" in page
    for column, field in (
        ("Bestellnummer", "order_id"), ("E-Mail", "email"), ("Gesamtbetrag", "amount"),
        ("Bestelldatum", "event_time"),
    ):  # fmt: skip
        assert re.search(rf"Field of {column}.*?<option selected>{field}<", page, re.DOTALL)
    for fragment in ('value="dmy" selected', 'value="comma" selected', "selected>purchase<"):
        assert fragment in page

    check_page = desk.check(import_path, timezone="Europe/Berlin")
    assert '<data value="2">2</data> rows would be stored' in check_page.text
    assert "<bdi>1234.5</bdi>" in check_page.text
    assert "The email must be" in check_page.text
    assert desk.events() == []

    answer = desk.start(import_path)
    assert '<data value="2">2</data> of 3 rows stored' in answer.text
    assert desk.events() == [
        ("1001", 1234.5, datetime(2026, 5, 13, 7, 30, tzinfo=UTC), "ada@example.com"),
        ("1002", 10, datetime(2026, 5, 14, 21, 15, tzinfo=UTC), "bob@example.com"),
    ]
    download = desk.browser.get(f"{import_path}/refused.csv")
    assert download.headers["content-disposition"].endswith('-refused.csv"')
    header, row = csv.reader(io.StringIO(download.content.decode("utf-8-sig")))
    assert header[:3] == ["line", "reason", "Bestellnummer"]
    assert (row[0], row[2:4]) == ("4", ["1003", "kein"])
    assert len(desk.files()) == 1
    desk.tidy()
    assert desk.files() == []
    assert "orders.csv" in desk.browser.get(desk.orders).text


def test_the_same_file_is_not_stored_twice(desk: Desk) -> None:
    file = "order_id,email,amount,event_time\n1,ada@example.com,5,2026-05-13\n"
    first = desk.begin(file)
    desk.check(first)
    desk.start(first)
    second = desk.begin(file)
    assert "was already imported in the same way" in desk.check(second).text
    assert "Nothing was stored again" in desk.start(second).text
    once_more = desk.begin(file)
    desk.check(once_more)
    desk.start(once_more, again="yes")
    queue_size = desk.connection.execute(
        "SELECT count(*) FROM inbox WHERE space_id = %s", (desk.space_id,)
    ).fetchone()
    assert queue_size == (2,)
    assert len(desk.events()) == 1  # recognized by its order id


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\xef\xbb\xbf\r\n", "The file is empty."),
        (ZIP + b"[Content_Types].xml", "This is an Excel workbook"),
        (ZIP + b"_rels/.rels", "This is an Excel workbook"),
        (ZIP + b"xl/workbook.xml", "This is an Excel workbook"),
        (ZIP + b"orders.CSV", "The file is compressed."),
        (ZIP + b"orders/", "The file is compressed."),
        (b"\x1f\x8b\x08" + bytes(100), "The file is compressed."),
        (b"%PDF-1.7", "This is a PDF"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", "This is not a text file"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "This is not a text file"),
        (b"GIF89a\x01\x00\x01\x00", "This is not a text file"),
        (b"<!doctype html><table>", "This is a web page"),
        (b'{"email": "a@b.de"}\n', "This is JSON"),
        (bytes(range(256)) * 20, "This is not a text file"),
        (b"note\nhello\n", "The file has one column only, “note”."),
        (b"email;total;total\na;1;2\n", "The header names the column total twice: rename"),
        (b";;\na;1;2\n", "The file has a header but no rows"),
        (b"email,total\n", "The file has a header but no rows."),
        (b"x" * 300_000, "The first line is too long for a header"),
        (",".join(f"c{n}" for n in range(250)).encode() + b"\n1\n", "The file has 250 columns"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told_in_a_sentence(desk: Desk, content: bytes, sentence: str) -> None:
    assert sentence in refusal(desk.upload(content))
    assert desk.files() == []
    assert "Where do your orders come from?" in desk.browser.get(desk.orders).text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_every_encoding_and_separator(desk: Desk, encoding: str) -> None:
    separator = {"utf-16": "\t", "cp1252": ";", "utf-16-le": "|"}.get(encoding, ",")
    text = "sep=;\n" if encoding == "cp1252" else ""
    text += separator.join(["E-Mail", "Name"]) + "\n" + separator.join(["jo@example.com", "Jörg"])
    import_path = desk.begin(text.encode(encoding), kind="contacts")
    assert "Jörg" in desk.check(import_path).text
    desk.start(import_path)
    rows = desk.connection.execute(
        "SELECT email, name FROM contacts WHERE space_id = %s", (desk.space_id,)
    ).fetchall()
    assert rows == [("jo@example.com", "Jörg")]


@pytest.mark.parametrize("kind", ["events", "spend"])
def test_column_names_of_several_lines_are_mapped(desk: Desk, kind: str) -> None:
    """Browsers send every line end of a form as CR and LF."""
    file = '"Billing\nemail","Order\r\nnumber",Total\nada@example.com,A-1,5\n'
    if kind == "spend":
        file = '"Campaign\nname","Day",Cost,"Currency\ncode"\nSpring,2026-05-01,5,EUR\n'
    import_path = desk.begin(file, kind=kind)
    form = desk.browser.form(import_path, f"{import_path}/check")
    sent = [text.replace("\n", "\r\n") for name, text in form.fields if name == "column"]
    desk.check(import_path, column=sent, **({"platform": "google"} if kind == "spend" else {}))
    answer = desk.start(import_path)
    assert '<data value="1">1</data> of 1 row stored, <data value="0">' in answer.text


def test_refused_rows_can_be_refused_again(desk: Desk) -> None:
    file, headers = "line,email\nL1,none\nL2,nobody\n", []
    for _ in range(2):
        import_path = desk.begin(file)
        desk.check(import_path)
        file = desk.browser.get(f"{import_path}/refused.csv").content.decode("utf-8-sig")
        headers.append(file.splitlines()[0])
    assert headers == ["line 2,reason,line,email", "line 3,reason 2,line 2,reason,line,email"]


def test_a_warning_that_events_have_no_time(desk: Desk) -> None:
    import_path = desk.begin("email,total,day\nada@example.com,5,2026-05-01\n")
    warning = "every row gets the time of its import"
    assert warning in desk.check(import_path).text
    assert warning not in desk.check(import_path, field=["email", "amount", "event_time"]).text


def test_mistakes_in_the_mapping(desk: Desk) -> None:
    import_path = desk.begin("mail,total,sum\nada@example.com,5,5\n")
    for values, rule in (
        ({"field": ["", "amount", ""]}, "Choose the column with the email address"),
        ({"field": ["email", "amount", "amount"]}, "Two columns are chosen as amount"),
        ({"field": ["email", "amount", "nonsense"]}, "There is no field nonsense."),
        ({"event_name": ""}, "Choose the event of the rows."),
        ({"timezone": "Mars"}, "Choose the time zone of the file."),
        ({"decimals": "x", "dates": "y"}, "Choose how dates are written."),
    ):
        answer = desk.browser.fill(import_path, f"{import_path}/check", **values)
        assert answer.status_code == 422, values
        assert rule in answer.text


def test_cells_in_another_notation_than_was_chosen(desk: Desk) -> None:
    """Decimal comma, month-first dates and time zone: a wrong choice either gives an error that names the
    column, or shows in the preview of the first rows.
    """
    import_path = desk.begin(GERMAN.replace("1003;kein", "1003;eva@example.com"))
    wrong = desk.check(import_path, decimals="point", dates="mdy").text
    assert "No row would be stored" in wrong
    for sentence in (
        "“Gesamtbetrag” is read as amount, but is not a number like 1,234.50. Change how amounts",
        "“Bestelldatum” is read as event_time, but is not a date like 12/31/2026, month first. Change",
    ):
        assert sentence in unescape(wrong)
    assert "Change the format" in wrong
    new_york_text = desk.check(import_path, decimals="comma", dates="dmy", timezone="America/New_York").text
    assert '<time datetime="2026-05-13T13:30:00+00:00"' in new_york_text, "09:30 in New York"
    right = desk.check(import_path, timezone="Europe/Berlin").text
    assert '<time datetime="2026-05-13T07:30:00+00:00"' in right
    assert "All rows of the file can be stored." in right
    impossible_path = desk.begin(GERMAN.replace("14.05.2026 23:15", "31.02.2026 23:15"))
    assert "is not a date like 31.12.2026 or 31/12/2026" in desk.check(impossible_path).text


def test_hostile_names_are_text(desk: Desk) -> None:
    import_path = desk.begin(f"email,{HOSTILE}\nada@example.com,{HOSTILE}\n=1+1,x\n", name=f"{HOSTILE}.csv")
    assert HOSTILE not in desk.browser.get(import_path).text
    assert HOSTILE not in desk.check(import_path).text
    assert HOSTILE not in desk.browser.get(desk.orders).text
    assert "'=1+1" in desk.browser.get(f"{import_path}/refused.csv").text


def test_a_cancelled_import_stores_nothing_more(desk: Desk) -> None:
    import_path = desk.begin("email\nada@example.com\n", kind="contacts")
    assert "is cancelled" in desk.browser.fill(import_path, f"{import_path}/cancel").text
    desk.tidy()
    assert desk.files() == []
    late = desk.browser.get(f"{import_path}?edit")
    assert "Cancelled" in late.text


def test_too_large_a_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.console.order_pages.upload.MEGABYTE", 10)
    row = "ada@example.com,5\n"
    assert "which is the most that can be sent" in refusal(desk.upload("email,total\n" + row * 300))
    assert desk.files() == []


def test_no_file_and_no_form(desk: Desk, owner: Person) -> None:
    assert refusal(desk.upload(b"", name="")) == "Choose the file to import."
    upload = f"{desk.orders}/imports/upload"
    client = desk.browser.client
    assert client.post(upload, data={"kind": "events"}).status_code == 415
    stale = client.post(upload, data={"form_token": "1.x.y"}, files={"file": ("a.csv", b"a,b\n")})
    assert stale.status_code == 403
    head = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post(upload, content=b"--y\r\nnonsense", headers=head).status_code in {403, 422}
    token = once_token(owner.form_key, "upload")
    truncated_body = (
        '--x\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n' + token + "\r\n--x\r\n"
        'Content-Disposition: form-data; name="kind"\r\n\r\nevents\r\n--x\r\n'
        'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail,tot'
    )
    assert "Upload the file again" in refusal(
        client.post(upload, content=truncated_body.encode(), headers=head)
    )
    assert desk.files() == []


@pytest.mark.parametrize("role", list(Role))
def test_who_may(desk: Desk, person: Callable[..., Person], role: Role) -> None:
    visitor, is_allowed = person(role), role is not Role.VIEWER
    import_path = desk.begin("email,total\nada@example.com,5\n")
    assert visitor.browser.get(import_path).status_code == 200
    assert (f"{import_path}/check" in visitor.browser.get(import_path).text) == is_allowed
    new = visitor.browser.get(f"{desk.orders}/imports/new")
    assert new.status_code == (200 if is_allowed else 403)
    form = desk.browser.form(import_path, f"{import_path}/cancel")
    form.fields = [("form_token", form_token(visitor.form_key, "import"))]
    assert visitor.browser.send(form, follow=False).status_code == (303 if is_allowed else 403)


def test_another_spaces_import(
    desk: Desk, person: Callable[..., Person], make_space: Callable[..., int]
) -> None:
    other_space_id = make_space()
    stranger = person(Role.OWNER, other_space_id)
    import_path = desk.begin("email,total\nada@example.com,5\n")
    number = import_path.rpartition("/")[2]
    for path in (import_path, f"{import_path}/refused.csv"):
        assert stranger.browser.get(path).status_code == 404
        other_path = path.replace(f"/spaces/{desk.space_id}/", f"/spaces/{other_space_id}/")
        assert number in other_path
        assert stranger.browser.get(other_path).status_code == 404


def test_past_orders_need_no_mapping_and_tell_their_sources(desk: Desk) -> None:
    row = {"Id": "1", "Name": "#1", "Email": "ada@example.com", "Financial Status": "partially_refunded",
           "Created at": "2026-05-13 11:00:00 +0200", "Total": "12.50", "Refunded Amount": "2.50",
           "Landing Site": "/?utm_source=newsletter&utm_medium=email"}  # fmt: skip
    item = dict.fromkeys(row, "") | {"Id": "1", "Name": "#1"}
    rows = [row, item, row | {"Id": "2", "Landing Site": ""}]
    rows += [row | {"Id": status, "Financial Status": status} for status in ("pending", "voided")]
    content = "\n".join(",".join(cells) for cells in (row, *(order.values() for order in rows)))
    import_path = desk.begin(content, kind="orders")
    assert "Shopify&#39;s export of orders" in desk.browser.get(import_path).text
    check_text = desk.check(import_path).text
    sources = re.compile(r"1</data> . <bdi>email<.*1</data> . no source known", re.DOTALL)
    assert sources.search(check_text)
    cancelled = check_text.count("The order was cancelled.")
    assert cancelled == check_text.count("The order is not paid.") > 0
    assert re.search(r'data-label="refunded"><bdi>2.5<', check_text)
    result_text = desk.start(import_path).text
    assert sources.search(result_text)
    for text in (check_text, result_text):
        assert re.search(r"<data value=.1.>1</data> (would be )?skipped", text), "an order's second item"
    assert sorted(str(amount) for _, amount, _, _ in desk.events()) == ["-2.5000"] * 2 + ["12.5000"] * 2
