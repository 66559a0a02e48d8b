"""The words that name sources, read from the data files beside this module."""

from __future__ import annotations

import re
from importlib.resources import files

from headwater.sources.addresses import read_address
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS
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


_PAID_SOURCES = {
    # Meta sells the places in Messenger and Threads together with Facebook's.
    "messenger": "facebook_ads", "threads": "facebook_ads",
    # Microsoft's search ads are shown in Copilot.
    "ai_copilot": "bing_ads",
    "ai_chat_gpt": "chatgpt_ads",
}  # fmt: skip
"""The paid sources of platforms that are not called after them."""
_PLATFORMS = {"chatgpt_ads": "ai_chat_gpt"}


def platform_of(target: str) -> str:
    """The platform of an alias's target, which may be one of its sources."""
    return _PLATFORMS.get(target) or target.removesuffix("_ads").removesuffix("_organic")


def of_platform(target: str, *, paid: bool) -> str:
    """The source of an alias's target. Nothing paid is unpaid: whoever has no paid source has
    PAID_OTHER. A platform that has only a paid source has it in any case.
    """
    if not paid and target in SOURCE_IDS:
        return target
    platform = platform_of(target)
    ads = _PAID_SOURCES.get(platform, f"{platform}_ads")
    if paid:
        return ads if ads in SOURCE_IDS else PAID_OTHER
    organic = f"{platform}_organic"
    return organic if organic in SOURCE_IDS else ads
