"""Headers of files of spend: whose export one is, and the field of each of its columns, whatever
the language. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from headwater.spaces.currency_signs import find_currencies
from headwater.spend.file_formats import BY_NAME, FIGURES, FORMATS, HIERARCHY, MONEY, PERIODS, FileFormat

_IN_CURRENCY = re.compile(r"(.+?) ?(?:[(\[] ?([^\d\s]{1,3}) ?[)\]]|[ ,_-] ?(?:in )?([A-Z]{3}))")
"""A column of money that names its currency: `Amount spent (EUR)`, `Cost [€]`, `Spend in EUR`."""

_MOST_COLUMNS = 1000
"""The columns of a header that are looked at: no platform's file has as many."""


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in text if letter.isalnum())


def _translations() -> dict[str, str]:
    """Return what columns are called in English, by what they are called elsewhere."""
    text = files("headwater.spend").joinpath("column_names.txt").read_text(encoding="utf-8")
    lines = [line.split(":") for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {_plain(name): _plain(english) for english, names in lines for name in names.split(",")}


_ENGLISH = _translations()


@dataclass(frozen=True)
class Recognition:
    """A file's header as a format reads it."""

    form: FileFormat
    columns: Mapping[str, str]
    """The field of each column that is one."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that are the same in every row."""
    last_day: str | None = None
    """The column with the last day of what a row is of."""


def recognize(header: Sequence[str], name: str | None = None) -> Recognition | None:
    """Return how a header is read, by the format of a name or by that which it is known as; None
    where it is none of them.
    """
    plain, currency = _plain_columns(header)
    for form in FORMATS if name is None else (BY_NAME[name],):
        needs = form.needs if name or not form.known_by else (*form.needs, form.known_by)
        if all(any(column in plain for column in choice) for choice in needs):
            constants = {"platform": form.platform} if form.platform else {}
            columns = _fields(form, plain)
            if currency and "currency" not in columns.values():
                constants["currency"] = currency
            return Recognition(form, columns, constants, _last_day(form, plain))
    return None


def _last_day(form: FileFormat, plain: Mapping[str, str]) -> str | None:
    """Return the column with the last day; none where the day has a column of its own."""
    if "day" in plain:
        return None
    return next((plain[name] for name in form.last_days if name in plain), None)


def period_column(header: Sequence[str]) -> str | None:
    """Return the column that says that the rows of a table of spend are of weeks, months or hours;
    None for a table with days, and for one that is not of spend.
    """
    plain, _ = _plain_columns(header)
    if not plain.keys() & {*MONEY} or plain.keys() & {"day", "date"}:
        return None
    return next((plain[name] for name in PERIODS if name in plain), None)


def as_mapped(header: Sequence[str], columns: Mapping[str, str]) -> Recognition | None:
    """Return how a header is read of which somebody has named the columns; None where it lacks
    one of them, or where none is named.
    """
    if not columns or not set(columns) <= set(header):
        return None
    return Recognition(BY_NAME["headwater"], columns)


def _plain_columns(header: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return columns by the letters and digits of their English names, and the currency that the
    first column of money names.
    """
    plain: dict[str, str] = {}
    currency = ""
    for column in header[:_MOST_COLUMNS]:
        match = _IN_CURRENCY.fullmatch(" ".join(unicodedata.normalize("NFKC", column).split()))
        name = _in_english(match[1]) if match else ""
        is_money = match is not None and name in MONEY
        if match is not None and is_money:
            codes = find_currencies(match[2] or match[3])
            currency = currency or (next(iter(codes)) if len(codes) == 1 else "")
        plain.setdefault(name if is_money else _in_english(column), column)
    return plain, currency


def _in_english(column: str) -> str:
    word = _plain(column)
    return _ENGLISH.get(word, word)


def _fields(form: FileFormat, plain: Mapping[str, str]) -> dict[str, str]:
    wanted = {**HIERARCHY, **FIGURES, **form.aliases}
    columns: dict[str, str] = {}
    for name, aliases in wanted.items():
        column = next((plain[alias] for alias in aliases if alias in plain), None)
        if column is not None and column not in columns:
            columns[column] = name
    if not any(name.startswith("campaign_") for name in columns.values()):
        # Of LinkedIn's without campaign groups, the campaigns are the coarsest there is.
        columns = {column: _COARSER.get(name, name) for column, name in columns.items()}
    return columns


_COARSER = {
    "adset_id": "campaign_id",
    "adset_name": "campaign_name",
    "ad_id": "adset_id",
    "ad_name": "adset_name",
}
