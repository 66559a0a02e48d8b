"""`headwater rates fetch`: the bank's file from a server, and refused files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest

from headwater.base.settings import Settings, read_settings
from headwater.cli import main
from headwater.database.jobs.duties import INSTALLATION
from headwater.spend.rates.download import ALL, LATEST
from headwater.worker_duties import make_rates_duty
from tests.support.processes import environment
from tests.support.waiting import PATIENCE_SECONDS

TODAY = datetime.now(UTC).date()
CSV = f"Date,USD,CHF,\n{TODAY},1.0865,0.94,\n{TODAY - timedelta(days=1)},1.08,0.95,\n"


def _xml(day: date, end: str = "</Cube></gesmes:Envelope>") -> bytes:
    return (
        f"<?xml version='1.0'?><gesmes:Envelope><Cube><Cube time='{day}'>"
        f"<Cube currency='USD' rate='1.25'/></Cube>{end}"
    ).encode()


def _zip(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("eurofxref-hist.csv", text)
    return buffer.getvalue()


class Bank:
    """A server in place of the bank's."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        bank = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                bank.fetched.append(self.path)
                body = bank.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def bank(
    database_url: str, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bank]:
    connection.execute("DELETE FROM reference_rates")
    bank = Bank()
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADWATER_RATES_URL", bank.url)
    thread = threading.Thread(target=bank.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield bank
    bank.server.shutdown()
    thread.join()
    bank.server.server_close()
    connection.execute("DELETE FROM reference_rates")


def test_it_works(bank: Bank, connection: psycopg.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """It fetches all days the first time, then the latest ones."""
    bank.files = {ALL: _zip(CSV), LATEST: _xml(TODAY)}
    assert main(["rates", "fetch", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "rates": 4, "first_day": f"{TODAY - timedelta(days=1)}", "last_day": f"{TODAY}",
    }  # fmt: skip
    assert main(["rates", "fetch"]) == 0
    assert bank.fetched == [ALL, LATEST]
    rows = connection.execute(
        "SELECT currency, per_euro FROM reference_rates WHERE date = %s ORDER BY 1", (TODAY,)
    ).fetchall()
    assert rows == [("CHF", Decimal("0.94")), ("USD", Decimal("1.25"))]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (None, "the server answered with status 404"),
        (_zip(CSV)[:-30], "the file is refused: the compressed file must hold exactly one table"),
        (CSV[:-6].encode(), "the file is refused: line 3 is incomplete"),
        (_xml(TODAY, end="</Cu"), "the file is refused: its end is missing"),
        (b"<html><body>Maintenance</body></html>", "the file is refused: it must be eurofxref"),
        (_xml(TODAY + timedelta(days=9)), "the file is refused: it has rates of future days"),
    ],
)
def test_what_is_no_whole_file_is_refused(
    bank: Bank, connection: psycopg.Connection, capsys: pytest.CaptureFixture[str],
    file: bytes | None, reason: str,
) -> None:  # fmt: skip
    bank.files = {} if file is None else {ALL: file}
    assert main(["rates", "fetch"]) == 2
    assert f"{bank.url}: {reason}" in capsys.readouterr().err
    assert connection.execute("SELECT count(*) FROM reference_rates").fetchone() == (0,)


@pytest.mark.parametrize(
    ("files", "code", "line"),
    [
        ({ALL: _zip(CSV)}, 0, {"level": "info", "event": "rates fetched", "rates": 4}),
        ({}, 1, {"level": "warning", "event": "rates not fetched",
                 "reason": "the server answered with status 404"}),
    ],
)  # fmt: skip
def test_under_a_worker_the_result_is_logged(
    bank: Bank, database_url: str, files: dict[str, bytes], code: int, line: dict[str, Any]
) -> None:
    """The worker holds standard input open while it fetches."""
    bank.files = files
    variables = environment(HEADWATER_DATABASE_URL=database_url, HEADWATER_RATES_URL=bank.url)
    command = [sys.executable, "-m", "headwater", "rates", "fetch", "--leash"]
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.wait(PATIENCE_SECONDS) == code
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b""
        assert json.loads(process.stderr.read()).items() >= line.items()


def test_a_worker_fetches_only_where_it_is_to(connection: psycopg.Connection) -> None:
    assert not read_settings({}).fetch_rates
    assert read_settings({"HEADWATER_FETCH_RATES": "true"}).fetch_rates
    duty = make_rates_duty(Settings())
    assert duty.waiting(connection) == [INSTALLATION]
    assert duty.waiting(connection) == []
