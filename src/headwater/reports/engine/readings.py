"""Readings: the moment at which a report was read, and what of, in 64 characters. Whoever has two
of the same question can ask what has changed between them; nothing is stored for one.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.attribution.history.revisions import Latest, Point, fetch_latest
from headwater.reports.engine.plan import ReportScope
from headwater.reports.query import Comparison, ReportProblem, ReportQuery, ReportRefused
from headwater.spaces.models import Space
from headwater.spend.rates.store import RatePoint, fetch_reference_revision


class ReadingRefused(ReportRefused):
    """422: two readings that cannot be compared; the field names the one that is at fault."""

    def __init__(self, field: str, reason: ReportProblem, words: str) -> None:
        super().__init__(words, 422, {"reason": reason, "field": field})


class OtherQuestion(ReadingRefused):
    """422: a reading of another period, model or filter than is asked for."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.OTHER_QUESTION,
            f"The reading `{field}` is of another question, or of another Space: give the dates, "
            "model, window, date basis and filters that its report had. A period in words is "
            "another one tomorrow: give start_date and end_date.",
        )


class SettingsChanged(ReadingRefused):
    """422: a reading of before a setting of the Space was changed."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.SETTINGS_CHANGED,
            f"The reading `{field}` was made in another time zone or currency than the Space has "
            "now, so all figures may differ. Take a new one.",
        )


class OtherPast(ReadingRefused):
    """422: a reading from before a backup was restored."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.OTHER_PAST,
            f"The reading `{field}` is from before the installation was restored from a backup.",
        )


class FitDeleted(ReadingRefused):
    """422: a reading of credit by a fit that is there no more."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.FIT_DELETED,
            f"The reading `{field}` has credit by a fit that is there no more. Take a new one.",
        )


class ReadingTooOld(ReadingRefused):
    """422: a reading of before changes were kept."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.TOO_OLD,
            f"The reading `{field}` is too old: changes are known of the last 400 days, and not of "
            "before they were first counted.",
        )


class Uncounted(ReadingRefused):
    """422: what is known of the past does not lead to what a reading has seen."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.UNCOUNTED,
            f"The number of events at the reading `{field}` is not what is left when all known "
            "changes are undone: rows were changed outside of Headwater, or by an older version. "
            "Take a new one.",
        )


_FORM = struct.Struct(">BQIQIHII9s4s")
_VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Present(NamedTuple):
    """The present, as a snapshot sees it."""

    latest: Latest
    """The latest change of the Space."""
    reference: int
    """The number of the latest change of rates for all Spaces."""


async def fetch_present(connection: AsyncConnection, space_id: int) -> Present:
    """Return the present that a snapshot sees."""
    latest = await fetch_latest(connection, space_id)
    return Present(latest, await fetch_reference_revision(connection))


@dataclass(frozen=True)
class ReportReading:
    """A reading of a report."""

    point: Point
    """The changes of the Space that it has seen."""
    taken_at: int
    """Its time, in microseconds since 1970."""
    fit_id: int
    """The fit that credit went by; 0 where it went by none."""
    half_life_days: int
    """Likewise the Space's half-life."""
    reference: int
    """The number of the latest change of rates for all Spaces that it has seen."""
    events: int | None
    """The number of events of the period; None where it is not known."""
    subject: bytes
    """A digest of the Space and of what the report was about, whatever its groups and measures."""
    settings: bytes
    """A digest of the zone and the currency."""

    def __str__(self) -> str:
        packed = _FORM.pack(
            _VERSION,
            self.point.revision,
            self.point.era,
            self.taken_at,
            self.fit_id,
            self.half_life_days,
            self.reference,
            _UNKNOWN if self.events is None else self.events % _UNKNOWN,
            self.subject,
            self.settings,
        )
        return base64.urlsafe_b64encode(packed).decode()

    @property
    def rates_at(self) -> RatePoint:
        """The point of the rates that it has seen."""
        return RatePoint(self.point.revision, self.reference)

    @property
    def moment(self) -> datetime:
        """Its time."""
        return _EPOCH + self.taken_at * _MICROSECOND


def make_reading(
    present: Present, scope: ReportScope, space: Space, currency: str, events: int | None
) -> ReportReading:
    """Return the reading of a report of so many events, made of a snapshot and in a currency."""
    latest = present.latest
    return ReportReading(
        latest.point,
        (latest.at - _EPOCH) // _MICROSECOND,
        scope.fit.id if scope.fit else 0,
        scope.half_life_days or 0,
        present.reference,
        events,
        _digest((space.id, _subject(scope.query)), 9),
        _digest((space.timezone, currency), 4),
    )


def parse_reading(text: str) -> ReportReading:
    """Return the reading that a text is. Raises ValueError."""
    try:
        version, revision, era, taken_at, fit_id, half_life, *latest = _FORM.unpack(
            base64.b64decode(text, altchars=b"-_", validate=True)
        )
    except (ValueError, struct.error):
        raise ValueError(_RULE) from None
    if version != _VERSION or taken_at > _LATEST:
        raise ValueError(_RULE)
    reference, events, subject, settings = latest
    return ReportReading(
        Point(revision, era),
        taken_at,
        fit_id,
        half_life,
        reference,
        None if events == _UNKNOWN else events,
        subject,
        settings,
    )


_RULE = "must be the reading of a report."
_LATEST = 1 << 53
_UNKNOWN = (1 << 32) - 1


def _subject(query: ReportQuery) -> list[tuple[str, object]]:
    """Return what a report is about. A field that a later version adds is left out as long as it
    has its default, so that readings stay what they are.
    """
    subject = replace(
        query,
        measures=(),
        group_by=(),
        compare=Comparison.NONE,
        order_by=None,
        descending=True,
        limit=50,
        ripe_on=None,
        currency=None,
        fit=None,
    )
    values = [(each, getattr(subject, each.name)) for each in fields(subject)]
    return [(each.name, value) for each, value in values if each.default is MISSING or value != each.default]


def _digest(value: object, size: int) -> bytes:
    return hashlib.blake2b(repr(value).encode(), digest_size=size).digest()
