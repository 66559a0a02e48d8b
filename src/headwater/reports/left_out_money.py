"""Money that a report leaves out, counted and named: by its currency and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from headwater.attribution.paths.lookup import place_among
from headwater.attribution.paths.path_data import IntArray
from headwater.http.openapi import TEXT, object_schema
from headwater.spend.rates.counted_amounts import UNIT, LeftOutReason


class LeftOutMoney(NamedTuple):
    """Money in one currency that is left out for one reason."""

    currency: str
    reason: LeftOutReason
    events: int
    amount: Decimal
    """In that currency, as the events state it."""
    first_day: date
    last_day: date
    """Of the events, on the Space's clock."""

    @property
    def lacks_rate(self) -> bool:
        return self.reason is LeftOutReason.NO_RATE

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        return (
            f"{self.events:,} event{'' if self.events == 1 else 's'}, "
            f"{self.amount:,.2f} {self.currency}, left out: {self.reason.words}"
        )


class LeftOutSpend(NamedTuple):
    """Ad spend in a currency without a rate."""

    currency: str
    amount: Decimal
    """In that currency."""
    first_day: date
    last_day: date

    @property
    def lacks_rate(self) -> bool:
        return True

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        return f"Spend of {self.amount:,.2f} {self.currency} left out: {LeftOutReason.NO_RATE.words}"


@dataclass(frozen=True)
class LeftOutAmounts:
    """The events whose amounts are left out."""

    kinds: tuple[tuple[str, LeftOutReason], ...]
    event_ids: IntArray
    """Ascending."""
    kind_of: IntArray
    """The place in `kinds` of each event's."""
    amounts: IntArray
    """Of each event, as it states it, in ten-thousandths."""
    days: IntArray
    """Of each event, as ordinals."""

    @classmethod
    def of(
        cls, by_kind: Mapping[tuple[str, LeftOutReason], Iterable[tuple[int, int, date]]]
    ) -> LeftOutAmounts:
        """Return events, as tuples of id, amount and day, by currency and reason."""
        kinds = tuple(sorted(by_kind))
        rows = [
            (event_id, place, amount, day.toordinal())
            for place, kind in enumerate(kinds)
            for event_id, amount, day in by_kind[kind]
        ]
        columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T
        return cls(kinds, *columns)

    def among(self, event_ids: IntArray) -> list[LeftOutMoney]:
        """Return what is left out of some events, each of which is named once."""
        places, known = place_among(self.event_ids, event_ids)
        places = places[known]
        several: list[LeftOutMoney] = []
        for place, kind in enumerate(self.kinds):
            of_kind = places[self.kind_of[places] == place]
            if len(of_kind):
                days = self.days[of_kind]
                several.append(
                    LeftOutMoney(
                        *kind,
                        len(of_kind),
                        Decimal(sum(self.amounts[of_kind].tolist())) / UNIT,
                        date.fromordinal(int(days.min())),
                        date.fromordinal(int(days.max())),
                    )
                )
        return several


def join_left_out(several: Iterable[Iterable[LeftOutMoney]]) -> tuple[LeftOutMoney, ...]:
    """Return what is left out of several things, which have no event in common."""
    joined: dict[tuple[str, LeftOutReason], LeftOutMoney] = {}
    for money in (each for left_out in several for each in left_out):
        other = joined.get(money[:2])
        joined[money[:2]] = (
            money
            if other is None
            else LeftOutMoney(
                money.currency,
                money.reason,
                money.events + other.events,
                money.amount + other.amount,
                min(money.first_day, other.first_day),
                max(money.last_day, other.last_day),
            )
        )
    return tuple(joined[kind] for kind in sorted(joined))


def left_out_answer(left_out: Iterable[LeftOutMoney]) -> list[dict[str, Any]]:
    """Return left-out money as JSON has it."""
    return [
        {
            "currency": money.currency,
            "events": money.events,
            "amount": float(money.amount),
            "reason": str(money.reason),
            "first_day": f"{money.first_day}",
            "last_day": f"{money.last_day}",
        }
        for money in left_out
    ]


def left_out_spend_answer(left_out: Iterable[LeftOutSpend]) -> list[dict[str, Any]]:
    """Return left-out spend as JSON has it."""
    return [
        {
            "currency": spend.currency,
            "amount": float(spend.amount),
            "first_day": f"{spend.first_day}",
            "last_day": f"{spend.last_day}",
        }
        for spend in left_out
    ]


LEFT_OUT_SPEND = {
    "type": "array",
    "items": object_schema(
        {"currency": TEXT, "amount": {"type": "number"}, "first_day": TEXT, "last_day": TEXT}
    ),
}
LEFT_OUT_MONEY = {
    "type": "array",
    "items": object_schema(
        {
            "currency": TEXT,
            "events": {"type": "integer"},
            "amount": {"type": "number"},
            "reason": {"type": "string", "enum": [str(reason) for reason in LeftOutReason]},
            "first_day": TEXT,
            "last_day": TEXT,
        }
    ),
}
