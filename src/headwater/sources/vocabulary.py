"""The words that name sources, read from the data files beside this module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from headwater.sources.addresses import read_address
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS, channel_of
from headwater.sources.hosts import HostTable

_WORD = re.compile(r"[^\W_]+")
_BETWEEN_WORDS = re.compile(r"[\s_+-]+")


def read_lines(file: str) -> list[list[str]]:
    """The lines of a data file as their columns, without comments."""
    text = files("headwater.sources").joinpath(file).read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line.strip() and line[0] != "#"]


def read_pairs(file: str) -> list[tuple[str, str]]:
    """The lines of a data file of two columns."""
    return [(first, second) for first, second in read_lines(file)]


def fold(text: str) -> str:
    """A name without regard to case, and to blanks, hyphens and underscores between its words:
    `E-Mail`, `e mail` and `email` are one.
    """
    return _BETWEEN_WORDS.sub("", text.lower())


def words(text: str) -> list[str]:
    """The words of a text in lower case; `_` and signs part them."""
    return _WORD.findall(text.lower())


ALIASES: dict[str, str] = dict(read_pairs("aliases.txt"))
"""Alias to a listed source or to a platform."""

PLACEMENTS: dict[str, str] = {fold(value): name for value, name in read_pairs("placements.txt")}
"""Place of ads, folded, to its platform."""

REFERRERS = HostTable([*read_pairs("referrers_matomo.txt"), *read_pairs("referrers.txt")])
"""Hosts of referrers to a listed source or to a platform."""

_TARGETS = {fold(name): name for name in SOURCE_IDS} | {
    fold(alias): target for alias, target in ALIASES.items()
}
"""What names stand for, by their folded spelling."""

_LONGEST_NAME = max(map(len, _TARGETS))

_PAID_SOURCES = {
    # Meta sells the places in Messenger and Threads together with Facebook's.
    "messenger": "facebook_ads",
    "threads": "facebook_ads",
    # Microsoft's search ads are shown in Copilot.
    "ai_copilot": "bing_ads",
    "ai_chat_gpt": "chatgpt_ads",
}
"""The paid sources of platforms that are not called after them."""
_PLATFORMS = {"chatgpt_ads": "ai_chat_gpt"}

# --------------------------------------------------------------------------------- paid or not


@dataclass(frozen=True)
class _WordList:
    """Words of one kind in the list of paid words; those with a * by what is beside it."""

    whole: frozenset[str]
    beginnings: tuple[str, ...]
    ends: tuple[str, ...]
    parts: tuple[str, ...]

    def has(self, word: str) -> bool:
        return (
            word in self.whole
            or word.startswith(self.beginnings)
            or word.endswith(self.ends)
            or any(part in word for part in self.parts)
        )


def _list_words(kind: str) -> _WordList:
    words = [word for word, own in read_pairs("paid_words.txt") if own == kind]
    by_stars: dict[tuple[bool, bool], list[str]] = {}
    for word in words:
        by_stars.setdefault((word[0] == "*", word[-1] == "*"), []).append(word.strip("*"))
    whole, beginnings, ends, parts = (
        by_stars.get(stars, []) for stars in ((False, False), (False, True), (True, False), (True, True))
    )
    return _WordList(frozenset(whole), tuple(beginnings), tuple(ends), tuple(parts))


_PAID, _FORMAT, _NEVER = map(_list_words, ("paid", "format", "never"))
_MESSAGE = frozenset(
    {
        "email",
        "emails",
        "emailing",
        "emailings",
        "emailmarketing",
        "emailcampaign",
        "mail",
        "mails",
        "mailing",
        "mailings",
        "mailer",
        "mailshot",
        "newsletter",
        "newsletters",
        "enewsletter",
        "eblast",
        "edm",
        "courriel",
        "infolettre",
        "sms",
        "mms",
    }
)
_NOT = frozenset({"non", "not", "no", "un"})


@lru_cache(maxsize=4096)
def is_paid(text: str | None) -> bool:
    """True when a traffic type, network or medium is of paid traffic: `cpc`, `Paid Social`,
    `Instagram_Reels`, `fb-ads`.
    """
    if not text:
        return False
    parts = words(text)
    if any(_is_paid_word(parts, at) for at in range(len(parts))):
        return True
    folded = fold(text)
    if folded in PLACEMENTS:
        return True
    if message_of(text) is not None:
        return False
    return any(map(_FORMAT.has, parts)) or _is_paid_name(text, folded)


def _is_paid_word(parts: list[str], at: int) -> bool:
    """True for a word that says paid, where the one before it does not deny it."""
    word = parts[at]
    if not _PAID.has(word) or _NEVER.has(word):
        return False
    return not (at and parts[at - 1] in _NOT)


def _is_paid_name(text: str, folded: str) -> bool:
    """True for the name of a network's ads, and for a form of ads in one word: `videoads`."""
    target = target_of(text)
    if target is not None:
        return channel_of_target(target) == "paid"
    return folded in _FORMS_IN_ONE


