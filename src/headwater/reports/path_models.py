"""Queries of paths, and their results: the ways by which people came to events. No float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Self

from headwater.reports.left_out_money import LeftOutMoney
from headwater.reports.models import DateTimeSpan, Filters, Group

MOST_STEPS = 10
"""Steps of a path that are told apart; those after them are only counted."""
MOST_MORE = 9
"""So far they are counted: a path fits a number, and of paths in words the lesser is first."""
BY = {Group.SOURCE: Group.PATH, Group.CHANNEL: Group.CHANNEL_PATH}
"""The groups that a step may be, each with that of the paths of such steps."""
STEP_SEPARATOR = " > "
_MORE = "+"

TOUCHES: Mapping[str, int] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6-10": 6, "11-20": 11, "21+": 21}
"""Ranges of the number of touches in the window, each with its least."""
DAYS: Mapping[str, int] = {
    "0": 0,
    "1": 1,
    "2-3": 2,
    "4-7": 4,
    "8-14": 8,
    "15-30": 15,
    "31-60": 31,
    "61-90": 61,
    "90+": 91,
}
"""Ranges of the whole days from the first touch in the window, each with its least."""

_COUNTS = {str(number) for number in range(1, 1 + MOST_MORE)}


@dataclass(frozen=True)
class PathsQuery:
    """One report of paths. `query_paths` refuses what does not fit together."""

    start: datetime
    """First second of the range, on the clock of the Space's zone, without a zone of its own."""
    end: datetime
    """Last second of the range, included."""
    group: Group = Group.SOURCE
    """What a step is: of BY."""
    window_days: int = 30
    """One of attribution's WINDOWS."""
    by_company: bool = False
    """True when an event's path is that of its whole company, if it has one."""
    filters: Filters = field(default_factory=Filters)
    """Only conditions on events."""
    limit: int = 50
    """The most paths to list, from 1 to MOST_ROWS."""


@dataclass(frozen=True)
class PathFigures:
    """Figures of some events with a touch in the window."""

    events: int
    revenue: Decimal
    days_to_conversion: Decimal | None
    """The average from the first touch in the window, to four decimals; None without events."""


@dataclass(frozen=True)
class TouchPath:
    """A sequence of sources or channels, equal neighbours being one step."""

    steps: tuple[str, ...]
    """At most MOST_STEPS."""
    more: int
    """The number of steps after them, at most MOST_MORE."""

    def __str__(self) -> str:
        """The path in words, such as `email > direct`, with ` > +3` for three more steps."""
        return STEP_SEPARATOR.join([*self.steps, *([f"{_MORE}{self.more}"] if self.more else [])])

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the path of some words, whose steps may be anything; None where they are none."""
        *steps, last = text.split(STEP_SEPARATOR)
        if not last.startswith(_MORE):
            return cls((*steps, last), 0)
        more = last.removeprefix(_MORE)
        return cls(tuple(steps), int(more)) if more in _COUNTS else None


@dataclass(frozen=True)
class PathReport:
    """The result of a query: events that have a touch in the window, by their paths."""

    paths: tuple[tuple[TouchPath, PathFigures], ...]
    """Those of most events first; of equals, by their steps."""
    left_out: int
    """Paths beyond the limit."""
    touches: Mapping[str, PathFigures]
    """By the ranges TOUCHES, all of them."""
    days: Mapping[str, PathFigures]
    """By the ranges DAYS, all of them."""
    first_and_last: Mapping[tuple[str, str], PathFigures]
    """By the sources of the first and the last touch, those of most events first; the first
    MOST_ROWS.
    """
    total: PathFigures
    event_counts: Mapping[str, int]
    """The names of the events, and how many there are of each."""
    first_event: datetime | None
    last_event: datetime | None
    """The times of the Space's first and last event where the range reaches past them, on its
    clock.
    """
    span: DateTimeSpan
    timezone: str
    currency: str
    """Of all amounts."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
