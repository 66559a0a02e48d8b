"""The product's path reports compared with the model's, during random histories and at their end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.reports.court import PATHS, Court
from tests.reports.faults import FAULTS, Plant
from tests.support.report_model import paths, ways
from tests.support.report_model.credit import Conversion


def _patch_sequence(change: Callable[[Conversion, str], ways.TouchSequence]) -> Plant:
    return lambda patch: patch.setattr(paths, "touch_sequence", change)


def _keep_repeated_steps(conversion: Conversion, dimension: str) -> ways.TouchSequence:
    steps = [ways.step_name(touch, dimension) for touch in conversion.window]
    return _limit_steps(steps)


def _limit_steps(steps: list[str]) -> ways.TouchSequence:
    more = min(ways.MOST_MORE, max(0, len(steps) - ways.MOST_STEPS))
    return ways.TouchSequence(tuple(steps[: ways.MOST_STEPS]), more)


def _merge_sources_only(conversion: Conversion, dimension: str) -> ways.TouchSequence:
    """Consecutive touches of one source are one step, consecutive sources of one channel are not."""
    touches = conversion.window
    steps = [
        ways.step_name(touch, dimension)
        for touch, before in zip(touches, [None, *touches], strict=False)
        if before is None or before.source != touch.source
    ]
    return _limit_steps(steps)


def _truncate_averages(patch: pytest.MonkeyPatch) -> None:
    """Averages are truncated instead of rounded."""
    patch.setattr(paths, "round_figure", lambda value: Fraction(int(value * 10_000), 10_000))


WRONG: dict[str, Plant] = {
    "equal neighbours are several steps": _patch_sequence(_keep_repeated_steps),
    "channels are told apart by their sources": _patch_sequence(_merge_sources_only),
    "averages are cut off": _truncate_averages,
    **{
        name: FAULTS[name]
        for name in (
            "the end of the window is not part of it",
            "a touch at the event's moment does not count",
            "of touches at one moment the later comes first",
            "a company's path is its contact's",
            "the last second of a period is not part of it",
            "a repeated hour ends with its first pass",
        )
    },
}
RARE = ("a repeated hour ends with its first pass", "the last second of a period is not part of it")


def test_it_works(court: Court) -> None:
    court.subject = PATHS
    court.judge_random(seconds=3, faults=WRONG, rare_faults=RARE)
