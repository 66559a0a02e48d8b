"""Report snapshots: a question and data version in 64 characters (`snapshot` in the API), to compare two of
one question. Not stored.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.attribution.history.revisions import Latest, Point, fetch_latest, fetch_revision_at
from headwater.http.errors import Invalid
from headwater.http.inputs.timerange import between
from headwater.reports.engine.passes import PeriodPlan
from headwater.reports.engine.plan import ReportScope
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.query import ReportProblem, ReportQuery, ReportRefused
from headwater.spaces.models import Space
from headwater.spend.rates.store import RatePoint, fetch_reference_revision

_REASONS = {
    ReportProblem.OTHER_QUESTION: "The snapshot `{}` belongs to another question or Space. Ask for the "
    "dates, model, window, date basis and filters of its report. A relative period changes every day: give "
    "start_date and end_date.",
    ReportProblem.SETTINGS_CHANGED: "The Space's time zone or currency has changed since the snapshot `{}`, "
    "so all figures may differ. Take a new snapshot.",
    ReportProblem.OTHER_PAST: "The snapshot `{}` is from before the installation was restored from a backup.",
    ReportProblem.MODEL_DELETED: "The trained model of the snapshot `{}` was deleted. Take a new snapshot.",
    ReportProblem.TOO_OLD: "The snapshot `{}` is too old: changes are recorded for the last 400 days, and "
    "only since recording began.",
    ReportProblem.UNCOUNTED: "Recorded changes don't explain the number of events since the snapshot `{}`: "
    "rows were changed outside of Headwater, or by an older version. Take a new snapshot.",
}


class SnapshotRefused(ReportRefused):
    """422: a snapshot can't be compared."""

    def __init__(self, field: str, reason: ReportProblem) -> None:
        """`field` is the request parameter."""
        super().__init__(_REASONS[reason].format(field), 422, {"reason": reason, "field": field})


_FORM = struct.Struct(">BQIQIHII9s4s")
_VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Present(NamedTuple):
    """The latest visible revisions."""

    latest: Latest
    reference: int
    """Of the shared exchange rates."""


async def fetch_present(connection: AsyncConnection, space_id: int) -> Present:
    latest = await fetch_latest(connection, space_id)
    return Present(latest, await fetch_reference_revision(connection))


@dataclass(frozen=True)
class ReportSnapshot:
    point: Point
    """The latest revision."""
    taken_at: int
    """In Unix microseconds."""
    trained_model_id: int
    """The trained model, or 0."""
    half_life_days: int
    """0 if credit doesn't depend on it."""
    reference: int
    """Of the shared exchange rates."""
    events: int | None
    """None if unknown."""
    subject: bytes
    """A digest of Space and question, without groups and measures."""
    settings: bytes
    """A digest of the time zone and the currency."""

    def __str__(self) -> str:
        packed_form = _FORM.pack(
            _VERSION,
            self.point.revision,
            self.point.era,
            self.taken_at,
            self.trained_model_id,
            self.half_life_days,
            self.reference,
            _UNKNOWN if self.events is None else self.events % _UNKNOWN,
            self.subject,
            self.settings,
        )
        return base64.urlsafe_b64encode(packed_form).decode()

    @property
    def rates_at(self) -> RatePoint:
        return RatePoint(self.point.revision, self.reference)

    @property
    def moment(self) -> datetime:
        return _EPOCH + self.taken_at * _MICROSECOND


def make_snapshot(
    present_state: Present, scope: ReportScope, space: Space, currency: str, events: int | None
) -> ReportSnapshot:
    latest = present_state.latest
    return ReportSnapshot(
        latest.point,
        (latest.at - _EPOCH) // _MICROSECOND,
        scope.trained_model.id if scope.trained_model else 0,
        scope.half_life_days or 0,
        present_state.reference,
        events,
        _digest((space.id, _subject(scope.query)), 9),
        _digest((space.timezone, currency), 4),
    )


