"""Convert days and times of spreadsheets and ad platforms to ISO 8601. Other text stays for validation to
refuse. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from headwater.http.inputs.instants import parse_iso

DATES = {"iso": "2026-12-31", "dmy": "31.12.2026 or 31/12/2026", "mdy": "12/31/2026, month first"}
LONGEST = 100
"""In characters."""


def _load_months() -> dict[str, int]:
    text = files("headwater.intake.imports.formats").joinpath("month_names.txt").read_text(encoding="utf-8")
    lines = [line.split(":") for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {name.strip(): int(number) for number, names in lines for name in names.split(",")}


_MONTHS = _load_months()
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,?\s++)?"
_CLOCK = (
    r"(?:(?:,?\s|T)\s*(?P<hour>\d{1,2})(?::|h)(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?"
    r"(?:\s?(?P<offset>Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?"
)
_NUMERIC = re.compile(
    rf"{_WEEKDAY}(?P<first>\d{{1,2}})(?P<sign>[./-])\s?(?P<second_part>\d{{1,2}})"
    rf"(?P=sign)\s?(?P<year>\d{{4}}|\d{{2}}){_CLOCK}"
)
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?:(?P<sign>[./-])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})"
    rf"|年(?P<eastern_month>\d{{1,2}})月(?P<eastern_day>\d{{1,2}})日){_CLOCK}"
)
_COMPACT = re.compile(r"((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er|º|°)?[\s/-]*(?:de\s+)?(?P<name>{_NAME})\.?,?"
    rf"[\s/-]*(?:del?\s+)?(?P<year>\d{{4}}|\d{{2}}){_CLOCK}",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<name>{_NAME})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?"
    rf"\s+(?P<year>\d{{4}}){_CLOCK}",
    re.IGNORECASE,
)
_NAMED_YEAR_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<year>\d{{4}})[\s/-](?P<name>{_NAME})\.?[\s/-](?P<day>\d{{1,2}}){_CLOCK}", re.IGNORECASE
)


def read_time(text: str, dates: str) -> str:
    """Return ISO 8601; `dates` is a key of DATES."""
    return _read(text, dates) if len(text) <= LONGEST else text


@lru_cache(4096)
def _read(text: str, dates: str) -> str:
    stripped_text = text.strip()
    if _is_iso(stripped_text):
        return text
    if compact := _COMPACT.fullmatch(stripped_text):
        return "-".join(compact.groups())
    return (
        _read_year_first(stripped_text)
        or _read_numeric(stripped_text, dates)
        or _read_named(stripped_text)
        or text
    )


def _read_year_first(text: str) -> str:
    match = _YEAR_FIRST.fullmatch(text)
    if match is None:
        return ""
    month, day = match["month"] or match["eastern_month"], match["day"] or match["eastern_day"]
    return _format(match, int(month), day)


def _read_numeric(text: str, dates: str) -> str:
    match = _NUMERIC.fullmatch(text)
    if match is None or dates == "iso":
        return ""
    if match["sign"] == "-" and len(match["year"]) == 2:
        return ""  # the first or the last part may be the year
    first, second = match["first"], match["second_part"]
    day, month = (first, second) if dates == "dmy" else (second, first)
    return _format(match, int(month), day)


def _read_named(text: str) -> str:
    match = _DAY_FIRST.fullmatch(text) or _MONTH_FIRST.fullmatch(text) or _NAMED_YEAR_FIRST.fullmatch(text)
    return "" if match is None else _format(match, _MONTHS[match["name"].lower()], match["day"])


def _is_iso(text: str) -> bool:
    try:
        parse_iso(text)
    except ValueError:
        return False
    return True


def _format(match: re.Match[str], month: int, day: str) -> str:
    year = match["year"] if len(match["year"]) == 4 else f"20{match['year']}"
    date = f"{year}-{month:02}-{int(day):02}"
    if match["hour"] is None:
        return date
    offset = {None: "", "UTC": "Z", "GMT": "Z"}.get(match["offset"], match["offset"])
    hour = _convert_hour(int(match["hour"]), match["half"])
    return f"{date}T{hour:02}:{match['minute']}:{match['second'] or '00'}{offset}"


def _convert_hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    return hour % 12 + (12 if half in "Pp" else 0)


@dataclass
class DatesSurvey:
    known: str | None = None
    """A key of DATES, once a cell has only one meaning."""
    unclear: str = ""
    """The first ambiguous cell, such as 05/06/2026."""

    def add(self, text: str) -> None:
        """Examine a cell."""
        if self.known is not None or not text or len(text) > LONGEST:
            return
        cell = text.strip()
        match = _NUMERIC.fullmatch(cell)
        if match is None:
            is_decided = _is_iso(cell) or _read(cell, "iso") != cell
            self.known = "iso" if is_decided and not self.unclear else None
            return
        first, second = int(match["first"]), int(match["second_part"])
        if match["sign"] == "." or first > 12:
            self.known = "dmy"
        elif second > 12:
            self.known = "mdy"
        elif first != second:
            self.unclear = self.unclear or cell

    def decide(self) -> str | None:
        """Return a key of DATES, or None if ambiguous."""
        return self.known or (None if self.unclear else "iso")