_FORMS_IN_ONE = frozenset(
    f"{form}{ads}"
    for form in (
        "native",
        "display",
        "video",
        "social",
        "search",
        "banner",
        "mobile",
        "shopping",
        "text",
        "audio",
        "story",
        "stories",
        "image",
        "carousel",
        "collection",
        "newsletter",
        "podcast",
        "dynamic",
        "product",
        "retargeting",
        "remarketing",
        "discovery",
        "demandgen",
        "lead",
    )
    for ads in ("ad", "ads")
) | {"native"}


def channel_of_target(target: str) -> str | None:
    """The channel of an alias's target; None for a platform."""
    return channel_of(target) if target in SOURCE_IDS else None


def message_of(text: str) -> str | None:
    """`email` or `sms` when a medium says that a message brought the link: by its whole name, or by
    one of its words.
    """
    target = _TARGETS.get(fold(text))
    if target in ("email", "sms"):
        return target
    parts = words(text)
    if parts[:2] in (["direct", "mail"], ["postal", "mail"]):
        return None
    word = next((word for word in parts if word in _MESSAGE), None)
    if word is None and parts[:2] == ["e", "mail"]:
        word = "email"
    return None if word is None else "sms" if word in ("sms", "mms") else "email"


# ------------------------------------------------------------------------------------- names

_BETWEEN_NAMES = re.compile(r"[\s_+/|:-]+")
_OF_ADS = re.compile(
    r"ads?|adwords|adverts?|advertising|advertisements?|ppc|cp[a-z]|sponsored|promoted"
    r"|retargeting|remarketing|display|pmax"
)
_BESIDE_ADS = frozenset(
    {
        "social",
        "search",
        "shopping",
        "video",
        "network",
        "manager",
        "media",
        "campaign",
        "campaigns",
        "brand",
        "marketing",
        "paid",
    }
)
_IN_ONE = re.compile(r"([a-z0-9.]{2,}?)(ads?|advertising|ppc|cpc)")
_SHORT = frozenset(
    f"{name}{ads}" for name in ("fb", "ig", "yt", "tt") for ads in ("ad", "ads", "ppc", "cpc")
) | {"liads", "twads", "scads", "tgads", "anads"}
"""The names of ads in one word whose network's name has two letters: `scad` is a college."""


@lru_cache(maxsize=4096)
def target_of(text: str | None) -> str | None:
    """The listed source or the platform that a name stands for: a listed source, an alias, a place
    of ads, a network's name with a word for ads, or the host of a referrer.
    """
    if not text:
        return None
    name = text.strip().lower()
    target = ALIASES.get(name) or _TARGETS.get(fold(name))
    if target is not None:
        return target
    if (platform := PLACEMENTS.get(fold(name)) or _network_of_ads(name)) is not None:
        return of_platform(platform, paid=True)
    address = read_address(name) if "." in name else None
    match = REFERRERS.find(address) if address is not None else None
    return match[1] if match is not None else None


def _network_of_ads(name: str) -> str | None:
    """The platform in `google-cpc`, `Reddit Ads` or `ytads`: its name with words for ads behind
    it or before it.
    """
    parts = [part for part in _BETWEEN_NAMES.split(name) if part]
    if len(parts) == 1:
        match = _IN_ONE.fullmatch(name)
        is_named = match is not None and (len(match[1]) > 2 or match[0] in _SHORT)
        return _TARGETS.get(match[1]) if match is not None and is_named else None
    # No name has more words than the longest has letters.
    for at in range(min(len(parts) - 1, _LONGEST_NAME), 0, -1):
        target = _TARGETS.get("".join(parts[:at]))
        if target is not None and _are_of_ads(parts[at:]):
            return target
    return _TARGETS.get("".join(parts[1:])) if _are_of_ads(parts[:1]) else None


def _are_of_ads(parts: list[str]) -> bool:
    """True for words such as `search ads`: one says ads, and the others do not say more."""
    ads = [part for part in parts if _OF_ADS.fullmatch(part)]
    return bool(ads) and all(part in ads or part in _BESIDE_ADS for part in parts)


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
