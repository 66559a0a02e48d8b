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
    def select_window(window: int, event: Event, path: Sequence[Touchpoint]) -> list[Touchpoint]:
        earliest = event.event_time - timedelta(days=window)
        return [touch for touch in path if window == 0 or touch.occurred_at > earliest]

    patch.setattr(selection, "select_window", select_window)


def _round_window_to_seconds(patch: pytest.MonkeyPatch) -> None:
    def select_window(window: int, event: Event, path: Sequence[Touchpoint]) -> list[Touchpoint]:
        earliest = event.event_time.replace(microsecond=0) - timedelta(days=window)
        return [touch for touch in path if window == 0 or touch.occurred_at >= earliest]

    patch.setattr(selection, "select_window", select_window)


def _path(change: Callable[[Event, list[Touchpoint]], list[Touchpoint]]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = credit.list_path

        def list_path(event: Event, touches: Sequence[Touchpoint], *, by_company: bool) -> Any:
            return change(event, right(event, touches, by_company=by_company))

        patch.setattr(selection, "list_path", list_path)

    return plant


def _ignore_companies(patch: pytest.MonkeyPatch) -> None:
    def list_path(event: Event, touches: Sequence[Touchpoint], *, by_company: bool) -> Any:
        return credit.list_path(event, touches, by_company=by_company and False)

    patch.setattr(selection, "list_path", list_path)


def _cents(patch: pytest.MonkeyPatch) -> None:
    right = credit.share_out
    patch.setattr(credit, "share_out", lambda units, parts: right(units, parts[::-1])[::-1])


def _filter_before_sharing(patch: pytest.MonkeyPatch) -> None:
    def select_conversions(facts: Facts, question: Question, period: Period) -> list[Conversion]:
        conversions = selection.select_conversions(facts, question, period)
        needs_model = "markov" in question.models
        worth = facts.weights(question.trained_model, question.event_names) if needs_model else {}
        for conversion in conversions:
            touches = [t for t in conversion.window if selection.keeps(t, facts, question, period)]
            conversion.credits = {
                m: credit.share_credit(m, conversion.event, touches, worth) for m in question.models
            }
        return conversions

    patch.setattr(grouping, "select_conversions", select_conversions)


def _end_periods_early(patch: pytest.MonkeyPatch) -> None:
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


def _count_each_touch(patch: pytest.MonkeyPatch) -> None:
    """An event counts once for each of its credited touches."""
    right = counting._whole_figure

    def figure(measure: str, conversions: list[Conversion], *arguments: Any) -> Any:
        repeated_conversions = [
            conversion for conversion in conversions for _ in next(iter(conversion.credits.values())) or [0]
        ]
        return right(measure, repeated_conversions, *arguments)

    patch.setattr(counting, "_whole_figure", figure)


def _catalogue(patch: pytest.MonkeyPatch) -> None:
    right = selection.keeps

    def keeps(touch: Touchpoint, facts: Facts, question: Question, period: Period) -> bool:
        bare = Facts(facts.zone, ad_names={})
        return right(touch, bare, question, period)

    patch.setattr(grouping, "keeps", keeps)


def _ignore_touches_without_credit(patch: pytest.MonkeyPatch) -> None:
    def select_uncredited(conversions: list[Conversion], _model: str) -> list[Conversion]:
        return [conversion for conversion in conversions if not conversion.window]

    patch.setattr(grouping, "_select_uncredited", select_uncredited)


def _change(patch: pytest.MonkeyPatch) -> None:
    def relative_change(figure: Fraction | None, base: Fraction | None) -> Fraction | None:
        return None if figure is None or not base else (figure - base) / base

    patch.setattr(report.counting, "relative_change", relative_change)


FAULTS: dict[str, Plant] = {
    "the end of the window is not part of it": _window,
    "the window is of whole seconds": _round_window_to_seconds,
    "a touch at the event's moment does not count": _path(
        lambda event, path: [touch for touch in path if touch.occurred_at < event.event_time]
    ),
    "of touches at one moment the later comes first": _path(
        lambda _, path: sorted(path, key=lambda touch: (touch.occurred_at, -touch.id))
    ),
    "a company's path is its contact's": _ignore_companies,
    "left-over cents go to the last touches": _cents,
    "sources are filtered before credit is given": _filter_before_sharing,
    "the last second of a period is not part of it": _end_periods_early,
    "a repeated hour ends with its first pass": _repeated_hour,
    "days are those of UTC": _utc,
    "campaigns are grouped by name": _names_before_ids,
    "an event counts once for each touch": _count_each_touch,
    "the catalogue's names are not searched": _catalogue,
    "only events without touches are credited to nobody": _ignore_touches_without_credit,
    "changes of negative figures have the wrong sign": _change,
}
