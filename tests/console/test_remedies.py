"""Every problem links to the page that fixes it: no dead end, and no command if a page can do it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import psycopg
import pytest

from headwater.alerts.problems import Alert
from headwater.alerts.quality.models import Finding, FindingKind
from headwater.alerts.rules import Rule
from headwater.console.setup_pages.remedies import RemedyPlace, find_alert_page, find_remedy_pages, get_advice
from tests.console.conftest import Person
from tests.support.factories import Stage

OPERATORS = {
    Rule.PROCESSING_LATE, Rule.SUBSCRIPTION_INACTIVE, Rule.EXPORTS_FAILED, Rule.JOB_FAILED,
}  # fmt: skip
"""Problems that only the operator can fix."""


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def check_link(owner: Person, address: str) -> None:
    """Check that the page exists, and has the element named by the address's fragment."""
    path, _, fragment = address.partition("#")
    page = owner.browser.get(path)
    assert page.status_code == 200, address
    assert not fragment or f'id="{fragment}"' in page.text, address


def links_in_main(page: str, base: str) -> set[str]:
    main = unescape(page.partition("<main")[2])
    return {link for link in re.findall(r'href="([^"]+)"', main) if link.startswith(base)}


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    """Every link on Setup and Data quality of a Space with problems leads to an existing page."""
    base, now = f"/console/spaces/{space_id}", datetime.now(UTC)
    destination = stage.destination()
    stage.connection.execute(
        "UPDATE destinations SET status = 'held', held_since = now()"
        " WHERE space_id = %s AND id = %s", (space_id, destination),
    )  # fmt: skip
    contact = stage.contact()
    for hours in (1, 2):
        event = stage.event(contact, event_time=now - timedelta(hours=hours), amount="5",
                            currency="ZZZ")  # fmt: skip
        stage.add_delivery(destination, event)
    stage._insert("rejected", {
        "id": 10**9 + space_id, "kind": "event", "received_at": now, "sender": "api_key",
        "payload": "{}", "reason": "processing_error", "detail": "x",
    })  # fmt: skip
    for end in ("/setup", "/data-quality"):
        page = owner.browser.get(base + end).text
        links = links_in_main(page, base)
        assert f"{base}/platforms/{destination}" in links
        for link in links:
            check_link(owner, link)
    assert f"{base}/data-quality#events_rejected" in links_in_main(
        owner.browser.get(f"{base}/setup").text, base
    )
    assert f"{base}/orders" in links_in_main(owner.browser.get(f"{base}/data-quality").text, base)


@pytest.mark.parametrize("kind", list(Rule))
def test_an_alert_has_a_page(kind: Rule) -> None:
    has_destination = kind in {Rule.DESTINATION_HELD, Rule.DELIVERIES_LATE}
    row_fields = {"connection_id": 7} if kind.startswith("spend_") else {}
    row_fields |= {"watched_file_id": 7} if kind is Rule.WATCHED_FILE_FAILING else {}
    alert = Alert(kind, 7 if has_destination else None, "meta", "Shop", None, 1, None, **row_fields)
    page = find_alert_page(alert)
    assert (page is None) == (kind in OPERATORS)
    if page is not None:
        assert "headwater " not in get_advice(alert)


@pytest.mark.parametrize("kind", list(FindingKind))
def test_a_finding_needs_no_terminal(owner: Person, space_id: int, kind: FindingKind) -> None:
    finding = Finding(kind, 1)
    assert "`headwater " not in get_advice(finding)
    for remedy_page in find_remedy_pages(finding):
        assert isinstance(remedy_page, RemedyPlace)
        check_link(owner, f"/console/spaces/{space_id}{remedy_page.end}")
