"""The reading of a file that is imported without a check by a person: detected from its header and
its rows, or given by its sender. The sender is asked for everything else. It only reads the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from headwater.events.accepted import EVENT_NAMES_IN_WORDS
from headwater.http.errors import Errors, Invalid
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.formats.notation import NotationSurvey
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import Reading
from headwater.intake.imports.readings import guess_fields, read_choice, survey_reading
from headwater.intake.imports.spend import have_signs
from headwater.intake.imports.uploads import SAMPLE_ROWS
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.models import Space

_NAMED = 30
"""The columns that a refusal lists."""


@dataclass(frozen=True)
class FileSample:
    """The header and the first rows of a file, and its Space."""

    kind: str
    space: Space
    header: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


def detect_reading(
    kind: str, source: RowSource, space: Space, choices: FileChoices, constants: Mapping[str, str]
) -> Reading:
    """Return how a file is read. Raises Invalid, which names each parameter that has to be given,
    and UnreadableError.
    """
    header = [column for column in source.columns() or [] if column]
    with closing(source.rows()) as rows:
        first_rows = [row.values for row in islice(rows, SAMPLE_ROWS)]
    sample = FileSample(kind, space, header, first_rows)
    reading = _name_columns(sample, choices, constants)
    with closing(source.rows()) as rows:
        survey = survey_reading(kind, reading, (row.values for row in rows))
    decimals, dates = choices.decimals, choices.dates
    reading = replace(
        reading,
        decimals=decimals or survey.decimals.decide() or "",
        dates=dates or survey.dates.decide() or "",
    )
    _refuse_open(sample, reading, survey, choices)
    return reading


def _name_columns(sample: FileSample, choices: FileChoices, constants: Mapping[str, str]) -> Reading:
    """Return the reading as far as the header and the sender determine it."""
    fields, known = guess_fields(sample.kind, sample.header, sample.rows)
    own = dict(choices.mapped)
    taken = set(own.values())
    named = {
        column: own.get(column, "" if fields.get(column) in taken else fields.get(column, ""))
        for column in sample.header
    }
    fixed = {**known, **constants}
    if sample.kind != "spend":
        return Reading(named, fixed, choices.timezone or sample.space.timezone)
    zone = {} if choices.timezone is None else {"timezone": choices.timezone}
    return Reading(named, {**fixed, **zone})


def _refuse_open(sample: FileSample, reading: Reading, survey: NotationSurvey, choices: FileChoices) -> None:
    """Raise Invalid for everything that is open about a file, or was given and is impossible."""
    errors: Errors = {}
    signs = have_signs(reading.columns, sample.rows)
    try:
        read_choice(sample.kind, reading, has_signs=signs)
    except Invalid as invalid:
        errors = dict(invalid.errors)
    errors |= _open_notation(reading, survey)
    if "event_name" in errors:
        errors["event_name"] = [f"The event_name must be {EVENT_NAMES_IN_WORDS}: no column is one."]
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


def _open_notation(reading: Reading, survey: NotationSurvey) -> Errors:
    """Return the questions about numbers and dates with two meanings."""
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
    """Return how columns are given, and the columns of the file."""
    named = ", ".join(column[:60] for column in header[:_NAMED])
    more = ", …" if len(header) > _NAMED else ""
    return f"Name columns as columns[]=COLUMN:FIELD; the file has {named}{more}."
