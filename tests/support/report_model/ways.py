"""The path that leads to an event: its steps, and the ranges for its length and duration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Touchpoint

Range = tuple[int, int | None]

REFERRALS = ("referral", "shop_app", "capterra", "trustpilot", "g2", "yelp")
MOST_STEPS, MOST_MORE = 10, 9
TOUCHES: dict[str, Range] = {
    "1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5": (5, 5), "6-10": (6, 10),
    "11-20": (11, 20), "21+": (21, None),
}  # fmt: skip
DAYS: dict[str, Range] = {
    "0": (0, 0), "1": (1, 1), "2-3": (2, 3), "4-7": (4, 7), "8-14": (8, 14), "15-30": (15, 30),
    "31-60": (31, 60), "61-90": (61, 90), "90+": (91, None),
}  # fmt: skip
"""In whole days. An event within 86,400 seconds is on the same day."""


@dataclass(frozen=True)
class TouchSequence:
    """A sequence of sources or channels, with equal neighbours merged."""

    steps: tuple[str, ...]
    """At most MOST_STEPS."""
    further_steps: int
    """The number of further steps, at most MOST_MORE."""

    def __str__(self) -> str:
        return " > ".join([*self.steps, *([f"+{self.further_steps}"] if self.further_steps else [])])


def touch_sequence(conversion: Conversion, dimension: str) -> TouchSequence:
    steps: list[str] = []
    for touch in conversion.window:
        step = step_name(touch, dimension)
        if steps[-1:] != [step]:
            steps.append(step)
    return TouchSequence(tuple(steps[:MOST_STEPS]), min(MOST_MORE, max(0, len(steps) - MOST_STEPS)))


def step_name(touch: Touchpoint, dimension: str) -> str:
    return touch.source if dimension == "source" else find_channel(touch.source)


def find_channel(source: str) -> str:
    """Return a source's channel."""
    if source.endswith("_ads") or source == "paid_other":
        return "paid"
    if source.startswith("ai_"):
        return "ai"
    if source.endswith("_organic"):
        return "organic"
    if source in ("email", "substack"):
        return "email"
    if source in REFERRALS:
        return "referral"
    assert source in ("sms", "direct"), source
    return source


def find_range(number: int, ranges: Mapping[str, Range]) -> str:
    """Return the range that contains a number."""
    for name, (lowest, highest) in ranges.items():
        if lowest <= number and (highest is None or number <= highest):
            return name
    raise ValueError(number)
