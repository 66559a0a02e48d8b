"""Uploads of ad costs: recognized by their header, checked, and stored as by the command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.console.test_orders_imports import Desk
from tests.console.test_orders_imports import desk as desk  # noqa: PLC0414 # a fixture

FILES = Path(__file__).parents[1] / "data" / "spend"
COLUMNS = "date::text, platform, campaign_id, currency, trim_scale(amount)::float, timezone"


def ledger(connection: psycopg.Connection, space_id: int) -> list[tuple[Any, ...]]:
    return connection.execute(
        f"SELECT {COLUMNS} FROM spend WHERE space_id = %s ORDER BY date, key", (space_id,)
    ).fetchall()


def refusals(html: str) -> dict[str, str]:
    matches = re.findall(r'<p class="refusal" id="([\w-]+)-refusal"[^>]*>([^<]*)', html)
    return {name: " ".join(text.split()) for name, text in matches}


def test_it_works(desk: Desk, connection: psycopg.Connection) -> None:
    page = desk.browser.get(f"{desk.orders}/imports/new?kind=spend").text
    assert 'value="spend" checked' in page
    import_path = desk.begin((FILES / "google.csv").read_bytes(), kind="spend")
    page = desk.browser.get(import_path).text
    assert "Recognized by its header: <strong>a report of Google Ads</strong>" in page
    assert "its table begins after 2 lines" in page
    assert 'name="platform" type="text" value="google"' in page
    check_page = desk.check(import_path, timezone="Europe/Berlin")

    assert '<data value="2">2</data> rows would be stored' in check_page.text
    assert "<bdi>4711</bdi>" in check_page.text
    assert ledger(connection, desk.space_id) == []
    answer = desk.start(import_path)
    assert '<data value="2">2</data> of' in answer.text
    assert f"/console/spaces/{desk.space_id}/campaigns" in answer.text
    row, _ = ledger(connection, desk.space_id)
    assert row[1:3] == ("google", "4711")
    assert row[5] == "Europe/Berlin"
    assert "No spend in this period" in desk.browser.get(
        f"/console/spaces/{desk.space_id}/campaigns"
    ).text  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.stem for path in FILES.glob("*.csv")))
def test_every_format_is_recognized(desk: Desk, connection: psycopg.Connection, name: str) -> None:
    import_path = desk.begin((FILES / f"{name}.csv").read_bytes(), kind="spend")
    page = desk.browser.get(import_path).text
    assert "Recognized by its header" in page
    needs = 'name="currency" type="text" value=""' in page and ">currency<" in page
    has_column = re.search(r"<option selected>currency<", page)
    page = desk.check(import_path, **({"currency": "EUR"} if needs and not has_column else {}))
    assert "refused" not in page.text
    answer = desk.start(import_path)
    assert "refused. The uploaded file is removed" in answer.text
    assert len(ledger(connection, desk.space_id)) >= 1


def test_what_a_file_lacks_is_asked_for(desk: Desk, connection: psycopg.Connection) -> None:
    """An unknown table, without currency and platform."""
    import_path = desk.begin("When;Costs\n13.05.2026;1.234,50\n14.05.2026;x\nTotal;9\n", kind="spend")
    page = desk.browser.get(import_path).text
    assert "format is unknown" in page
    form = f"{import_path}?edit", f"{import_path}/check"
    refusal = desk.browser.fill(*form)
    assert refusal.status_code == 422
    assert set(refusals(refusal.text)) == {"columns", "platform", "currency"}
    mapping = {"field": ["date", "amount"], "decimals": "comma", "dates": "dmy"}
    refusal = desk.browser.fill(*form, **mapping, currency="EURO", platform="?")
    assert refusals(refusal.text) == {
        "currency": "It must be a currency code of three letters, such as EUR.",
        "platform": "It must not be blank.",
    }
    check_page = desk.check(import_path, **mapping, currency="eur", platform="Reddit Ads")
    assert '<data value="1">1</data> row would be stored' in check_page.text
    assert "is read as amount, but is not a number" in check_page.text
    desk.start(import_path)
    assert ledger(connection, desk.space_id) == [("2026-05-13", "reddit", "", "EUR", 1234.5, None)]


def test_two_uploads_of_one_file_are_one_ledger(desk: Desk, connection: psycopg.Connection) -> None:
    """A later upload of the same days replaces them."""
    table = "date,platform,amount,currency\n2026-05-13,google,{},EUR\n"
    for amount in ("10", "7"):
        import_path = desk.begin(table.format(amount), kind="spend")
        desk.check(import_path)
        desk.start(import_path)
    import_path = desk.begin(table.format("7"), kind="spend")
    assert "already imported in the same way" in desk.check(import_path).text
    assert [row[4] for row in ledger(connection, desk.space_id)] == [7]
