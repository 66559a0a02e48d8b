"""Account forms of platforms that take a token in several ways: without any, the first field is marked."""

from __future__ import annotations

import re

import pytest

from tests.console.conftest import Person


@pytest.mark.parametrize(
    ("end", "settings", "field"),
    [
        ("platforms/connect/google", {"customer_id": "1234567890"}, "service_account_json"),
        ("platforms/connect/linkedin", {}, "access_token"),
        ("spend/connections/connect/linkedin", {"ad_account_id": "1234567890"}, "access_token"),
    ],
)
def test_it_works(owner: Person, space_id: int, end: str, settings: dict[str, str], field: str) -> None:
    path = f"/console/spaces/{space_id}/{end}"
    page = owner.browser.fill(path, path, **{f"settings.{name}": text for name, text in settings.items()})
    assert page.status_code == 422
    assert re.findall(r'id="([\w-]+)-refusal"', page.text) == [f"secrets-{field}"]
