"""Paid networks added by a Space, and how link values are matched to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

FIRST_NUMBER, LAST_NUMBER = 64, 253
NUMBERS = range(FIRST_NUMBER, LAST_NUMBER + 1)
MAX_NAME_LENGTH = 64
NAME = re.compile(rf"(?=.{{5,{MAX_NAME_LENGTH}}}$)[a-z0-9]+(?:_[a-z0-9]+)*_ads", re.ASCII)
"""Ends in `_ads`, like every paid source."""


class PaidNetwork(NamedTuple):
    number: int
    name: str
    spellings: tuple[str, ...]
    """Other values of utm_source and trk_source."""
    platform: str
    is_removed: bool = False
    """True if kept only for touches and former rows with its number."""


def fold_spelling(value: str) -> str:
    """Keep only letters and digits for comparison."""
    return "".join(letter for letter in value.casefold() if letter.isalnum())


class NetworkSpellings:
    def __init__(self, networks: Iterable[PaidNetwork]) -> None:
        self._names: dict[str, str] = {}
        self._names_if_paid: dict[str, str] = {}
        for network in networks:
            for spelling in list_spellings(network.name, network.spellings):
                self._names_if_paid[spelling] = network.name
                self._names[f"{spelling}ads"] = network.name
            self._names[fold_spelling(network.name)] = network.name

    def find(self, value: str | None, *, is_paid: bool) -> str | None:
        """Match spellings ending in `ads` always, others only with a paid medium."""
        if not self._names or not value:
            return None
        spelling = fold_spelling(value)
        return self._names.get(spelling) or (self._names_if_paid.get(spelling) if is_paid else None)


def list_spellings(name: str, spellings: Iterable[str]) -> tuple[str, ...]:
    """Fold the spellings, without `ads` at the end of the name."""
    stem = fold_spelling(name.removesuffix("_ads"))
    return tuple(dict.fromkeys([stem, *map(fold_spelling, spellings)]))
