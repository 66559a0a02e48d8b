"""Detect the settings to read a file. Anything unclear is an error that names the missing parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

from msgspec import Struct

from headwater.events.accepted import EVENT_NAMES_IN_WORDS
from headwater.http.errors import Errors, Invalid
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import assign_columns
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.formats.notation import NotationSurvey
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import Reading
from headwater.intake.imports.readings import guess_fields, read_choice, survey_reading
from headwater.intake.imports.spend import have_signs
from headwater.intake.imports.uploads import SAMPLE_ROWS
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space

_MAX_LISTED_COLUMNS = 30


class FileSample(Struct, frozen=True):
    kind: str
    space: Space
    header: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


def detect_reading(
    kind: str, source: RowSource, space: Space, choices: FileChoices, constants: Mapping[str, str]
) -> Reading:
    """Raise Invalid naming each missing parameter, or UnreadableError."""
    header = [column for column in source.columns() or [] if column]
    with closing(source.rows()) as rows:
        first_rows = [row.values for row in islice(rows, SAMPLE_ROWS)]
    sample = FileSample(kind, space, header, first_rows)
    reading = _assign_columns(sample, choices, constants)
    with closing(source.rows()) as rows:
        survey = survey_reading(kind, reading, (row.values for row in rows))
    decimals, dates = choices.decimals, choices.dates
    reading = replace(
        reading,
        decimals=decimals or survey.decimals.decide() or "",
        dates=dates or survey.dates.decide() or "",
    )
    _refuse_unclear(sample, reading, survey, choices)
    return reading


def _assign_columns(sample: FileSample, choices: FileChoices, constants: Mapping[str, str]) -> Reading:
    fields, constant_fields = guess_fields(sample.kind, sample.header, sample.rows)
    assigned = assign_columns(fields, choices.mapped)
    columns = {column: assigned.get(column, "") for column in sample.header}
    all_constants = {**constant_fields, **constants}
    if sample.kind != "spend":
        return Reading(columns, all_constants, choices.timezone or sample.space.timezone)
    zone = {} if choices.timezone is None else {"timezone": choices.timezone}
    return Reading(columns, {**all_constants, **zone})


def _refuse_unclear(
    sample: FileSample, reading: Reading, survey: NotationSurvey, choices: FileChoices
) -> None:
    errors: Errors = {}
    signs = have_signs(reading.columns, sample.rows)
    try:
        read_choice(sample.kind, reading, has_signs=signs)
    except Invalid as invalid:
        errors = dict(invalid.errors)
    errors |= _find_ambiguities(reading, survey)
    if "event_name" in errors:
        errors["event_name"] = [f"The event_name must be {EVENT_NAMES_IN_WORDS}: no column has it."]
    unknown = [column for column, _ in choices.mapped if column not in sample.header]
    if unknown:
        rule = f"The file has no column {unknown[0][:60]}."
        errors["columns"] = [rule, *errors.get("columns", [])]
    if "columns" in errors:
        errors["columns"] = [*errors["columns"], _explain_columns(sample.header)]
    for name in reading.constants:
        if name in reading.columns.values():
            errors[name] = [f"The {name} must be left out: a column of the file has it."]
    platform = reading.constants.get("platform")
    if platform and (rule := refuse_platform(platform, sample.space.sources)):
        errors.setdefault("platform", [f"The platform {rule}"])
    if errors:
        raise Invalid(errors)


def _find_ambiguities(reading: Reading, survey: NotationSurvey) -> Errors:
    errors: Errors = {}
    if not reading.decimals:
        ways = {way: DECIMALS[way] for way in ("point", "comma")}
        unclear = survey.decimals.unclear, survey.unclear_amounts
        errors["decimals"] = [_ask("decimals", ways, *unclear)]
    if not reading.dates:
        ways = {way: DATES[way] for way in ("dmy", "mdy")}
        errors["dates"] = [_ask("dates", ways, survey.dates.unclear, survey.unclear_times)]
    return errors


def _ask(name: str, ways: Mapping[str, str], cell: str, column: str) -> str:
    choices = " or ".join(f"{way} ({example})" for way, example in ways.items())
    return (
        f"The {name} must be {choices}: {cell} in the column {column[:60]} may be either, and no "
        "row of the file decides."
    )


def _explain_columns(header: Sequence[str]) -> str:
    names = ", ".join(column[:60] for column in header[:_MAX_LISTED_COLUMNS])
    ending = ", …" if len(header) > _MAX_LISTED_COLUMNS else ""
    return f"Name columns as COLUMN:FIELD; the file has {names}{ending}."
