"""Guess the reading of a table, and validate the user's choices. Pure."""

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
from headwater.intake.imports.orders.layouts import REQUIRED, map_columns, recognize_layout
from headwater.intake.imports.spend import map_fields
from headwater.spaces.models import Space
from headwater.spaces.settings_input import zone_names
from headwater.spend.file_formats import GENERIC
from headwater.spend.file_headers import recognize
from headwater.spend.inputs import FIELDS as SPEND_FIELDS

_IDENTIFIERS = {
    "events": {"email", "tracking_id", "trk_token", "fingerprint"},
    "touchpoints": {"email", "tracking_id", "trk_token", "fingerprint"},
    "orders": {"email", "phone"},
    "contacts": {"email", "emails"},
}
"""By kind, the fields that identify the person of a row; one is required."""


def guess_reading(kind: str, columns: Sequence[str], rows: Sequence[FileRow], space: Space) -> Reading:
    """Guess the reading from the header and first rows. Ambiguous decimals and dates stay empty."""
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
    columns = reading.build_columns(kind)
    survey = survey_columns(KINDS[kind], columns, list(reading.columns))
    make_test = KINDS[kind].total_test
    is_total = make_test(columns) if make_test else None
    survey.add(row for row in rows if is_total is None or not is_total(row))
    return survey


def guess_fields(
    kind: str, columns: Sequence[str], rows: Sequence[Mapping[str, str]]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return recognized fields of columns, and constants. Raises UnreadableError for a refused export."""
    if kind == "spend":
        recognition = recognize(columns) or recognize(columns, GENERIC.name)
        if recognition is not None:
            return map_fields(recognition), recognition.constants
        return guess_columns("spend", SPEND_FIELDS, columns, rows), {}
    if kind == "orders":
        return map_columns(columns, recognize_layout(columns)), {}
    return guess_columns(kind, KINDS[kind].fields, columns, rows), {}


def read_choice(kind: str, reading: Reading, *, has_signs: bool = False) -> None:
    """Validate choices. With `has_signs`, amounts carry their currency. Raises Invalid by form field or
    parameter.
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
    field_counts = Counter(name for name in reading.columns.values() if name)
    for name, count in field_counts.items():
        if name not in KINDS[kind].fields:
            errors.setdefault("columns", []).append(f"There is no field {name[:60]}.")
        elif count > 1:
            rule = f"Two columns are chosen as {name}: leave one of them out."
            errors.setdefault("columns", []).append(rule)
    identifiers = _IDENTIFIERS.get(kind)
    if identifiers and identifiers.isdisjoint(field_counts):
        rule = "Choose the column with the email address. It identifies the contact of a row."
        errors.setdefault("columns", []).append(rule)
    if kind == "ads" and (missing_fields := {"kind", "id", "name"} - field_counts.keys()):
        rule = f"Choose the columns with the {', '.join(sorted(missing_fields))} of ads."
        errors.setdefault("columns", []).append(rule)
    if kind == "orders" and (missing_fields := [name for name in REQUIRED if name not in field_counts]):
        rule = f"Choose the columns with the {', the '.join(missing_fields)} of the orders."
        errors.setdefault("columns", []).append(rule)
    if kind == "touchpoints" and "occurred_at" not in field_counts:
        errors.setdefault("columns", []).append("Choose the column with the time of the visit.")
    event = reading.constants.get("event_name")
    if kind == "events" and "event_name" not in field_counts and event not in EVENT_NAMES:
        errors["event_name"] = ["Choose the event of the rows."]


_NEEDED_FIELDS = {
    "date": ("columns", "Choose the column with the day."),
    "amount": ("columns", "Choose the column with the amount that was spent."),
    "platform": ("platform", "No column has the platform: choose it."),
    "currency": ("currency", "No column has the currency: choose it."),
}
"""By required field: the form field and the message."""


def _check_spend(reading: Reading, errors: Errors, *, has_signs: bool) -> None:
    fields = {name for name in reading.columns.values() if name}
    for name, (field, rule) in _NEEDED_FIELDS.items():
        is_known = name in fields or reading.constants.get(name) or (has_signs and name == "currency")
        if not is_known:
            errors.setdefault(field, []).append(rule)
    for name, value in reading.constants.items():
        try:
            SPEND_FIELDS[name].kind.read(value)
        except ValueError as error:
            errors.setdefault(name, []).append(f"It {error}")


def explain_refusal(kind: str, reading: Reading, cells: Mapping[str, Any], errors: Errors) -> str:
    """Explain a refusal. For numbers and dates in another style, name the column and advise."""
    columns = {name: column for column, name in reading.columns.items()}
    notation, import_kind = reading.notation, KINDS[kind]
    sentences: list[str] = []
    for name, rules in errors.items():
        column = columns.get(name, "")
        cell = str(cells.get(column, "")).strip()
        if cell and name in import_kind.numbers and notation.number(cell) is None:
            sentences.append(_explain_style(column, name, "number", DECIMALS[notation.decimals]))
        elif cell and name in import_kind.times and not _is_instant(notation.time(cell)):
            sentences.append(_explain_style(column, name, "date", DATES[notation.dates]))
        else:
            sentences += rules
    return " ".join(sentences)


def _explain_style(column: str, name: str, noun: str, example: str) -> str:
    choice = "amounts" if noun == "number" else "dates"
    return (
        f"“{column[:60]}” is read as {name}, but is not a {noun} like {example}. Change how {choice}"
        " are read, or fix the cell."
    )


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return True
