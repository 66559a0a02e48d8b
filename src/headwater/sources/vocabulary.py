"""The words that name sources, read from the data files beside this module."""

from __future__ import annotations

import re
from importlib.resources import files

from headwater.sources.addresses import read_address
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.hosts import HostTable

_WORD = re.compile(r"[^\W_]+")


def read_lines(file: str) -> list[list[str]]:
    """The lines of a data file as their columns, without comments."""
    text = files("headwater.sources").joinpath(file).read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line.strip() and line[0] != "#"]


def read_pairs(file: str) -> list[tuple[str, str]]:
    """The lines of a data file of two columns."""
    return [(first, second) for first, second in read_lines(file)]


ALIASES: dict[str, str] = dict(read_pairs("aliases.txt"))
"""Alias to a listed source or to a platform."""

REFERRERS = HostTable([*read_pairs("referrers_matomo.txt"), *read_pairs("referrers.txt")])
"""Hosts of referrers to a listed source or to a platform."""

_PAID = frozenset(word for (word,) in read_lines("paid_words.txt"))
_PAID_PREFIXES = tuple(word[:-1] for word in _PAID if word.endswith("*"))


def words(text: str) -> list[str]:
    """The words of a text in lower case; `_` and signs part them."""
    return _WORD.findall(text.lower())


def is_paid(text: str | None) -> bool:
    """True when a traffic type, network or medium is of paid traffic: `cpc`, `Paid Social`."""
    if text is None:
        return False
    return any(word in _PAID or word.startswith(_PAID_PREFIXES) for word in words(text))


def target_of(text: str | None) -> str | None:
    """The listed source or the platform that a name stands for: a listed source, an alias, or the
    host of a referrer.
    """
    if not text:
        return None
    name = text.strip().lower()
    if name in ALIASES:
        return ALIASES[name]
    spelled = name.replace(" ", "_")
    if spelled in SOURCE_IDS:
        return spelled
    if spelled in ALIASES:
        return ALIASES[spelled]
    address = read_address(name) if "." in name else None
    match = REFERRERS.find(address) if address is not None else None
    return match[1] if match is not None else None


def of_platform(target: str, *, paid: bool) -> str:
    """The listed source of an alias's target. A platform listed as paid or organic only has just
    that one.
    """
    if target in SOURCE_IDS:
        return target
    wanted, other = ("_ads", "_organic") if paid else ("_organic", "_ads")
    return target + wanted if target + wanted in SOURCE_IDS else target + other
