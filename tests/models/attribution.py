"""Attribution in plain Python over plain lists: the oracle of the SQL.

It shares no code and no closed formula with the SQL: shares are fractions, and left-over units are
distributed by sorting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor
from types import MappingProxyType

from tests.support.decay import decayed_fractions

BY_SOURCE = ("markov", "shapley_distinct")


@dataclass(frozen=True)
class Touch:
    id: int
    contact_id: int
    company_id: int | None
    occurred_at: datetime
    source: str

    @property
    def is_paid(self) -> bool:
        return self.source.endswith("_ads") or self.source == "paid_other"


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


NO_TRAINED_MODEL: Mapping[str, Fraction] = MappingProxyType({})


def weights(
    model: str, path: list[Touch], trained_model: Mapping[str, Fraction] = NO_TRAINED_MODEL
) -> list[tuple[Touch, Fraction]]:
    """Return each credited touch of a path, oldest first, with its share. `trained_model` has the Markov
    weights of sources.
    """
    if model in BY_SOURCE:
        equal = dict.fromkeys((touch.source for touch in path), Fraction(1))
        return source_credit(path, trained_model if model == "markov" else equal)
    if model in ("first_platform_touch", "last_platform_touch", "linear_paid"):
        path = [touch for touch in path if touch.is_paid]
    if model == "last_non_direct_touch":
        path = [touch for touch in path if touch.source != "direct"] or path
    if not path:
        return []
    if model.startswith(("first_", "last_")):
        return [(path[0 if model.startswith("first_") else -1], Fraction(1))]
    if model == "u_shaped" and len(path) > 2:
        middle = Fraction(20, 100) / (len(path) - 2)
        ends = Fraction(40, 100)
        return list(zip(path, [ends, *[middle] * (len(path) - 2), ends], strict=True))
    if model == "time_decay":
        fractions = decayed_fractions([touch.occurred_at for touch in path])
        return list(zip(path, fractions, strict=True))
    return [(touch, Fraction(1, len(path))) for touch in path]


def source_credit(path: list[Touch], weights: Mapping[str, Fraction]) -> list[tuple[Touch, Fraction]]:
    """Return the same for models that give each source one share, by its weight, however often it occurs."""
    path = [touch for touch in path if weights.get(touch.source)]
    total = sum(weights[source] for source in {touch.source for touch in path})
    alike = Counter(touch.source for touch in path)
    return [(touch, weights[touch.source] / total / alike[touch.source]) for touch in path]


def shares(amount: Decimal | None, parts: list[Fraction]) -> list[Decimal | None]:
    """Return the amount split into the given shares, in whole units that add up to it."""
    return in_units(amount, len(parts), lambda units: whole_shares(units, parts))


def source_shares(amount: Decimal | None, credited: list[tuple[Touch, Fraction]]) -> list[Decimal | None]:
    """Return the same if whole units go to sources first, and from each source to its touches."""
    parts_by_source: dict[str, list[Fraction]] = {}
    for touch, fraction in credited:
        parts_by_source.setdefault(touch.source, []).append(fraction)

    def share(units: int) -> list[int]:
        source_units = whole_shares(units, [sum(parts, Fraction()) for parts in parts_by_source.values()])
        touch_units = {
            source: iter(whole_shares(source_total, [Fraction(1, len(parts))] * len(parts)))
            for (source, parts), source_total in zip(parts_by_source.items(), source_units, strict=True)
        }
        return [next(touch_units[touch.source]) for touch, _ in credited]

    return in_units(amount, len(credited), share)


def in_units(amount: Decimal | None, count: int, share: Callable[[int], list[int]]) -> list[Decimal | None]:
    """Return the parts of an amount, given a function that splits whole units."""
    if amount is None:
        return [None] * count
    exponent = amount.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    unit = Decimal(1).scaleb(min(exponent, -2))
    sign = -1 if amount < 0 else 1
    return [unit_count * unit * sign for unit_count in share(int(abs(amount) / unit))]


def whole_shares(units: int, parts: list[Fraction]) -> list[int]:
    """Return whole units split into the given shares, which add up to 1."""
    exact = [units * fraction for fraction in parts]
    counts = [floor(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: (counts[index] - exact[index], index))
    for index in by_remainder[: units - sum(counts)] if parts else []:
        counts[index] += 1
    return counts


def list_path(event: Event, touches: list[Touch], *, days: int, by_company: bool) -> list[Touch]:
    def is_on_path(touch: Touch) -> bool:
        if by_company and event.company_id is not None:
            return touch.company_id == event.company_id
        return touch.contact_id == event.contact_id

    def in_window(touch: Touch) -> bool:
        age = event.event_time - touch.occurred_at
        return timedelta(0) <= age and (days == 0 or age <= timedelta(seconds=days * 86_400))

    path = [touch for touch in touches if is_on_path(touch) and in_window(touch)]
    return sorted(path, key=lambda touch: (touch.occurred_at, touch.id))


def share_credit(
    events: list[Event], touches: list[Touch], model: str, *, days: int, by_company: bool,
    trained_model: Mapping[str, Fraction] = NO_TRAINED_MODEL,
) -> list[Credit]:  # fmt: skip
    """Return every credited row, in the order of the list."""
    rows: list[Credit] = []
    for event in events:
        path = list_path(event, touches, days=days, by_company=by_company)
        weighted_touches = weights(model, path, trained_model)
        if model in BY_SOURCE:
            amounts = source_shares(event.amount, weighted_touches)
        else:
            amounts = shares(event.amount, [fraction for _, fraction in weighted_touches])
        rows += [
            Credit(event, touch, amount) for (touch, _), amount in zip(weighted_touches, amounts, strict=True)
        ]
    return sorted(
        rows,
        key=lambda row: (row.event.event_time, row.event.id, row.touch.occurred_at, row.touch.id),
        reverse=True,
    )
