"""A supervised process that ends is restarted, later after each consecutive failure."""

from __future__ import annotations

from itertools import pairwise

import pytest

from headwater.base.log_lines import Log
from headwater.operations.supervision.processes import FIRST_DELAY, STEADY_SECONDS, SupervisedProcess


@pytest.fixture
def process() -> SupervisedProcess:
    return SupervisedProcess("api", launch=lambda: None, died=lambda: True, log=Log("json"))


def end_after(process: SupervisedProcess, seconds: float) -> float:
    """Start it, let it end, and return the delay until its restart."""
    process.start(100.0)
    process.record_end(100.0 + seconds)
    return process.due_at - (100.0 + seconds)


def test_it_works(process: SupervisedProcess) -> None:
    pauses = [end_after(process, 1.0) for _ in range(4)]
    assert pauses[0] == pytest.approx(FIRST_DELAY)
    assert all(next_pause > pause for pause, next_pause in pairwise(pauses))


@pytest.mark.parametrize(("seconds", "failures"), [(STEADY_SECONDS - 0.1, 2), (STEADY_SECONDS, 1)])
def test_one_that_ran_steadily_failed_for_the_first_time(
    process: SupervisedProcess, seconds: float, failures: int
) -> None:
    end_after(process, 1.0)
    end_after(process, seconds)
    assert process.failures == failures
