"""Normalized answers about changes between snapshots, and their differences from plain lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from headwater.attribution.history.revisions import Latest
from headwater.reports.changes.change import CreditChangeReport, FigureChange, Figures
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import Group, ReportQuery
from tests.reports.histories import Change, Step
from tests.support.report_model.clock import Period
from tests.support.report_model.facts import Facts
from tests.support.report_model.grouping import Sums, compute_sums
from tests.support.report_model.question import Question

BIRTHS = frozenset({"new_events", "late_events", "replacements"})

Exact = dict[str, Fraction]


@dataclass
class Moment:
    """The data right after a change."""

    latest: Latest
    facts: Facts
    survivors: dict[int, int]
    """The surviving contact that each contact belongs to."""
    replacements: dict[int, int]
    """Events that had become duplicates, with the events they repeat."""
    step: Step


def exact(query: ReportQuery, report: CreditChangeReport) -> dict[str, Any]:
    """Return the product's answer in normalized form."""
    return {
        "rows": {_keys(query, row.keys): _change(row.change) for row in report.rows},
        "total": _change(report.total),
        "overall": report.overall and _change(report.overall),
        "unattributed": report.unattributed and _change(report.unattributed),
        "unexplained": _exact_figures(report.unexplained),
        "events": {str(cause.cause): cause.events for cause in report.causes},
    }


def _keys(query: ReportQuery, keys: tuple[GroupKey, ...]) -> tuple[str | None, ...]:
    pairs = zip(query.group_by, keys, strict=True)
    return tuple(key.label if group is Group.MONTH else key.value for group, key in pairs)


def _change(change: FigureChange) -> dict[str, Any]:
    return {
        "start": _exact_figures(change.start), "end": _exact_figures(change.end),
        "difference": _exact_figures(change.difference),
        "causes": {str(cause): _exact_figures(parts) for cause, parts in change.causes.items()},
    }  # fmt: skip


def _exact_figures(figures: Figures) -> Exact:
    return {str(column): Fraction(figure or 0) for column, figure in figures.items()}


def model_sums(facts: Facts, question: Question) -> Sums:
    return compute_sums(facts, question, Period(question.start, question.end))


def _plain_figures(figures: Mapping[str, Fraction | None]) -> Exact:
    return {name: figure or Fraction(0) for name, figure in figures.items()}


def _minus(figures: Exact, subtrahend: Exact) -> Exact:
    return {name: figure - subtrahend.get(name, Fraction(0)) for name, figure in figures.items()}


def wrong_figures(answer: dict[str, Any], start_sums: Sums, end_sums: Sums) -> Any:
    """Yield the figures of either snapshot, or of their difference, that disagree with the lists or are not
    the sum of their causes.
    """
    for name in ("total", "overall", "unattributed"):
        if answer[name] is None:
            if name != "total" and getattr(start_sums, name) is not None:
                yield f"{name} is missing"
            continue
        start, end = (_plain_figures(getattr(sums, name)) for sums in (start_sums, end_sums))
        yield from _find_differences(name, answer[name], start, end)
    nothing = _plain_figures(start_sums.zero_figures)
    for keys in {*start_sums.rows, *end_sums.rows, *answer["rows"]}:
        start, end = (_plain_figures(sums.rows.get(keys, nothing)) for sums in (start_sums, end_sums))
        if keys in answer["rows"]:
            yield from _find_differences(f"{keys}", answer["rows"][keys], start, end)
        elif start != end:
            yield f"{keys} is missing: {start} to {end}"
    if any(answer["unexplained"].values()):
        yield f"unexplained: {answer['unexplained']}"


def _find_differences(name: str, answer: dict[str, Any], start: Exact, end: Exact) -> Any:
    for side, right in (("start", start), ("end", end), ("difference", _minus(end, start))):
        if answer[side] != right:
            yield f"{name} {side}: {_format(answer[side])} is not {_format(right)}"
    remainder = answer["difference"]
    for parts in answer["causes"].values():
        remainder = _minus(remainder, parts)
    if any(remainder.values()):
        yield f"{name} unexplained: {_format(remainder)} of {answer['causes']}"


def _format(figures: Exact) -> str:
    return ", ".join(f"{name} {figure}" for name, figure in figures.items())


# --------------------------------------------------------------------- the causes, from plain lists


def change_causes(
    answer: dict[str, Any],
    start_moment: Moment,
    end_moment: Moment,
    start_time: datetime,
    questions: tuple[Question, Question],
) -> list[str]:
    """Return the figures of a single change whose cause differs from the cause in the lists."""
    before, question = questions
    stages = [("trained_models", start_moment.facts), *_stages(start_moment, end_moment, start_time)]
    sums = [model_sums(start_moment.facts, before), *(model_sums(facts, question) for _, facts in stages)]
    wrong: list[str] = []
    may_hide_event = _may_hide_event(start_moment, end_moment)
    for name in ("total", "overall", "unattributed"):
        if answer[name] is not None:
            right = _figures_by_cause(
                stages, [_plain_figures(getattr(stage_sums, name)) for stage_sums in sums]
            )
            wrong += _wrong_causes(name, answer[name]["causes"], right, may_hide_event=may_hide_event)
    for keys in {keys for stage_sums in sums for keys in stage_sums.rows} | {*answer["rows"]}:
        nothing = _plain_figures(sums[0].zero_figures)
        right = _figures_by_cause(
            stages, [_plain_figures(stage_sums.rows.get(keys, nothing)) for stage_sums in sums]
        )
        row = answer["rows"].get(keys, {"causes": {}})
        wrong += _wrong_causes(f"{keys}", row["causes"], right, may_hide_event=may_hide_event)
    return wrong


