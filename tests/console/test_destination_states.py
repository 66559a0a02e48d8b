"""The states of a destination on its page: waiting, held, paused and removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.console.conftest import Person
from tests.console.test_platforms import page_text
from tests.support.factories import Stage


@pytest.mark.parametrize(("hours", "words"), [(1, "62 minutes"), (5, "5 hours"), (50, "2 days")])
def test_a_destination_that_waits(
    owner: Person, space_id: int, connection: psycopg.Connection, hours: int, words: str
) -> None:
    stage, current_time = Stage(connection, space_id, ""), datetime.now(UTC)
    destination = stage.destination(wait_until=current_time + timedelta(hours=1))
    due_at = current_time - timedelta(hours=hours, minutes=1, seconds=30)
    stage.add_delivery(
        destination, stage.event(stage.contact()), status="queued", finished_at=None,
        due_at=due_at, queued_at=due_at, created_at=due_at,
    )  # fmt: skip
    text = page_text(owner.browser.get(f"/console/spaces/{space_id}/platforms/{destination}").text)
    assert "Waiting, because the last call failed." in text
    assert f"1, the longest for {words}" in text


def test_held_paused_and_removed(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    reason = "HTTP 401, code 190: The access token has <i>expired"
    stage = Stage(connection, space_id, "")
    destination = stage.destination(status="held", status_reason=reason, held_since=datetime.now(UTC))
    path = f"/console/spaces/{space_id}/platforms/{destination}"
    page = owner.browser.get(path)
    assert "TikTok Ads refuses the credentials" in page.text
    assert reason in page_text(page.text)
    assert "<i>expired" not in page.text
    assert "Held" in page_text(owner.browser.get(path.rpartition("/")[0]).text)
    page = owner.browser.fill(path, f"{path}/resume")
    assert "The destination is resumed" in page.text
    page = owner.browser.fill(path, f"{path}/pause")
    assert "Paused" in page_text(page.text)
    page = owner.browser.fill(path, f"{path}/remove")
    assert page.url.path.endswith("/platforms")
    assert "The destination and its tokens are deleted" in page.text
    assert owner.browser.get(path).status_code == 404


@pytest.mark.parametrize(
    ("is_good", "words"), [(None, "Token not tested."), (True, "Token accepted."), (False, "Token in doubt.")]
)
def test_a_token_is_as_good_as_its_last_test(
    owner: Person, space_id: int, connection: psycopg.Connection, is_good: bool | None, words: str
) -> None:
    destination = Stage(connection, space_id, "").destination(secret_names=["access_token"], test_ok=is_good)
    page = owner.browser.get(f"/console/spaces/{space_id}/platforms/{destination}")
    assert words in page_text(page.text)
