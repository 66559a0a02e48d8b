"""Uploads of imports that are malformed, late, or lost after they were stored."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headwater.console.forms import ONCE_SECONDS, _sign_once, once_token
from headwater.console.order_pages.import_page import FILE_GONE
from headwater.intake.imports import job_worker
from tests.console.conftest import Person
from tests.console.test_orders_imports import Desk
from tests.console.test_orders_imports import desk as desk  # noqa: PLC0414 # a fixture

FILE_PART = [("file", ("a.csv", b"email,total\nada@example.com,5\n"))]


@pytest.mark.parametrize(
    "parts",
    [
        [*FILE_PART, ("kind", (None, b"events"))],
        [*(("column", (None, b"x")) for _ in range(50)), *FILE_PART],
        [("name", (None, b"x" * 70_000)), *FILE_PART],
    ],
    ids=["a field after the file", "too many fields", "too long a field"],
)
def test_fields_that_no_browser_sends(desk: Desk, owner: Person, parts: list[tuple[str, Any]]) -> None:
    fields = {"form_token": once_token(owner.form_key, "upload"), "kind": "events"}
    page = desk.browser.client.post(f"{desk.orders}/imports/upload", data=fields, files=parts)
    assert page.status_code == 422
    assert "Upload the file again" in page.text
    assert desk.files() == []


def test_an_upload_form_that_was_opened_long_ago(desk: Desk, owner: Person) -> None:
    for age, status in ((ONCE_SECONDS + 5, 403), (ONCE_SECONDS - 60, 200)):
        stamp = f"{int(time.time()) - age}.x"
        token = f"{stamp}.{_sign_once(owner.form_key, 'upload', '', stamp)}"
        page = desk.upload("email,total\nada@example.com,5\n", form_token=token)
        assert page.status_code == status
    assert len(desk.files()) == 1


def test_a_stored_file_that_is_damaged_or_gone(desk: Desk) -> None:
    """The page says so, and checking it fails instead of storing nothing in silence."""
    import_path = desk.begin("email,total\nada@example.com,5\n")
    form = desk.browser.form(f"{import_path}?edit", f"{import_path}/check")
    (file,) = (path for path in desk.folder.glob("*.upload*") if path.name in desk.files())
    file.write_bytes(b"\n" * file.stat().st_size)
    assert "The first line must name the columns" in desk.browser.get(import_path).text
    file.unlink()
    assert FILE_GONE in desk.browser.get(import_path).text
    desk.browser.send(form)
    desk.work()
    assert job_worker.FILE_MISSING in desk.browser.get(import_path).text
    assert desk.events() == []


def test_a_column_of_event_names_is_the_name_of_every_row(desk: Desk) -> None:
    """A row whose cell is empty does not become the event that was chosen before the column was mapped."""
    import_path = desk.begin("email,event_name\nada@example.com,sign_up\nbob@example.com,\n")
    page = desk.check(import_path, event_name="purchase")
    assert "The event_name is required." in page.text
    assert '<data value="1">1</data> row would be stored' in page.text