def _stages(start_moment: Moment, end_moment: Moment, start_time: datetime) -> Any:
    """Yield the effects of one change step by step: the cause, and the lists after it."""
    old, new = start_moment.facts, end_moment.facts
    facts = replace(new, contacts={**old.contacts, **new.contacts})
    owner = {event.id: event.contact_id for event in new.events}
    touch_owner = {touch.id: touch.contact_id for touch in new.touchpoints}
    final_events = {event.id: event for event in new.events}
    touches_there = {touch.id: touch for touch in new.touchpoints}

    def moved(row: Any, owners: dict[int, int]) -> Any:
        contact = owners.get(row.id, end_moment.survivors.get(row.contact_id, row.contact_id))
        return replace(row, contact_id=contact)

    events = [moved(event, owner) for event in old.events]
    touches = [moved(touch, touch_owner) for touch in old.touchpoints]
    undone = isinstance(end_moment.step, Change) and end_moment.step.kind == "unmerge"
    yield "unmerges" if undone else "merges", replace(facts, events=events, touchpoints=touches)
    touches = [touch for touch in touches if touch.id in touches_there]
    yield "withdrawn_touches", replace(facts, events=events, touchpoints=touches)
    touches = new.touchpoints
    is_renaming = isinstance(end_moment.step, Change) and end_moment.step.kind == "source_name"
    cause = "classification" if is_renaming else "late_touches"
    yield cause, replace(facts, events=events, touchpoints=touches)
    old_ids = {event.id for event in old.events}
    takers = {
        end_moment.replacements[event.id] for event in old.events if event.id in end_moment.replacements
    }
    for name, condition in (
        ("new_events", lambda event: event.id not in takers and event.event_time >= start_time),
        ("late_events", lambda event: event.id not in takers and event.event_time < start_time),
        ("replacements", lambda event: event.id in takers),
    ):
        events = events + [e for e in new.events if e.id not in old_ids and condition(e)]
        if name == "replacements":
            events = [e for e in events if e.id in final_events or e.id not in end_moment.replacements]
        yield name, replace(facts, events=events, touchpoints=touches)
    edited_events = [final_events.get(event.id, event) for event in events]
    yield "edits", replace(facts, events=edited_events, touchpoints=touches)
    yield "deletions", new


def _may_hide_event(start_moment: Moment, end_moment: Moment) -> bool:
    """Return True if an event may have come and gone within one change, which the lists do not show."""
    return any(event_id not in start_moment.replacements for event_id in end_moment.replacements)


def _figures_by_cause(stages: list[Any], figures: list[Exact]) -> dict[str, Exact]:
    causes: dict[str, Exact] = {}
    for (cause, _), before, after in zip(stages, figures[:-1], figures[1:], strict=True):
        parts = _minus(after, before)
        if any(parts.values()):
            causes[cause] = parts
    return causes


def _wrong_causes(
    name: str, answer: dict[str, Exact], right: dict[str, Exact], *, may_hide_event: bool
) -> list[str]:
    if may_hide_event:
        answer, right = _join_births(answer), _join_births(right)
    return [f"{name} by cause: {answer} is not {right}"] if answer != right else []


def _join_births(causes: dict[str, Exact]) -> dict[str, Exact]:
    """Return the figures with new, late and replaced events as one cause."""
    figures_by_cause: dict[str, Exact] = {}
    for cause, parts in causes.items():
        figures = figures_by_cause.setdefault("births" if cause in BIRTHS else cause, {})
        for column, figure in parts.items():
            figures[column] = figures.get(column, Fraction(0)) + figure
    return {cause: parts for cause, parts in figures_by_cause.items() if any(parts.values())}


def not_the_sum(answer: dict[str, Any], parts: list[dict[str, Any]]) -> list[str]:
    """Return the causes of a difference that are not the sum of the same causes in its two parts."""
    wrong: list[str] = []
    for name in ("total", "overall", "unattributed"):
        if answer[name] is not None:
            part_causes = [_join_births(answer[name]["causes"]) for answer in parts]
            causes_sum = _summed(part_causes)
            if _join_births(answer[name]["causes"]) != causes_sum:
                wrong.append(f"{name}: {answer[name]['causes']} is not the sum of {part_causes}")
    for keys in {*answer["rows"], *(keys for answer in parts for keys in answer["rows"])}:
        part_causes = [_join_births(answer["rows"].get(keys, {"causes": {}})["causes"]) for answer in parts]
        row = answer["rows"].get(keys, {"causes": {}})["causes"]
        if _join_births(row) != _summed(part_causes):
            wrong.append(f"{keys}: {row} is not the sum of {part_causes}")
    return wrong


def _summed(amounts: list[dict[str, Exact]]) -> dict[str, Exact]:
    total: dict[str, Exact] = {}
    for causes in amounts:
        for cause, parts in causes.items():
            figures = total.setdefault(cause, {})
            for column, figure in parts.items():
                figures[column] = figures.get(column, Fraction(0)) + figure
    return {cause: parts for cause, parts in total.items() if any(parts.values())}
