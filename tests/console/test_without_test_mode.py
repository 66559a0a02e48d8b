"""The test step of platforms that have no test mode."""

from __future__ import annotations

import pytest

from headwater.forwarding.platforms.registry import PLATFORMS
from tests.console.conftest import Person
from tests.console.test_event import page_text

ACCOUNTS = {
    "linkedin": {"secrets.access_token": "AQV-token"},
    "microsoft": {"settings.tag_id": "97012345", "secrets.access_token": "uet-token"},
}


@pytest.mark.parametrize("platform", ACCOUNTS)
def test_it_offers_no_test_and_starts_without(owner: Person, space_id: int, platform: str) -> None:
    assert not PLATFORMS[platform].has_test_mode
    path = f"/console/spaces/{space_id}/platforms/connect/{platform}"
    destination = owner.browser.fill(path, path, **ACCOUNTS[platform]).url.path.removesuffix("/events")
    page = f"{destination}/test"
    text = page_text(owner.browser.get(page).text)
    assert "No test event" in text
    assert "Start without a successful test" not in text
    actions = {form.action for form in owner.browser.forms(page)}
    assert {action for action in actions if action.startswith(destination)} == {f"{destination}/resume"}
