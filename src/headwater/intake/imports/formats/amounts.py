"""Numbers as spreadsheets and ad platforms write them: with decimal commas, grouped thousands,
signs on either side and the currency next to them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.spaces.currency_signs import find_currencies

DECIMALS = {"plain": "1234.50", "point": "1,234.50", "comma": "1.234,50"}
"""The ways to write amounts, each with an example."""
LONGEST = 100
"""Characters of a cell that may be a number or a time."""

_SPACE = " \u00a0\u2007\u2009\u202f"
_APOSTROPHE = "'’"  # noqa: RUF001 # Swiss exports have either
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
"""Digits that would be in groups if the file grouped them. Spain and Poland do not group four."""


@dataclass(frozen=True)
class Amount:
    """A number in a cell, as it is written."""

    digits: str
    """Digits with points, commas and spaces."""
    is_negative: bool = False
    currencies: frozenset[str] | None = None
    """The currencies that the cell may be in; None where it names none."""


def parse_amount(text: str) -> Amount | None:
    """Return the number in a cell; None for a cell that is no number."""
    return _parse(text) if len(text) <= LONGEST else None


@lru_cache(4096)
def _parse(text: str) -> Amount | None:
    match = _PARTS.fullmatch(text.strip().replace("\u2212", "-"))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    minus = [match[name] == "-" for name in ("sign", "inner", "trailing", "last")]
    signs = [match[name] for name in ("sign", "inner", "trailing", "last") if match[name]]
    named = [find_currencies(mark) for mark in (match["before"], match["after"]) if mark]
    if len(signs) + bool(match["open"]) > 1 or not all(named):
        return None
    currencies = named[0].intersection(*named[1:]) if named else None
    return Amount(match["digits"], bool(match["open"]) or any(minus), currencies)


def read_number(text: str, decimals: str) -> str | None:
    """Return the number in a cell with a decimal point and nothing else in it; None for a cell that
    is no number in this way to write them.
    """
    amount = parse_amount(text)
    if amount is None or not _NUMBERS[decimals].fullmatch(amount.digits):
        return None
    grouping = "." if decimals == "comma" else ","
    digits = amount.digits.replace(grouping, "").translate(_WITHOUT_GAPS)
    return f"{'-' * amount.is_negative}{digits.replace(',', '.')}"


@dataclass
class DecimalsSurvey:
    """The way to write numbers, gathered from the cells of a file."""

    known: str | None = None
    """A key of DECIMALS, as soon as a cell can be meant in one way only."""
    unclear: str = ""
    """The first cell that can be meant in two ways, such as 1.234."""
    _separators: set[str] = field(default_factory=set[str])
    """The separators of the cells that can be meant in two ways."""
    _has_long_number: bool = False
    """True when there is a number of five digits or more that are not grouped."""

    def add(self, cells: Iterable[str], *, are_counts: bool = False) -> None:
        """Take cells. Counts have no decimals, so that their separators group digits."""
        for cell in cells:
            if self.known is not None or not cell:
                continue
            if cell.isdigit():  # quickly, as there may be a million
                self._has_long_number = self._has_long_number or len(cell) >= _LONG
                continue
            amount = parse_amount(cell)
            if amount is not None:
                self._add(amount.digits, cell, are_counts=are_counts)

    def _add(self, digits: str, cell: str, *, are_counts: bool) -> None:
        separators = [letter for letter in digits if letter in ".,"]
        if not separators:
            self._has_long_number = self._has_long_number or _HAS_LONG(digits) is not None
            return
        last = separators[-1]
        whole, _, part = digits.rpartition(last)
        if len(set(separators)) > 1:
            self.known = "comma" if last == "," else "point"
        elif len(separators) > 1 or (len(part) == 3 and are_counts):
            self.known = "point" if last == "," else "comma"
        elif len(part) != 3 or not re.fullmatch("[1-9][0-9]{0,2}", whole):
            self.known = "comma" if last == "," else "point"
        else:
            self.unclear = self.unclear or cell.strip()
            self._separators.add(last)

    def decide(self) -> str | None:
        """Return a key of DECIMALS; None when the cells can be meant in two ways."""
        if self.known is not None:
            return self.known
        if not self._separators:
            return "plain"
        if len(self._separators) == 1 and self._has_long_number:
            return "comma" if "," in self._separators else "point"
        return None
