"""The page of self-reported sources: figures next to clicks, unread answers, own phrases."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from decimal import Decimal

import psycopg
import pytest

from headwater.sources.answers import SELF_REPORTED
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.support.accounts import Accounts
from tests.support.factories import NOON, Stage

PERIOD = "start_date=2026-05-01&end_date=2026-05-31"


@pytest.fixture
def path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/self-reported"


@pytest.fixture
def space(accounts: Accounts, space_id: int) -> Callable[[], Space]:
    return lambda: accounts.run(lambda c: fetch_space(c, space_id))


def words(page: str) -> str:
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", page).split()))


def test_it_works(owner: Person, path: str, space_id: int, connection: psycopg.Connection) -> None:
    stage = Stage(connection, space_id, "")
    ada, bob = stage.contact(), stage.contact()
    stage.touchpoint(ada, "google_ads", occurred_at=NOON)
    survey_answer = {"heard_about_us": "my friend's podcast", "self_reported_source": "word_of_mouth"}
    order = stage.event(ada, amount=Decimal(30), event_time=NOON, **survey_answer)
    stage.event(bob, amount=Decimal(10), event_time=NOON)
    unread = {"heard_about_us": "the <OMR>", "self_reported_source": "other"}
    stage.event(bob, event_name="sign_up", event_time=NOON, **unread)
    page = owner.browser.get(f"{path}?{PERIOD}").text
    text = words(page)
    assert "Word of mouth 30.00 1 1 75.0 % Google ads 30.00" in text
    assert "Other 10.00 1 1 25.0 % nothing" in text
    assert "“the <OMR>” 1 time" in text or "the <OMR> 1 time" in text
    assert "only=self_reported_source%3Aword_of_mouth" in page
    csv = html.unescape(re.search(r'href="([^"]*report\.csv[^"]*)"', page)[1])  # type: ignore[index]
    rows = owner.browser.get(csv).text.splitlines()
    assert rows[0] == "self_reported_source,revenue,share,conversions,contacts"
    assert rows[1] == "word_of_mouth,30,0.75,1,1"
    event = words(owner.browser.get(f"/console/spaces/{space_id}/events/{order}").text)
    assert "Post-purchase survey Word of mouth in their words: my friend's podcast" in event


def test_every_answer_has_a_row(
    owner: Person, path: str, space_id: int, connection: psycopg.Connection
) -> None:
    stage = Stage(connection, space_id, "")
    for source in SELF_REPORTED:
        stage.event(stage.contact(), amount=1, event_time=NOON, self_reported_source=source)
    page = owner.browser.get(f"{path}?{PERIOD}").text
    assert len(PageTables(page).tables["said"]) == 1 + len(SELF_REPORTED)


def test_phrases(owner: Person, path: str, space: Callable[[], Space]) -> None:
    answer = owner.browser.fill(path, f"{path}/add", phrase="OMR  Podcast", source="event")
    assert "It applies to new answers now and to earlier ones soon." in answer.text
    assert space().answer_phrases == {"omr podcast": "event"}
    answer = owner.browser.fill(path, f"{path}/remove", hidden_values={"phrase": "omr podcast"})
    assert answer.url.path == path
    assert space().answer_phrases == {}
    for phrase, source, message in (
        ("", "tv", "Enter words"), ("x", "", "Choose a source"),
        ("!!", "tv", "Must have a letter"),
        ("x", "pigeon", "Must be a self-reported source"),
    ):  # fmt: skip
        answer = owner.browser.fill(path, f"{path}/add", phrase=phrase, source=source)
        assert answer.status_code == 422
        assert message in answer.text
    assert space().answer_phrases == {}
