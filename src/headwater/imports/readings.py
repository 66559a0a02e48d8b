"""Readings of an uploaded table: a first guess, and the checks of what was chosen. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid
from headwater.http.instants import parse_instant
from headwater.imports.files import FileRow
from headwater.imports.guesses import guess_columns
from headwater.imports.job_models import Reading
from headwater.imports.kinds import KINDS
from headwater.imports.notation import DATES, DECIMALS, guess_dates, guess_decimals
from headwater.imports.spend import by_field, guess_notation
from headwater.spaces.models import Space
from headwater.spaces.settings_input import zone_names
from headwater.spend.file_formats import recognize
from headwater.spend.inputs import FIELDS as SPEND_FIELDS

_WHOSE = {
    "events": ({"email", "tracking_id", "trk_token", "fingerprint"}, "whom each row is about"),
    "touchpoints": ({"email", "tracking_id", "trk_token", "fingerprint"}, "whom each row is about"),
    "contacts": ({"email", "emails"}, "who each contact is"),
}
"""By kind, the fields of which one has to be there, and what they say."""


def guess_reading(
    kind: str, columns: Sequence[str], rows: Sequence[FileRow], space: Space
) -> Reading:
    """The likeliest way to read a table, by its header and its first rows."""
    values = [row.values for row in rows]
    if kind == "spend":
        return _guess_spend(columns, values)
    guesses = guess_columns(kind, KINDS[kind].fields, columns, values)

    def texts(fields: Sequence[str]) -> list[str]:
        named = [column for column, name in guesses.items() if name in fields]
        return [text for row in values for column in named if (text := row.get(column, "").strip())]

    time = KINDS[kind].time
    constants = {}
    if kind == "events" and "event_name" not in guesses.values():
        constants = {"event_name": "purchase"}
    return Reading(
        {column: guesses.get(column, "") for column in columns},
        constants,
        space.timezone,
        guess_decimals(texts(KINDS[kind].numbers)),
        guess_dates(texts([time] if time else []), space.timezone),
    )


def _guess_spend(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Reading:
    """The reading of a table of spend, by the format that its header is known as."""
    known = recognize(columns)
    guesses = known.columns if known else guess_columns("spend", SPEND_FIELDS, columns, rows)
    by_name = [by_field(guesses, row) for row in rows]
    notation = guess_notation(by_name, month_first=known is not None and known.form.month_first)
    return Reading(
        {column: guesses.get(column, "") for column in columns},
        known.constants if known else {}, decimals=notation.decimals, dates=notation.dates,
    )  # fmt: skip


def read_choice(kind: str, reading: Reading) -> None:
    """Raise Invalid for what was chosen and cannot be used, naming the field of the page."""
    errors: Errors = {}
    _check_columns(kind, reading, errors)
    if kind == "spend":
        _check_spend(reading, errors)
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
    event = reading.constants.get("event_name")
    if kind == "events" and "event_name" not in chosen and event not in EVENT_NAMES:
        errors["event_name"] = ["Choose what each row is."]


_NEEDED = {
    "date": ("columns", "Choose the column with the day."),
    "amount": ("columns", "Choose the column with the amount that was spent."),
    "platform": ("platform", "Say whose ads these are: no column says so."),
    "currency": ("currency", "Say which currency amounts are in: no column says so."),
}
"""Of the fields that every row of spend needs: the field of the page, and what it says."""


def _check_spend(reading: Reading, errors: Errors) -> None:
    """Note what a file of spend lacks, and which of its constants break the rules of rows."""
    chosen = {name for name in reading.columns.values() if name}
    for name, (place, rule) in _NEEDED.items():
        if name not in chosen and not reading.constants.get(name):
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
        if cell and name in of_kind.numbers and not _is_number(notation.number(cell)):
            sentences.append(_unread(column, name, "number", DECIMALS[notation.decimals]))
        elif cell and name == of_kind.time and not _is_instant(notation.time(cell)):
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


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return True
