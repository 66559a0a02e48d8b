"""Paid networks that a Space has besides the listed sources: what they are, and how a value on a
link is matched to one. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

FIRST_NUMBER, LAST_NUMBER = 64, 253
"""The numbers under which touches of such networks are stored, in every Space anew. They lie above
those of listed sources."""
NUMBERS = range(FIRST_NUMBER, LAST_NUMBER + 1)
LONGEST_NAME = 64
NAME = re.compile(rf"(?=.{{5,{LONGEST_NAME}}}$)[a-z0-9]+(?:_[a-z0-9]+)*_ads", re.ASCII)
"""Like every paid source, a network's name ends in `_ads`."""


class PaidNetwork(NamedTuple):
    """One network."""

    number: int
    name: str
    """Its source in reports, such as `taboola_ads`."""
    spellings: tuple[str, ...]
    """Values of utm_source and trk_source that mean it, besides its name."""
    platform: str
    """What the spend ledger calls it."""
    is_removed: bool = False
    """True when it is kept only for touches and former rows stored under its number."""


def letters_of(value: str) -> str:
    """Return the letters and digits of a spelling, which is all that is compared."""
    return "".join(letter for letter in value.casefold() if letter.isalnum())


class NetworkSpellings:
    """The spellings of some networks."""

    def __init__(self, networks: Iterable[PaidNetwork]) -> None:
        self._any: dict[str, str] = {}
        self._paid: dict[str, str] = {}
        for network in networks:
            for spelling in spellings_of(network.name, network.spellings):
                self._paid[spelling] = network.name
                self._any[f"{spelling}ads"] = network.name
            self._any[letters_of(network.name)] = network.name

    def find(self, value: str | None, *, is_paid: bool) -> str | None:
        """Return the network that a value on a link names. A spelling that ends in `ads` says by
        itself that somebody paid; others need a paid medium.
        """
        if not self._any or not value:
            return None
        letters = letters_of(value)
        return self._any.get(letters) or (self._paid.get(letters) if is_paid else None)


def spellings_of(name: str, spellings: Iterable[str]) -> tuple[str, ...]:
    """Return the letters of all that means a network, without `ads` at the end of its name."""
    stem = letters_of(name.removesuffix("_ads"))
    return tuple(dict.fromkeys([stem, *map(letters_of, spellings)]))
