"""The readings that changes lie between, and the terms of both: rates of currencies, the fit and
the half-life that credit goes by. Another fit alters figures though nothing has happened to any
event, so it is a cause of its own: what the earlier events come to by both makes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from headwater.attribution.fits.choice import ChosenFit, find_fit
from headwater.attribution.history.revisions import ChangeCause, Latest, fetch_revision_at
from headwater.http.errors import Invalid
from headwater.http.inputs.timerange import between
from headwater.reports.change_models import ChangeQuery
from headwater.reports.engine.passes import PeriodPlan
from headwater.reports.engine.readings import (
    FitDeleted,
    OtherPast,
    OtherQuestion,
    ReadingTooOld,
    ReportReading,
    SettingsChanged,
)
from headwater.reports.engine.report_reader import ReportReader
from headwater.spend.rates.store import RatePoint, fetch_reference_revision, have_changed

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Terms:
    """All that a report goes by besides events and touchpoints."""

    cause: ChangeCause | None
    """What has led to them from the terms before; None of the first."""
    planned: PeriodPlan
    rates_at: RatePoint | None
    """The point whose rates count; None is now."""

    @property
    def fit(self) -> ChosenFit | None:
        return self.planned.plan.scope.fit


class Readings(NamedTuple):
    """The readings that changes lie between, and the present one."""

    start: ReportReading
    end: ReportReading
    now: ReportReading


async def find_readings(
    reader: ReportReader, query: ChangeQuery, now: ReportReading, latest: Latest
) -> Readings:
    """Return the readings of a query. Raises Invalid, and a ReportRefused for one that cannot
    be compared with the present one.
    """
    start = await _find(reader, "since", query.start, now)
    end = now if query.end is None else await _find(reader, "until", query.end, now)
    for name, reading in (("since", start), ("until", end)):
        _require_comparable(name, reading, now, latest)
    if start.point.revision > end.point.revision:
        raise Invalid({"since": ["The since must not be later than until."]})
    return Readings(start, end, now)


async def _find(
    reader: ReportReader, name: str, point: ReportReading | datetime, now: ReportReading
) -> ReportReading:
    """Return the reading that is meant; that of a moment has the question and terms of `now`."""
    if isinstance(point, ReportReading):
        return point
    if not now.point.revision:  # nothing has ever changed
        return now
    moment = between(point, point, reader.space.zone).start
    revision = await fetch_revision_at(reader.connection, reader.space.id, moment)
    if revision is None:
        raise ReadingTooOld(name)
    taken_at = (moment - _EPOCH) // timedelta(microseconds=1)
    reference = await fetch_reference_revision(reader.connection, moment)
    return replace(
        now, point=now.point._replace(revision=revision), taken_at=taken_at, reference=reference, events=None
    )


def _require_comparable(name: str, reading: ReportReading, now: ReportReading, latest: Latest) -> None:
    """Raise a ReportRefused for a reading that is not of the same question, or of too long ago."""
    if reading.subject != now.subject:
        raise OtherQuestion(name)
    if reading.settings != now.settings:
        raise SettingsChanged(name)
    point = reading.point
    of_no_change = not point.revision and not point.era
    if not of_no_change and (point.era != now.point.era or point.revision > now.point.revision):
        raise OtherPast(name)
    if point.revision < latest.known_from:
        raise ReadingTooOld(name)


async def load_terms(reader: ReportReader, planned: PeriodPlan, readings: Readings) -> list[Terms]:
    """Return the terms of the earlier reading, and those to which each cause has led from them, up
    to those of the later one. Raises FitDeleted.
    """
    scope, (start, end, _) = planned.plan.scope, readings
    rates = await _load_rate_points(reader, readings)
    fits = [
        await _load_fit(reader, name, reading.fit_id, scope.fit)
        for name, reading in (("since", start), ("until", end))
    ]

    def terms(
        cause: ChangeCause | None, fit: ChosenFit | None, half_life_days: int, at: RatePoint | None
    ) -> Terms:
        of_terms = replace(scope, fit=fit, half_life_days=half_life_days or None)
        return Terms(cause, replace(planned, plan=replace(planned.plan, scope=of_terms)), at)

    chain = [terms(None, fits[0], start.half_life_days, rates[0])]
    if rates[0] != rates[1]:
        chain.append(terms(ChangeCause.RATES, fits[0], start.half_life_days, rates[1]))
    if start.fit_id != end.fit_id:
        chain.append(terms(ChangeCause.FITS, fits[1], start.half_life_days, rates[1]))
    if start.half_life_days != end.half_life_days:
        chain.append(terms(ChangeCause.HALF_LIFE, fits[1], end.half_life_days, rates[1]))
    return chain


async def _load_rate_points(
    reader: ReportReader, readings: Readings
) -> tuple[RatePoint | None, RatePoint | None]:
    """Return the points whose rates count at both readings; None where the later one is of now."""
    if not reader.is_about_money:
        return None, None
    start, end, now = (each.rates_at for each in readings)
    connection, space_id = reader.connection, reader.space.id
    at_end = None if end == now else end
    return start if await have_changed(connection, space_id, start, end) else at_end, at_end


async def _load_fit(reader: ReportReader, name: str, fit_id: int, now: ChosenFit | None) -> ChosenFit | None:
    if not fit_id or (now is not None and now.id == fit_id):
        return now
    fit = await find_fit(reader.connection, reader.space.id, fit_id)
    if fit is None:
        raise FitDeleted(name)
    return fit
