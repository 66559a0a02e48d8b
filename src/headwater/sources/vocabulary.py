"""The words that sources are told by, read from data files: aliases.txt and paid_words.txt."""

from __future__ import annotations

import re
from importlib.resources import files

from headwater.sources.catalogue import SOURCE_IDS

_WORD = re.compile(r"[^\W_]+")


def _lines(file: str) -> list[str]:
    text = files("headwater.sources").joinpath(file).read_text(encoding="utf-8")
    return [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]


ALIASES: dict[str, str] = dict(line.split() for line in _lines("aliases.txt"))
"""Alias to a listed source or to a platform."""

_PAID = frozenset(_lines("paid_words.txt"))
_PAID_PREFIXES = tuple(word[:-1] for word in _PAID if word.endswith("*"))


def says_paid(text: str | None) -> bool:
    """Whether a traffic type, network or medium names paid traffic, like `cpc` or `Paid Social`."""
    if text is None:
        return False
    return any(
        word in _PAID or word.startswith(_PAID_PREFIXES) for word in _WORD.findall(text.lower())
    )


def of_platform(target: str, *, paid: bool) -> str:
    """The listed source of an alias's target. A platform listed as paid or organic only has just
    that one.
    """
    if target in SOURCE_IDS:
        return target
    wanted, other = ("_ads", "_organic") if paid else ("_organic", "_ads")
    return target + wanted if target + wanted in SOURCE_IDS else target + other
