"""Touchpoints that events bring with their attribution parameters, or that were sent by themselves:
what one is, when it repeats an earlier one, and what it adds to the contact's path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from psycopg import Connection

from headwater.attribution.accepted import AcceptedTouchpoint
from headwater.database.rows import rows
from headwater.database.statements import Statements
from headwater.events.accepted import AcceptedEvent
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import explain
from headwater.sources.evidence import Arrival, Parameters
from headwater.sources.hierarchy import field_of
from headwater.sources.outcomes import Ad, Source
from headwater.sources.resolve import resolve

SQL = Statements(__name__, "touchpoints.sql")

REPEAT_SPAN = 30 * 60 * 1_000_000
"""µs within which the same touch again makes no touchpoint."""

Likeness = tuple[str | int | None, ...]
"""What makes two touches the same: source, campaign, ad group, ad and keyword. What has an id is
known by it, whatever its name."""


class Touch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A moment, in µs since 1970, at which somebody came from a source."""

    at: int
    source_id: int
    source_rule: str
    ad: Ad
    url: str | None
    referrer_host: str | None = None

    @property
    def source_bit(self) -> int:
        return 1 << self.source_id

    @property
    def likeness(self) -> Likeness:
        ad = self.ad
        return (
            self.source_id,
            ad.campaign_id, None if ad.campaign_id is not None else ad.campaign_name,
            ad.adset_id, None if ad.adset_id is not None else ad.adset_name,
            ad.ad_id, None if ad.ad_id is not None else ad.ad_name,
            ad.keyword,
        )  # fmt: skip


def touch_of_event(event: AcceptedEvent, at: int) -> Touch | None:
    """The touch that an event at `at` (µs since 1970) carries, if it has any parameter of one."""
    if not (
        event.trk_source or event.trk_network or event.trk_campaign or event.trk_ad_group
        or event.trk_ad_id or event.trk_keyword or event.trk_type
    ):  # fmt: skip
        return None
    parameters = Parameters(event.trk_source, event.trk_network, event.trk_type)
    source, rule = resolve(parameters, event.url)
    told = (
        ("campaign", event.trk_campaign), ("adset", event.trk_ad_group),
        ("ad_id", event.trk_ad_id), ("keyword", event.trk_keyword),
    )  # fmt: skip
    ad = Ad(**{field_of(level, value): value for level, value in told if value is not None})
    return Touch(at=at, source_id=SOURCE_IDS[source], source_rule=rule, ad=ad, url=event.url)


def touch_of(touchpoint: AcceptedTouchpoint, at: int) -> Touch:
    """The touch that was sent by itself, at `at` (µs since 1970). What is not told of its ad is
    read from its URL. It came from somewhere, so where a visit would make no touch it is direct.
    """
    parameters = Parameters(touchpoint.source)
    told = explain(Arrival(touchpoint.url, touchpoint.referrer, parameters))
    source, rule = (
        (told.outcome.name, told.outcome.rule)
        if isinstance(told.outcome, Source)
        else ("direct", told.outcome.reason.value)
    )
    given = {name: getattr(touchpoint, name) for name in Ad.__struct_fields__}
    ad = Ad(**given) if any(given.values()) else told.ad
    return Touch(
        at=at, source_id=SOURCE_IDS[source], source_rule=rule, ad=ad, url=touchpoint.url,
        referrer_host=_host(touchpoint.referrer),
    )  # fmt: skip


def _host(address: str | None) -> str | None:
    """The host of a URL, or of an address that lacks its scheme; None when there is none."""
    if address is None:
        return None
    try:
        return urlsplit(address if "//" in address else f"//{address.strip()}").hostname
    except ValueError:
        return None


class Path:
    """A contact's path as far as a batch needs it: earlier touches, sources, the batch's events."""

    __slots__ = ("marks", "merged_mask", "source_mask", "times")

    def __init__(self, source_mask: int) -> None:
        self.source_mask = source_mask
        self.merged_mask = 0
        """What a merge in this batch put on every event before it."""
        self.times: dict[Likeness, list[int]] = {}
        self.marks: list[Mark] = []

    def repeats(self, touch: Touch) -> bool:
        """Whether the same touch is there in the half hour up to this one."""
        return any(
            touch.at - REPEAT_SPAN <= time <= touch.at
            for time in self.times.get(touch.likeness, ())
        )

    def add_touch(self, touch: Touch) -> None:
        self.times.setdefault(touch.likeness, []).append(touch.at)
        self.source_mask |= touch.source_bit
        for mark in self.marks:
            if mark.at >= touch.at:
                mark.source_mask |= touch.source_bit

    def add_event(self, at: int) -> Mark:
        """Note an event of the batch, which begins with all sources known so far."""
        mark = Mark(at, self.source_mask)
        self.marks.append(mark)
        return mark

    def absorb(self, other: Path) -> None:
        """Join the path of a contact merged into this one's."""
        for likeness, times in other.times.items():
            self.times.setdefault(likeness, []).extend(times)
        self.source_mask |= other.source_mask
        self.merged_mask = self.source_mask
        self.marks += other.marks
        for mark in self.marks:
            mark.source_mask |= self.source_mask


class Mark:
    """The sources before an event of the batch."""

    __slots__ = ("at", "source_mask")

    def __init__(self, at: int, source_mask: int) -> None:
        self.at = at
        self.source_mask = source_mask


class StoredTouchpoint(Ad, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A touchpoint's row as it is first written. Times are µs since 1970."""

    id: int
    contact_id: int
    occurred_at: int
    source_id: int
    source_rule: str
    origin_id: int | None = None
    company_id: int | None = None
    url: str | None = None
    referrer_host: str | None = None
    sent: bool = False
    warnings: list[str] | None = None


class Span(msgspec.Struct, frozen=True, gc=False):
    """The part of a stored contact's path to load, in µs since 1970, both ends included."""

    contact_id: int
    first: int
    last: int


StoredTouch = tuple[int, int, Likeness]
"""contact id, time, likeness."""


def request_touches(
    connection: Connection[Any], space_id: int, spans: Collection[Span]
) -> Callable[[], Iterable[StoredTouch]]:
    """Ask for the stored touches in these spans; calling the result fetches them."""
    if not spans:
        return tuple
    values = {"space_id": space_id, "spans": rows(spans)}
    cursor = connection.execute(SQL["load"], values)
    return lambda: [(row[0], row[1], row[2:]) for row in cursor.fetchall()]


def write_touchpoints(
    connection: Connection[Any], space_id: int, touchpoints: Collection[StoredTouchpoint]
) -> None:
    """Store new touchpoints."""
    if touchpoints:
        values = {"space_id": space_id, "touchpoints": rows(touchpoints)}
        connection.execute(SQL["write"], values)
