"""Readings of an uploaded table: a first guess, and the checks of what was chosen. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.instants import parse_instant
from headwater.intake.imports.file_readings import survey_columns
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.guesses import guess_columns
from headwater.intake.imports.formats.notation import NotationSurvey
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import Reading
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.spend import fields_of
from headwater.spaces.models import Space
from headwater.spaces.settings_input import zone_names
from headwater.spend.file_formats import GENERIC
from headwater.spend.file_headers import recognize
from headwater.spend.inputs import FIELDS as SPEND_FIELDS

_WHOSE = {
    "events": ({"email", "tracking_id", "trk_token", "fingerprint"}, "whom each row is about"),
    "touchpoints": ({"email", "tracking_id", "trk_token", "fingerprint"}, "whom each row is about"),
    "contacts": ({"email", "emails"}, "who each contact is"),
}
"""By kind, the fields of which one has to be there, and what they say."""


def guess_reading(kind: str, columns: Sequence[str], rows: Sequence[FileRow], space: Space) -> Reading:
    """Return the likeliest way to read a table, by its header and its first rows. Decimals and
    dates that can be meant in two ways are left empty, to be chosen.
    """
    values = [row.values for row in rows]
    fields, constants = guess_fields(kind, columns, values)
    if kind == "events" and "event_name" not in fields.values():
        constants = {"event_name": "purchase"}
    reading = Reading(
        {column: fields.get(column, "") for column in columns},
        constants,
        "UTC" if kind == "spend" else space.timezone,
    )
    survey = survey_reading(kind, reading, values)
    decimals, dates = survey.decimals.decide() or "", survey.dates.decide() or ""
    return replace(reading, decimals=decimals, dates=dates)


def survey_reading(kind: str, reading: Reading, rows: Iterable[Mapping[str, Any]]) -> NotationSurvey:
    """Return how the first rows of a table write numbers and dates."""
    columns = reading.columns_of(kind)
    survey = survey_columns(KINDS[kind], columns, list(reading.columns))
    make_test = KINDS[kind].total_test
    is_total = make_test(columns) if make_test else None
    survey.add(row for row in rows if is_total is None or not is_total(row))
    return survey


def guess_fields(
    kind: str, columns: Sequence[str], rows: Sequence[Mapping[str, str]]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the fields of columns, and the fields that are the same in every row, as far as they
    are known by the header.
    """
    if kind == "spend":
        known = recognize(columns) or recognize(columns, GENERIC.name)
        if known is not None:
            return fields_of(known), known.constants
        return guess_columns("spend", SPEND_FIELDS, columns, rows), {}
    return guess_columns(kind, KINDS[kind].fields, columns, rows), {}


def read_choice(kind: str, reading: Reading, *, has_signs: bool = False) -> None:
    """Raise Invalid for what was chosen and cannot be used, naming the field of the page or the
    parameter. With `has_signs` amounts name their currency themselves.
    """
    errors: Errors = {}
    _check_columns(kind, reading, errors)
    if kind == "spend":
        _check_spend(reading, errors, has_signs=has_signs)
    if reading.timezone not in zone_names():
        errors["timezone"] = ["Choose the time zone of the file."]
    if reading.decimals not in DECIMALS:
        errors["decimals"] = ["Choose how amounts are written."]
    if reading.dates not in DATES:
        errors["dates"] = ["Choose how dates are written."]
    if errors:
        raise Invalid(errors)


def _check_columns(kind: str, reading: Reading, errors: Errors) -> None:
    """Note what is wrong with the fields that were chosen for columns."""
    chosen = Counter(name for name in reading.columns.values() if name)
    for name, count in chosen.items():
        if name not in KINDS[kind].fields:
            errors.setdefault("columns", []).append(f"There is no field {name[:60]}.")
        elif count > 1:
            rule = f"Two columns are chosen as {name}: leave one of them out."
            errors.setdefault("columns", []).append(rule)
    needed, purpose = _WHOSE.get(kind, (set[str](), ""))
    if needed and needed.isdisjoint(chosen):
        rule = f"Choose the column with the e-mail address: it says {purpose}."
        errors.setdefault("columns", []).append(rule)
    if kind == "ads" and (missing := {"kind", "id", "name"} - chosen.keys()):
        rule = f"Choose the columns with the {', '.join(sorted(missing))} of ads."
        errors.setdefault("columns", []).append(rule)
    if kind == "touchpoints" and "occurred_at" not in chosen:
        errors.setdefault("columns", []).append("Choose the column with the time of the visit.")
    event = reading.constants.get("event_name")
    if kind == "events" and "event_name" not in chosen and event not in EVENT_NAMES:
        errors["event_name"] = ["Choose what each row is."]


_NEEDED = {
    "date": ("columns", "Choose the column with the day."),
    "amount": ("columns", "Choose the column with the amount that was spent."),
    "platform": ("platform", "No column says whose ads these are: name the platform."),
    "currency": ("currency", "No column says which currency the amounts are in: name the currency."),
}
"""Of the fields that every row of spend needs: the field of the page, and what it says."""


def _check_spend(reading: Reading, errors: Errors, *, has_signs: bool) -> None:
    """Note what a file of spend lacks, and which of its constants break the rules of rows."""
    chosen = {name for name in reading.columns.values() if name}
    for name, (place, rule) in _NEEDED.items():
        is_known = name in chosen or reading.constants.get(name) or (has_signs and name == "currency")
        if not is_known:
            errors.setdefault(place, []).append(rule)
    for name, value in reading.constants.items():
        try:
            SPEND_FIELDS[name].kind.read(value)
        except ValueError as error:
            errors.setdefault(name, []).append(f"It {error}")


def explain_refusal(kind: str, reading: Reading, cells: Mapping[str, Any], errors: Errors) -> str:
    """The rules that a row breaks, in sentences. An amount or a time that is not written as it was
    chosen is named by its column, with what to do.
    """
    columns = {name: column for column, name in reading.columns.items()}
    notation, of_kind = reading.notation, KINDS[kind]
    sentences: list[str] = []
    for name, rules in errors.items():
        column = columns.get(name, "")
        cell = str(cells.get(column, "")).strip()
        if cell and name in of_kind.numbers and notation.number(cell) is None:
            sentences.append(_unread(column, name, "number", DECIMALS[notation.decimals]))
        elif cell and name in of_kind.times and not _is_instant(notation.time(cell)):
            sentences.append(_unread(column, name, "date", DATES[notation.dates]))
        else:
            sentences += rules
    return " ".join(sentences)


def _unread(column: str, name: str, noun: str, example: str) -> str:
    choice = "amounts" if noun == "number" else "dates"
    return (
        f"“{column[:60]}” is read as {name}, and is no {noun} like {example}: change how {choice}"
        " are read, or mend the cell."
    )


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return True
