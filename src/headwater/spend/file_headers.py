"""Recognize spend files by their headers, and map columns to fields, in any language. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.resources import files

from msgspec import Struct, field

from headwater.spaces.currency_signs import find_currencies
from headwater.spend.file_formats import BY_NAME, FIGURES, FORMATS, HIERARCHY, MONEY, PERIODS, FileFormat

_IN_CURRENCY = re.compile(r"(.+?) ?(?:[(\[] ?([^\d\s]{1,3}) ?[)\]]|[ ,_-] ?(?:in )?([A-Z]{3}))")
"""A money column with its currency: `Amount spent (EUR)`, `Cost [€]`, `Spend in EUR`."""

_MAX_COLUMNS = 1000
"""Columns to check: no platform's file has as many."""


def _simplify(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in text if letter.isalnum())


def _translations() -> dict[str, str]:
    text = files("headwater.spend").joinpath("column_names.txt").read_text(encoding="utf-8")
    lines = [line.split(":") for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {_simplify(name): _simplify(english) for english, names in lines for name in names.split(",")}


_ENGLISH = _translations()


class Recognition(Struct, frozen=True):
    """A header as read by a format."""

    form: FileFormat
    columns: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    last_day: str | None = None
    """The column with the last day of a row's period."""


def recognize(header: Sequence[str], name: str | None = None) -> Recognition | None:
    """Return how to read a header: by the format of this name, or by the first matching format."""
    columns_by_name, currency = _plain_columns(header)
    for form in FORMATS if name is None else (BY_NAME[name],):
        needs = form.needs if name or not form.known_by else (*form.needs, form.known_by)
        if all(any(column in columns_by_name for column in choice) for choice in needs):
            constants = {"platform": form.platform} if form.platform else {}
            columns = _fields(form, columns_by_name)
            if currency and "currency" not in columns.values():
                constants["currency"] = currency
            return Recognition(form, columns, constants, _last_day(form, columns_by_name))
    return None


def _last_day(form: FileFormat, columns_by_name: Mapping[str, str]) -> str | None:
    """Return None if days have a column of their own."""
    if "day" in columns_by_name:
        return None
    return next((columns_by_name[name] for name in form.last_days if name in columns_by_name), None)


def period_column(header: Sequence[str]) -> str | None:
    """Return the column that shows periods other than days in a spend table, if any."""
    columns_by_name, _ = _plain_columns(header)
    if not columns_by_name.keys() & {*MONEY} or columns_by_name.keys() & {"day", "date"}:
        return None
    return next((columns_by_name[name] for name in PERIODS if name in columns_by_name), None)


def apply_mapping(header: Sequence[str], columns: Mapping[str, str]) -> Recognition | None:
    """Return how to read a header whose columns the user mapped; None if a column is missing or none is
    mapped.
    """
    if not columns or not set(columns) <= set(header):
        return None
    return Recognition(BY_NAME["headwater"], columns)


def _plain_columns(header: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return columns by the letters and digits of their English names, and the currency of the first money
    column.
    """
    columns_by_name: dict[str, str] = {}
    currency = ""
    for column in header[:_MAX_COLUMNS]:
        match = _IN_CURRENCY.fullmatch(" ".join(unicodedata.normalize("NFKC", column).split()))
        name = _in_english(match[1]) if match else ""
        is_money = match is not None and name in MONEY
        if match is not None and is_money:
            codes = find_currencies(match[2] or match[3])
            currency = currency or (next(iter(codes)) if len(codes) == 1 else "")
        columns_by_name.setdefault(name if is_money else _in_english(column), column)
    return columns_by_name, currency


def _in_english(column: str) -> str:
    word = _simplify(column)
    return _ENGLISH.get(word, word)


def _fields(form: FileFormat, columns_by_name: Mapping[str, str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for name, aliases in {**HIERARCHY, **FIGURES, **form.aliases}.items():
        column = next((columns_by_name[alias] for alias in aliases if alias in columns_by_name), None)
        if column is not None and column not in columns:
            columns[column] = name
    if not any(name.startswith("campaign_") for name in columns.values()):
        # LinkedIn files without campaign groups: campaigns are the coarsest level.
        columns = {column: _COARSER.get(name, name) for column, name in columns.items()}
    return columns


_COARSER = {
    "adset_id": "campaign_id",
    "adset_name": "campaign_name",
    "ad_id": "adset_id",
    "ad_name": "adset_name",
}
