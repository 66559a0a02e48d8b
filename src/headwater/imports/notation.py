"""Numbers and dates as people's spreadsheets write them, turned into the forms that the API takes.
Text in another form is left as it is, for the checks to refuse. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DECIMALS = {"plain": "1234.50", "point": "1,234.50", "comma": "1.234,50"}
"""The ways in which amounts are written, each with an example."""
DATES = {
    "iso": "2026-12-31",
    "dmy": "31.12.2026 or 31/12/2026",
    "mdy": "12/31/2026, month first",
}
"""The ways in which times are written, likewise."""

_SPACES = " \u00a0\u202f'’"  # noqa: RUF001 # the apostrophe of Switzerland
_SIGNS = "€$£¥"
_POINT = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}|\d+)(?:\.\d+)?", re.ASCII)
"""Lakhs and crores of India are parted by two digits, the last group has three everywhere."""
_COMMA = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?", re.ASCII)
_LONGEST = 100
_DATE = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})"
    r"(?:(?:, ?|[ T])(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])\.?[Mm]\.?)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Notation:
    """The way in which a file writes amounts and times."""

    decimals: str = "plain"
    """A key of DECIMALS."""
    dates: str = "iso"
    """A key of DATES."""

    def number(self, text: str) -> str:
        """An amount with a decimal point and nothing else in it."""
        if self.decimals == "plain" or len(text) > _LONGEST:
            return text
        bare = text.strip().strip(_SIGNS).translate(_WITHOUT_SPACES)
        comma = self.decimals == "comma"
        if not (_COMMA if comma else _POINT).fullmatch(bare):
            return text
        return bare.replace(".", "").replace(",", ".") if comma else bare.replace(",", "")

    def time(self, text: str) -> str:
        """A time in the form of ISO 8601."""
        if self.dates == "iso" or len(text) > _LONGEST:
            return text
        match = _DATE.fullmatch(text.strip())
        if match is None:
            return text
        first, _, second, year, hours, minutes, seconds, half = match.groups()
        day, month = (first, second) if self.dates == "dmy" else (second, first)
        century = year if len(year) == 4 else f"20{year}"
        date = f"{century}-{month:0>2}-{day:0>2}"
        if hours is None:
            return date
        return f"{date}T{_hour(int(hours), half):02}:{minutes}:{seconds or '00'}"


_WITHOUT_SPACES = str.maketrans("", "", _SPACES)


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    return hour % 12 + (12 if half in "Pp" else 0)


def guess_decimals(samples: Iterable[str]) -> str:
    """The way in which these amounts are written, by the ones that can only be meant one way."""
    grouped = False
    for sample in samples:
        bare = sample.strip().strip(_SIGNS).translate(_WITHOUT_SPACES)
        point, comma = bare.rfind("."), bare.rfind(",")
        is_part = len(bare) - comma != 4 or point >= 0 or bare.lstrip("+-").startswith("0,")
        if (comma > point and is_part) or bare.count(".") > 1:
            return "comma"
        grouped = grouped or (comma >= 0) or bare != sample.strip()
    return "point" if grouped else "plain"


def guess_dates(samples: Sequence[str], zone: str) -> str:
    """The way in which these times are written; where it can be both, as in the zone's country."""
    matches = [match for sample in samples if (match := _DATE.fullmatch(sample.strip()[:_LONGEST]))]
    if not matches:
        return "iso"
    if any(int(match[1]) > 12 for match in matches):
        return "dmy"
    if any(int(match[3]) > 12 for match in matches):
        return "mdy"
    american = matches[0][2] == "/" and zone.startswith(("America/", "US/"))
    return "mdy" if american else "dmy"


def is_ambiguous(samples: Sequence[str]) -> bool:
    """True when these times may be read with the day or with the month first."""
    has_any = any(_DATE.fullmatch(sample.strip()[:_LONGEST]) for sample in samples)
    return has_any and certain_order(samples) is None


def certain_order(samples: Iterable[str]) -> str | None:
    """The way in which dates are written, by the first that can only be meant one way; None where
    there is none.
    """
    for sample in samples:
        match = _DATE.fullmatch(sample.strip()[:_LONGEST])
        if match is not None and max(int(match[1]), int(match[3])) > 12:
            return "dmy" if int(match[1]) > 12 else "mdy"
    return None
