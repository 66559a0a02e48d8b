"""The page that compares another tool's orders with ours."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import httpx
import psycopg
import pytest

from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.factories import Stage

LIST = "Order,Total\n1001,50\n1002,20\n<b>9</b>,1\n"


@pytest.fixture
def upload(person: Callable[..., Person], space_id: int) -> Callable[..., httpx.Response]:
    """A function that uploads a list as a viewer."""
    browser = person(Role.VIEWER).browser
    path = f"/console/spaces/{space_id}/order-comparison"

    def send(content: str | bytes, **fields: str) -> httpx.Response:
        form = browser.form(path, path)
        assert form.fields[-1][0] == "file"  # the other fields must arrive before it
        data = {**dict(form.fields), "first": "2026-05-01", "last": "2026-05-31", **fields}
        files = {"file": ("list.csv", content, "text/csv")}
        return browser.client.post(path, data=data, files=files)

    return send


def test_it_works(
    upload: Callable[..., httpx.Response], connection: psycopg.Connection, space_id: int
) -> None:
    stage = Stage(connection, space_id, "")
    contact_id = stage.contact()
    stage.event(contact_id, order_id="1001", amount=50)
    stage.event(contact_id, order_id="1002", amount=25)
    page = upload(LIST)
    assert page.status_code == 200
    assert "1 order is the same in both" in page.text
    assert "Same order, other amount" in page.text
    assert "&lt;b&gt;9&lt;/b&gt;" in page.text
    assert '<data value="71">' in page.text  # the list's total
    assert '<data value="75">' in page.text  # ours


@pytest.mark.parametrize(("last", "ours"), [("", 25), ("2026-05-09", 65)])
def test_the_days_of_the_list(
    upload: Callable[..., httpx.Response], connection: psycopg.Connection, space_id: int, last: str, ours: int
) -> None:
    """They count for each day that is not chosen."""
    stage = Stage(connection, space_id, "")
    contact_id = stage.contact()
    for day, amount in ((2, 10), (3, 20), (5, 5), (9, 40)):
        stage.event(contact_id, event_time=f"2026-05-{day:02}T12:00Z", amount=amount)
    page = upload("Order,Total,Date\n1,20,2026-05-03\n2,6,2026-05-05\n", first="", last=last)
    assert page.status_code == 200
    assert f'<data value="{ours}">' in page.text


@pytest.mark.parametrize("first", ["0001-01-01", "9999-12-31"])
def test_the_last_day_of_the_calendar(upload: Callable[..., httpx.Response], first: str) -> None:
    """With all others, and alone."""
    page = upload(LIST, first=first, last="9999-12-31")
    assert page.status_code == 200


def test_a_compressed_list(upload: Callable[..., httpx.Response]) -> None:
    """A small file could unpack without end."""
    page = upload(gzip.compress(LIST.encode()))
    assert (page.status_code, "Upload it unpacked" in page.text) == (422, True)


@pytest.mark.parametrize(
    ("content", "fields", "problem"),
    [
        ("Total\n5\n", {}, "order_id"),
        (LIST, {"first": ""}, "file has orders without a day"),
        (LIST, {"first": "soon"}, "Write the day as"),
        (LIST, {"last": "2026-04-01"}, "must not be before"),
        ("", {}, "refusal"),
    ],
)
def test_a_list_that_cannot_be_compared(
    upload: Callable[..., httpx.Response], content: str, fields: dict[str, str], problem: str
) -> None:
    page = upload(content, **fields)
    assert (page.status_code, problem in page.text) == (422, True)
