"""Attribution said a second time, in plain Python over plain lists: the oracle of the SQL.

It shares no code and no closed form with it: shares are fractions, and left-over units are given
out by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor

from tests.support.decay import decayed_fractions


@dataclass(frozen=True)
class Touch:
    id: int
    contact_id: int
    company_id: int | None
    occurred_at: datetime
    source: str

    @property
    def is_paid(self) -> bool:
        return self.source.endswith("_ads")


@dataclass(frozen=True)
class Event:
    id: int
    contact_id: int
    company_id: int | None
    event_time: datetime
    amount: Decimal | None


@dataclass(frozen=True)
class Credit:
    event: Event
    touch: Touch
    amount: Decimal | None


def weights(model: str, path: list[Touch]) -> list[tuple[Touch, Fraction]]:
    """Each credited touch of a path, oldest first, with its part of the whole."""
    if model in ("first_platform_touch", "last_platform_touch", "linear_paid"):
        path = [touch for touch in path if touch.is_paid]
    if model == "last_non_direct_touch":
        path = [touch for touch in path if touch.source != "direct"] or path
    if not path:
        return []
    if model.startswith("first_"):
        return [(path[0], Fraction(1))]
    if model.startswith("last_"):
        return [(path[-1], Fraction(1))]
    if model == "u_shaped" and len(path) > 2:
        middle = Fraction(20, 100) / (len(path) - 2)
        ends = Fraction(40, 100)
        return list(zip(path, [ends, *[middle] * (len(path) - 2), ends], strict=True))
    if model == "time_decay":
        fractions = decayed_fractions([touch.occurred_at for touch in path])
        return list(zip(path, fractions, strict=True))
    return [(touch, Fraction(1, len(path))) for touch in path]


def shares(amount: Decimal | None, parts: list[Fraction]) -> list[Decimal | None]:
    """The amount in the given parts, in whole units that add up to it."""
    if amount is None:
        return [None] * len(parts)
    exponent = amount.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    unit = Decimal(1).scaleb(min(exponent, -2))
    units = int(abs(amount) / unit)
    exact = [units * part for part in parts]
    given = [floor(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda at: (given[at] - exact[at], at))
    for at in by_remainder[: units - sum(given)]:
        given[at] += 1
    return [share * unit * (-1 if amount < 0 else 1) for share in given]


def path_of(event: Event, touches: list[Touch], *, days: int, by_company: bool) -> list[Touch]:
    def belongs(touch: Touch) -> bool:
        if by_company and event.company_id is not None:
            return touch.company_id == event.company_id
        return touch.contact_id == event.contact_id

    def in_window(touch: Touch) -> bool:
        age = event.event_time - touch.occurred_at
        return timedelta(0) <= age and (days == 0 or age <= timedelta(seconds=days * 86_400))

    path = [touch for touch in touches if belongs(touch) and in_window(touch)]
    return sorted(path, key=lambda touch: (touch.occurred_at, touch.id))


def credits_of(
    events: list[Event], touches: list[Touch], model: str, *, days: int, by_company: bool
) -> list[Credit]:
    """Every credited row, in the order they are listed."""
    found: list[Credit] = []
    for event in events:
        path = path_of(event, touches, days=days, by_company=by_company)
        credited = weights(model, path)
        amounts = shares(event.amount, [part for _, part in credited])
        found += [
            Credit(event, touch, amount)
            for (touch, _), amount in zip(credited, amounts, strict=True)
        ]
    return sorted(
        found,
        key=lambda row: (row.event.event_time, row.event.id, row.touch.occurred_at, row.touch.id),
        reverse=True,
    )
