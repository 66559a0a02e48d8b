"""The preview page of an order's delivery to an ad platform."""

from __future__ import annotations

from urllib.parse import quote

import psycopg
import pytest

from tests.console.conftest import Person
from tests.console.test_platforms import page_text
from tests.support.factories import Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    """The data in the visitor's Space."""
    return Stage(connection, space_id, "")


def test_it_works(owner: Person, space_id: int, stage: Stage) -> None:
    settings = '{"pixel_id": "1234567890"}'
    destination_id = stage.destination(name="Shop", platform="meta", settings=settings, all_events=True)
    path = f"/console/spaces/{space_id}/platforms/{destination_id}"
    assert f'href="{path}/preview"' in owner.browser.get(path).text
    assert "The latest order is shown here once one is stored." in owner.browser.get(f"{path}/preview").text
    contact = stage.contact(email="anna@example.com")
    event_id = stage.event(contact, event_time="now", order_id="1001", amount="5", currency="EUR")
    stage.event(stage.contact(), event_time="now", order_id="1002", amount="5", currency="EUR")
    latest = owner.browser.get(f"{path}/preview")
    assert "Would be sent" in page_text(latest.text)
    for number in ("#1001", str(event_id)):
        page = owner.browser.get(f"{path}/preview?order={quote(number)}")
        text = page_text(page.text)
        assert "user_data.em[0] hashed email masked" in text
        assert "Missing for a better match" in text
        assert "fbclid user_data.fbc Use the tracker on landing pages" in text
        assert f'href="/console/spaces/{space_id}/events/{event_id}"' in page.text
        assert "anna@example.com" not in page.text
    skip_text = page_text(owner.browser.get(f"{path}/preview?order=1002").text)
    assert "Would be skipped" in skip_text
    assert "What helps: send an email or a phone number with events." in skip_text
    for number in ("77", "<b>", "9" * 30):
        page = owner.browser.get(f"{path}/preview?order={quote(number)}")
        assert page.status_code == 404
        assert "No order and no event has this number." in page.text
