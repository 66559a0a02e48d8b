"""An outage logs few lines, however often something fails. The last line matches the current state."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import OperationalError
from structlog.testing import capture_logs

from headwater.database.outage_log import FIRST_SECONDS, LONGEST_SECONDS, OutageLog

GONE = OperationalError("no such socket\nmore lines")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def events(lines: Any) -> list[str]:
    return [line["event"] for line in lines]


def test_it_works(clock: Clock) -> None:
    outage = OutageLog("inbox", clock)
    with capture_logs() as lines:
        for _ in range(3000):  # ten minutes of five failures a second
            outage.fail(GONE)
            clock.now += 0.2
        outage.end()
        outage.end()
    assert [line["failures"] for line in lines] == [
        1, 6, 16, 36, 76, 156, 316, *range(616, 3000, 300), 3000
    ]  # fmt: skip
    assert lines[0] == {
        "event": "database_unavailable", "log_level": "warning", "part": "inbox", "failures": 1,
        "seconds": 0.0, "error": "OperationalError", "reason": "no such socket",
    }  # fmt: skip
    assert lines[-1] == {
        "event": "database_back", "log_level": "warning", "part": "inbox", "failures": 3000,
        "seconds": 600.0,
    }  # fmt: skip


def test_what_works_now_and_then_is_one_outage(clock: Clock) -> None:
    outage = OutageLog("inbox", clock)
    with capture_logs() as lines:
        for _ in range(300):
            outage.fail(GONE)
            outage.end()
            clock.now += 0.2
    assert len(lines) == 2 * 6
    assert events(lines)[:2] == ["database_unavailable", "database_back"]


@pytest.mark.parametrize(("pause", "figures"), [(0, (2, LONGEST_SECONDS)), (1, (1, 0.0))])
def test_the_next_one_begins_anew(clock: Clock, pause: float, figures: tuple[int, float]) -> None:
    """A new outage starts after more than the longest pause without a failure. Earlier failures belong to the
    same outage.
    """
    outage = OutageLog("inbox", clock)
    outage.fail(GONE)
    outage.end()
    clock.now += LONGEST_SECONDS + pause
    with capture_logs() as lines:
        outage.fail(GONE)
    assert (lines[0]["failures"], lines[0]["seconds"]) == figures


def test_errors_that_may_quote_a_row_have_no_reason(clock: Clock) -> None:
    with capture_logs() as lines:
        OutageLog("requests", clock).fail(ValueError("someone@firm.com"))
    assert "someone" not in str(lines)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=60))
def test_the_last_line_is_never_worse_than_the_truth(steps: list[tuple[bool, float]]) -> None:
    """The log never reports something working as unavailable, or a long failure as recovered."""
    clock = Clock()
    outage = OutageLog("inbox", clock)
    with capture_logs() as lines:
        for works, seconds in steps:
            outage.end() if works else outage.fail(GONE)
            clock.now += seconds
    if steps and steps[-1][0]:
        assert events(lines)[-1:] != ["database_unavailable"]
    assert all(pair != ("database_back", "database_back") for pair in itertools.pairwise(events(lines)))
    assert len(lines) <= 2 + 2 * sum(seconds for _, seconds in steps) / FIRST_SECONDS
