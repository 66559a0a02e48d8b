"""Every page, shared page and message writes money with the decimals of the Space's currency."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.console.test_alerts import put_alert
from tests.console.test_campaigns import put_rows, spend_row, stage
from tests.console.test_channels import order
from tests.console.test_share_links import guest, share
from tests.support.factories import Stage
from tests.support.sent_reports import send

__all__ = ["guest", "put_rows", "stage"]
FORMS = {"JPY": ("1,980", "990"), "EUR": ("1,980.00", "990.00"), "KWD": ("1,980.000", "990.000")}
"""How 1980 and 990 are written."""
ORDER_PAGES = (
    "",
    "/channels",
    "/models",
    "/paths",
    "/self-reported",
    "/changes",
    "/changes/since",
    "/events",
)
SPEND_PAGES = ("?tile=spend", "/campaigns", "/cohorts", "/campaigns/changes")
SENT_PAGES = ("", "/channels", "/models", "/paths", "/campaigns", "/cohorts")


@pytest.fixture(params=FORMS)
def currency(request: pytest.FixtureRequest, stage: Stage, put_rows: Any) -> str:
    """A Space in a currency, with an order for 1980 and spend of 990."""
    currency = request.param
    stage.connection.execute("UPDATE spaces SET currency = %s WHERE id = %s", (currency, stage.space_id))
    order(stage, "google_ads", "1980", days=1)
    order(stage, "email", "400", days=40)
    put_rows(spend_row(1, "google", 990, currency=currency))
    return currency


def read_figures(html: str) -> dict[str, set[str]]:
    """Return the texts of the page's exact values."""
    texts: dict[str, set[str]] = {}
    for value, text in re.findall(r'<data value="([^"]*)">([^<]*)</data>', html):
        texts.setdefault(value, set()).add(text)
    return texts


def open_page(browser: Browser, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("page", [*ORDER_PAGES, *SPEND_PAGES])
def test_it_works(owner: Person, space_id: int, currency: str, page: str) -> None:
    html = open_page(owner.browser, f"/console/spaces/{space_id}{page}")
    figures, (revenue, spend) = read_figures(html), FORMS[currency]
    assert figures["1980"] == {revenue}
    if page in SPEND_PAGES:
        assert figures["990"] == {spend}
    for title in re.findall("<title>([^<]*·[^<]*)</title>", html):
        assert title.count(revenue) == title.count("1,980")


def test_roas_has_two_decimals_in_every_currency(owner: Person, space_id: int, currency: str) -> None:
    for page in ("?tile=roas", "/campaigns"):
        html = open_page(owner.browser, f"/console/spaces/{space_id}{page}")
        assert "2.00" in read_figures(html)["2"], currency


def test_the_list_of_spaces(owner: Person, currency: str) -> None:
    assert read_figures(open_page(owner.browser, "/console?all"))["1980"] == {FORMS[currency][0]}


def test_shared_pages(owner: Person, guest: Callable[[str], Any], space_id: int, currency: str) -> None:
    for page in SENT_PAGES:
        html = guest(share(owner, space_id, page=page, query="")).text
        assert read_figures(html)["1980"] == {FORMS[currency][0]}


def test_sent_reports(database_url: str, space_id: int, currency: str) -> None:
    revenue, _ = FORMS[currency]
    for page in SENT_PAGES:
        notice = send(database_url, space_id, page, "")
        assert notice.table is not None
        cells = [cell for row in notice.table.rows for cell in row]
        assert revenue in cells, page
        assert not any("1,980" in cell and revenue not in cell for cell in cells)


def test_alerts(owner: Person, stage: Stage, space_id: int, currency: str) -> None:
    alert_id = put_alert(stage, "source_revenue_fell", "google_ads")
    stage.connection.execute(
        "UPDATE alert_steps"
        " SET observed = 9900000, usual_low = 19800000, usual_middle = 19800000, usual_high = 19800000.3"
        " WHERE space_id = %s AND alert_id = %s",
        (space_id, alert_id),
    )
    revenue, low = FORMS[currency]
    html = open_page(owner.browser, f"/console/spaces/{space_id}/alerts")
    assert f"{low} {currency} in 1 day, usually about {revenue}" in html
