"""Reports said a second time, in plain Python over plain lists: the oracle of their SQL.

Credits come from the model of attribution; days from the calendar of the zone, moment by moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from tests.models.attribution import Event, Touch, path_of, shares, weights

Keys = tuple[str | None, ...]


@dataclass(frozen=True)
class Facts:
    """A Space, and how its events and touches are looked at."""

    events: list[Event]
    touches: list[Touch]
    zone: ZoneInfo
    model: str
    days: int
    by_company: bool
    names: dict[int, str]
    """Of events, by their ids."""
    campaigns: dict[int, str | None]
    """Of touches, likewise."""
    countries: dict[int, str | None]
    """Of contacts, likewise."""


@dataclass(frozen=True)
class Part:
    """A touch's part of an event; without a touch, an event that nothing is credited with."""

    event: Event
    touch: Touch | None
    credit: Decimal
    weight: Fraction


def parts_of(facts: Facts, start: datetime, end: datetime) -> list[Part]:
    """The parts of the events from `start` up to `end`."""
    found: list[Part] = []
    for event in facts.events:
        if not start <= event.event_time < end:
            continue
        path = path_of(event, facts.touches, days=facts.days, by_company=facts.by_company)
        credited = weights(facts.model, path)
        amounts = shares(event.amount, [part for _, part in credited])
        found += [
            Part(event, touch, amount or Decimal(0), weight)
            for (touch, weight), amount in zip(credited, amounts, strict=True)
        ]
        if not credited:
            found.append(Part(event, None, Decimal(0), Fraction(0)))
    return found


def key_of(facts: Facts, group: str, part: Part) -> str | None:
    """What a part has in common with others."""
    event, touch = part.event, part.touch
    day = event.event_time.astimezone(facts.zone).date()
    of_event: dict[str, Callable[[], str | None]] = {
        "event": lambda: facts.names[event.id],
        "day": day.isoformat,
        "week": (day - timedelta(days=day.weekday())).isoformat,
        "month": day.replace(day=1).isoformat,
        "country": lambda: facts.countries[event.contact_id],
        "company": lambda: None if event.company_id is None else str(event.company_id),
    }
    if group in of_event:
        return of_event[group]()
    assert touch is not None
    return {
        "source": touch.source, "channel": channel_of(touch.source),
        "campaign": facts.campaigns[touch.id],
    }[group]  # fmt: skip


def channel_of(source: str) -> str:
    if source == "direct":
        return "direct"
    return {"ads": "paid", "organic": "organic"}.get(source.rsplit("_", 1)[-1], "other")


def figures(parts: Iterable[Part]) -> dict[str, object]:
    """Every measure of some parts."""
    parts = list(parts)
    events = {part.event for part in parts}
    amounts = [event.amount for event in events if event.amount is not None]
    average = Fraction(sum(amounts, Decimal(0))) / len(amounts) if amounts else None
    return {
        "events": len(events),
        "revenue": sum(amounts, Decimal(0)),
        "credited_events": sum((part.weight for part in parts), Fraction(0)),
        "credited_revenue": sum((part.credit for part in parts), Decimal(0)),
        "contacts": len({event.contact_id for event in events}),
        "average_order_value": None if average is None else rounded(average),
    }


def rounded(value: Fraction) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.0001"), ROUND_HALF_UP)


def groups_of(facts: Facts, groups: tuple[str, ...], parts: list[Part]) -> dict[Keys, list[Part]]:
    """The parts by what they have in common. An event without credit is in no group of touches."""
    by_touch = {"source", "channel", "campaign"} & set(groups)
    found: dict[Keys, list[Part]] = {}
    for part in parts:
        if part.touch is not None or not by_touch:
            keys = tuple(key_of(facts, group, part) for group in groups)
            found.setdefault(keys, []).append(part)
    return found


def year_before(group: str, key: str) -> str | None:
    """The date, month or week of the year before."""
    day = date.fromisoformat(key)
    try:
        if group == "week":
            year, week, _ = day.isocalendar()
            return date.fromisocalendar(year - 1, week, 1).isoformat()
        return day.replace(year=day.year - 1).isoformat()
    except ValueError:
        return None
