"""Typical faults in computing reports, to be planted in the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.report_model import clock, counting, credit, grouping, groups, report, selection
from tests.support.report_model.clock import Period
from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Event, Facts, TagSet, Touchpoint
from tests.support.report_model.question import Question

Plant = Callable[[pytest.MonkeyPatch], None]


def _window(patch: pytest.MonkeyPatch) -> None:
    def within(window: int, event: Event, path: Sequence[Touchpoint]) -> list[Touchpoint]:
        earliest = event.event_time - timedelta(days=window)
        return [touch for touch in path if window == 0 or touch.occurred_at > earliest]

    patch.setattr(selection, "within", within)


def _window_of_whole_seconds(patch: pytest.MonkeyPatch) -> None:
    def within(window: int, event: Event, path: Sequence[Touchpoint]) -> list[Touchpoint]:
        earliest = event.event_time.replace(microsecond=0) - timedelta(days=window)
        return [touch for touch in path if window == 0 or touch.occurred_at >= earliest]

    patch.setattr(selection, "within", within)


def _path(change: Callable[[Event, list[Touchpoint]], list[Touchpoint]]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = credit.list_path

        def list_path(event: Event, all_: Sequence[Touchpoint], *, by_company: bool) -> Any:
            return change(event, right(event, all_, by_company=by_company))

        patch.setattr(selection, "list_path", list_path)

    return plant


def _people_only(patch: pytest.MonkeyPatch) -> None:
    def list_path(event: Event, all_: Sequence[Touchpoint], *, by_company: bool) -> Any:
        return credit.list_path(event, all_, by_company=by_company and False)

    patch.setattr(selection, "list_path", list_path)


def _cents(patch: pytest.MonkeyPatch) -> None:
    right = credit.shared_out
    patch.setattr(credit, "shared_out", lambda units, parts: right(units, parts[::-1])[::-1])


def _sources_first(patch: pytest.MonkeyPatch) -> None:
    def conversions_of(facts: Facts, question: Question, period: Period) -> list[Conversion]:
        conversions = selection.conversions_of(facts, question, period)
        needs_model = "markov" in question.models
        worth = facts.weights(question.trained_model, question.event_names) if needs_model else {}
        for conversion in conversions:
            touches = [t for t in conversion.window if selection.keeps(t, facts, question, period)]
            conversion.credits = {
                m: credit.credits_of(m, conversion.event, touches, worth) for m in question.models
            }
        return conversions

    patch.setattr(grouping, "conversions_of", conversions_of)


def _end_of_period(patch: pytest.MonkeyPatch) -> None:
    right = Period.bounds

    def bounds(period: Period, zone: ZoneInfo) -> Any:
        start, end = right(period, zone)
        return start, end - clock.SECOND

    patch.setattr(Period, "bounds", bounds)


def _repeated_hour(patch: pytest.MonkeyPatch) -> None:
    right = clock._instant
    patch.setattr(clock, "_instant", lambda local, zone, _fold: right(local, zone, 0))


def _utc(patch: pytest.MonkeyPatch) -> None:
    right = clock.time_key
    utc = ZoneInfo("UTC")
    patch.setattr(groups, "time_key", lambda group, moment, _zone: right(group, moment, utc))


def _names_before_ids(patch: pytest.MonkeyPatch) -> None:
    def named_key(kind: str, tags: TagSet) -> str | None:
        identity, name = getattr(tags, f"{kind}_id"), getattr(tags, f"{kind}_name")
        return identity if name is None else name

    patch.setattr(groups, "named_key", named_key)


def _twice(patch: pytest.MonkeyPatch) -> None:
    """An event counts once for each of its credited touches."""
    right = counting._whole_figure

    def figure(measure: str, conversions: list[Conversion], *rest: Any) -> Any:
        repeated_conversions = [
            conversion for conversion in conversions for _ in next(iter(conversion.credits.values())) or [0]
        ]
        return right(measure, repeated_conversions, *rest)

    patch.setattr(counting, "_whole_figure", figure)


def _catalogue(patch: pytest.MonkeyPatch) -> None:
    right = selection.keeps

    def keeps(touch: Touchpoint, facts: Facts, question: Question, period: Period) -> bool:
        bare = Facts(facts.zone, ad_names={})
        return right(touch, bare, question, period)

    patch.setattr(grouping, "keeps", keeps)


def _nobody(patch: pytest.MonkeyPatch) -> None:
    def without(conversions: list[Conversion], _model: str) -> list[Conversion]:
        return [conversion for conversion in conversions if not conversion.window]

    patch.setattr(grouping, "_without", without)


def _change(patch: pytest.MonkeyPatch) -> None:
    def change_of(now: Fraction | None, then: Fraction | None) -> Fraction | None:
        return None if now is None or not then else counting.rounded((now - then) / then)

    patch.setattr(report.counting, "change_of", change_of)


FAULTS: dict[str, Plant] = {
    "the end of the window is not part of it": _window,
    "the window is of whole seconds": _window_of_whole_seconds,
    "a touch at the event's moment does not count": _path(
        lambda event, path: [touch for touch in path if touch.occurred_at < event.event_time]
    ),
    "of touches at one moment the later comes first": _path(
        lambda _, path: sorted(path, key=lambda touch: (touch.occurred_at, -touch.id))
    ),
    "a company's path is its contact's": _people_only,
    "left-over cents go to the last touches": _cents,
    "sources are filtered before credit is given": _sources_first,
    "the last second of a period is not part of it": _end_of_period,
    "a repeated hour ends with its first pass": _repeated_hour,
    "days are those of UTC": _utc,
    "campaigns are grouped by name": _names_before_ids,
    "an event counts once for each touch": _twice,
    "the catalogue's names are not searched": _catalogue,
    "only events without touches are credited to nobody": _nobody,
    "changes of negative figures have the wrong sign": _change,
}
