"""The throttle: in any window exactly the limit is admitted, also under concurrent attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spaces.accounts.attempts import FREE, give_back, seconds_to_wait, take_attempt, tidy_attempts
from tests.support.accounts import Accounts

START = datetime(2026, 5, 13, tzinfo=UTC)
WINDOW = timedelta(seconds=900)


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


def take(accounts: Accounts, subject: str, **options: bool) -> tuple[bool, int]:
    attempt = accounts.run(
        lambda c: take_attempt(c, "login", subject, limit=10, window_seconds=900, **options)
    )
    return attempt.admitted, attempt.retry_after


def test_it_works(accounts: Accounts) -> None:
    subject = uuid4().hex
    assert [take(accounts, subject) for _ in range(10)] == [(True, 0)] * 10
    admitted, retry_after = take(accounts, subject)
    assert not admitted
    assert 890 < retry_after <= 900
    assert take(accounts, uuid4().hex)[0], "another subject"
    other_attempt = accounts.run(lambda c: take_attempt(c, "register", subject, 10, 3600))
    assert other_attempt.admitted, "another thing"


def test_of_forty_at_once_ten(accounts: Accounts) -> None:
    act = partial(take_attempt, action="login", subject=uuid4().hex, limit=10, window_seconds=900)
    attempts = accounts.run_together([act] * 40)
    assert sum(attempt.admitted for attempt in attempts) == 10  # type: ignore[union-attr]


def test_what_is_given_back_does_not_count(accounts: Accounts) -> None:
    subject = uuid4().hex
    for _ in range(30):
        assert take(accounts, subject)[0]
        accounts.run(lambda c: give_back(c, "login", subject))
    accounts.run(lambda c: give_back(c, "login", "nobody ever"))


def test_waits_grow_with_each_failure(accounts: Accounts, connection: psycopg.Connection) -> None:
    subject = uuid4().hex
    waits: list[int] = []
    for _ in range(10):
        admitted, retry_after = take(accounts, subject, slowing=True)
        if not admitted:
            waits.append(retry_after)
            connection.execute(
                "UPDATE attempts SET taken_at = ARRAY(SELECT t - make_interval(secs => %s)"
                " FROM unnest(taken_at) t ORDER BY t)"
                " WHERE subject = sha256(convert_to('login', 'UTF8') || '\\x00' || %s::bytea)",
                (retry_after, subject.encode()),
            )
    assert waits == [1, 2, 4]


def test_failures_are_forgotten(accounts: Accounts, connection: psycopg.Connection) -> None:
    connection.execute("DELETE FROM attempts")  # left by other tests; a call forgets at most a thousand
    subject = uuid4().hex
    for _ in range(11):
        take(accounts, subject)
    connection.execute(
        "UPDATE attempts SET expires_at = now() - interval '1 second', taken_at ="
        " ARRAY(SELECT t - interval '900 seconds' FROM unnest(taken_at) t)"
    )
    assert take(accounts, subject)[0]
    connection.execute("UPDATE attempts SET expires_at = now() - interval '1 second'")
    accounts.run(tidy_attempts)
    assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (0,)


@given(gaps=st.lists(st.floats(0, 400), max_size=60), limit=st.integers(1, 12), slows_down=st.booleans())
def test_no_window_holds_more_than_the_limit(gaps: list[float], limit: int, slows_down: bool) -> None:
    now, moments = START, list[datetime]()
    for gap in gaps:
        now += timedelta(seconds=gap)
        recent_moments = [moment for moment in moments if moment > now - WINDOW]
        wait = seconds_to_wait(recent_moments, now, limit, WINDOW, slowing=slows_down)
        if wait <= 0:
            moments.append(now)
        else:
            later = now + timedelta(seconds=wait)
            still = [moment for moment in recent_moments if moment > later - WINDOW]
            assert seconds_to_wait(still, later, limit, WINDOW, slowing=slows_down) <= 0
            assert len(recent_moments) >= limit or (slows_down and len(recent_moments) > FREE)
    for moment in moments:
        assert sum(moment <= candidate < moment + WINDOW for candidate in moments) <= limit
