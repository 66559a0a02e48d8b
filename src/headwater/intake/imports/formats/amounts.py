"""Parse numbers as spreadsheets and ad platforms write them: decimal commas, grouped thousands, trailing
signs, currency signs. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from msgspec import Struct

from headwater.spaces.currency_signs import find_currencies

DECIMALS = {"plain": "1234.50", "point": "1,234.50", "comma": "1.234,50"}
LONGEST = 100
"""In characters."""

_SPACE = " \u00a0\u2007\u2009\u202f"
_APOSTROPHE = "'’"  # noqa: RUF001 # Swiss exports use either
_PARTS = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+])?(?P<before>[^\d\s().,+-]{{1,4}}\.?)?[{_SPACE}]*+(?P<inner>[-+])?"
    rf"(?P<digits>(?:[\d.,][\d.,{_SPACE}{_APOSTROPHE}]*)?\d)[{_SPACE}]*+(?P<trailing>-)?[{_SPACE}]*+"
    r"(?P<after>[^\d\s().,+-]{1,4}\.?)?(?P<last>-)?(?P<close>\))?",
    re.ASCII,
)
_GAPS = rf"[1-9]\d{{0,2}}(?P<gap>[{_SPACE}{_APOSTROPHE}])\d{{3}}(?:(?P=gap)\d{{3}})*"
_COMMAS = r"[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}"
"""India groups by two digits, except the last three."""
_NUMBERS = {
    "plain": re.compile(rf"(?:{_GAPS}|\d*)(?:\.\d+)?", re.ASCII),
    "point": re.compile(rf"(?:{_GAPS}|{_COMMAS}|\d*)(?:\.\d+)?", re.ASCII),
    "comma": re.compile(rf"(?:{_GAPS}|[1-9]\d{{0,2}}(?:\.\d{{3}})+|\d*)(?:,\d+)?", re.ASCII),
}
_WITHOUT_GAPS = str.maketrans("", "", _SPACE + _APOSTROPHE)


_LONG = 5
_HAS_LONG = re.compile(rf"\d{{{_LONG}}}", re.ASCII).search
"""Digits that a file with grouping would group. Spain and Poland don't group four."""


class Amount(Struct, frozen=True):
    digits: str
    """Includes points, commas and spaces."""
    is_negative: bool = False
    currencies: frozenset[str] | None = None
    """Possible currencies; None without a currency sign."""


def parse_amount(text: str) -> Amount | None:
    return _parse(text) if len(text) <= LONGEST else None


@lru_cache(4096)
def _parse(text: str) -> Amount | None:
    match = _PARTS.fullmatch(text.strip().replace("\u2212", "-"))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    minus = [match[name] == "-" for name in ("sign", "inner", "trailing", "last")]
    signs = [match[name] for name in ("sign", "inner", "trailing", "last") if match[name]]
    sign_currencies = [find_currencies(mark) for mark in (match["before"], match["after"]) if mark]
    if len(signs) + bool(match["open"]) > 1 or not all(sign_currencies):
        return None
    currencies = sign_currencies[0].intersection(*sign_currencies[1:]) if sign_currencies else None
    return Amount(match["digits"], bool(match["open"]) or any(minus), currencies)


def read_number(text: str, decimals: str) -> str | None:
    """Return digits with a decimal point, or None."""
    parsed = parse_amount(text)
    if parsed is None or not _NUMBERS[decimals].fullmatch(parsed.digits):
        return None
    grouping = "." if decimals == "comma" else ","
    digits = parsed.digits.replace(grouping, "").translate(_WITHOUT_GAPS)
    return f"{'-' * parsed.is_negative}{digits.replace(',', '.')}"


@dataclass
class DecimalsSurvey:
    known: str | None = None
    """A key of DECIMALS, once a cell has only one meaning."""
    unclear: str = ""
    """The first ambiguous cell, such as 1.234."""
    _separators: set[str] = field(default_factory=set[str])
    """Of ambiguous cells."""
    _has_long_number: bool = False
    """Five digits or more, not grouped."""

    def add(self, cell: str, *, is_count: bool = False) -> None:
        """Examine a cell. A separator in a count groups digits."""
        if self.known is not None or not cell:
            return
        if cell.isdigit():  # the fast path: files have up to a million cells
            self._has_long_number = self._has_long_number or len(cell) >= _LONG
            return
        amount = parse_amount(cell)
        if amount is not None:
            self._add(amount.digits, cell, is_count=is_count)

    def _add(self, digits: str, cell: str, *, is_count: bool) -> None:
        separators = [letter for letter in digits if letter in ".,"]
        if not separators:
            self._has_long_number = self._has_long_number or _HAS_LONG(digits) is not None
            return
        last = separators[-1]
        leading, _, decimal_part = digits.rpartition(last)
        if len(set(separators)) > 1:
            self.known = "comma" if last == "," else "point"
        elif len(separators) > 1 or (len(decimal_part) == 3 and is_count):
            self.known = "point" if last == "," else "comma"
        elif len(decimal_part) != 3 or not re.fullmatch("[1-9][0-9]{0,2}", leading):
            self.known = "comma" if last == "," else "point"
        else:
            self.unclear = self.unclear or cell.strip()
            self._separators.add(last)

    def decide(self) -> str | None:
        """Return a key of DECIMALS, or None if ambiguous."""
        if self.known is not None:
            return self.known
        if not self._separators:
            return "plain"
        if len(self._separators) == 1 and self._has_long_number:
            return "comma" if "," in self._separators else "point"
        return None