def parse_snapshot(text: str) -> ReportSnapshot:
    """Raises ValueError."""
    try:
        version, revision, era, taken_at, trained_model_id, half_life, *rest = _FORM.unpack(
            base64.b64decode(text, altchars=b"-_", validate=True)
        )
    except (ValueError, struct.error):
        raise ValueError(_RULE) from None
    if version != _VERSION or taken_at > _MAX_TAKEN_AT:
        raise ValueError(_RULE)
    reference, events, subject, settings = rest
    return ReportSnapshot(
        Point(revision, era),
        taken_at,
        trained_model_id,
        half_life,
        reference,
        None if events == _UNKNOWN else events,
        subject,
        settings,
    )


_RULE = "must be the snapshot of a report."
_MAX_TAKEN_AT = 1 << 53
_UNKNOWN = (1 << 32) - 1


def _subject(query: ReportQuery) -> list[tuple[str, object]]:
    """Return the question without limit, currency and model. Defaults are left out, so new fields don't
    invalidate old snapshots.
    """
    subject = replace(query, limit=50, currency=None, trained_model=None)
    values = [(field, getattr(subject, field.name)) for field in fields(subject)]
    return [
        (field.name, value) for field, value in values if field.default is MISSING or value != field.default
    ]


def _digest(value: object, size: int) -> bytes:
    return hashlib.blake2b(repr(value).encode(), digest_size=size).digest()


class Snapshots(NamedTuple):
    start: ReportSnapshot
    end: ReportSnapshot
    now: ReportSnapshot


async def find_snapshots(
    reader: ReportReader,
    since: ReportSnapshot | datetime,
    until: ReportSnapshot | datetime | None,
    planned: PeriodPlan,
) -> Snapshots:
    """Return the snapshots to compare. Times are local; None means now. Raises Invalid, and ReportRefused if
    they can't be compared.
    """
    present_state = await fetch_present(reader.connection, reader.space.id)
    latest = make_snapshot(present_state, planned.plan.scope, reader.space, reader.currency, None)
    start = await _find_snapshot(reader, "since", since, latest)
    end = latest if until is None else await _find_snapshot(reader, "until", until, latest)
    for field, snapshot in (("since", start), ("until", end)):
        _require_comparable(field, snapshot, latest, present_state.latest)
    if start.point.revision > end.point.revision:
        raise Invalid({"since": ["The since must not be later than until."]})
    return Snapshots(start, end, latest)


async def _find_snapshot(
    reader: ReportReader, field: str, point: ReportSnapshot | datetime, latest: ReportSnapshot
) -> ReportSnapshot:
    if isinstance(point, ReportSnapshot):
        return point
    if not latest.point.revision:  # nothing has ever changed
        return latest
    moment = max(between(point, point, reader.space.zone).start, _EPOCH)  # no change is earlier
    revision = await fetch_revision_at(reader.connection, reader.space.id, moment)
    if revision is None:
        raise SnapshotRefused(field, ReportProblem.TOO_OLD)
    return replace(
        latest,
        point=latest.point._replace(revision=revision),
        taken_at=(moment - _EPOCH) // _MICROSECOND,
        reference=await fetch_reference_revision(reader.connection, moment),
        events=None,
    )


def _require_comparable(
    field: str, snapshot: ReportSnapshot, current: ReportSnapshot, latest: Latest
) -> None:
    if snapshot.subject != current.subject:
        raise SnapshotRefused(field, ReportProblem.OTHER_QUESTION)
    if snapshot.settings != current.settings:
        raise SnapshotRefused(field, ReportProblem.SETTINGS_CHANGED)
    point = snapshot.point
    is_of_other_past = point.era != current.point.era or point.revision > current.point.revision
    if (point.revision or point.era) and is_of_other_past:
        raise SnapshotRefused(field, ReportProblem.OTHER_PAST)
    if point.revision < latest.known_from:
        raise SnapshotRefused(field, ReportProblem.TOO_OLD)
