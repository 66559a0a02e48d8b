"""Words that name sources, from data files."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from msgspec import Struct

from headwater.sources.addresses import read_address
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS, find_channel
from headwater.sources.hosts import HostTable

_WORD = re.compile(r"[^\W_]+")
_BETWEEN_WORDS = re.compile(r"[\s_+-]+")


def read_lines(file: str) -> list[list[str]]:
    """Return columns of lines without comments."""
    text = files("headwater.sources").joinpath(file).read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line.strip() and line[0] != "#"]


def read_pairs(file: str) -> list[tuple[str, str]]:
    return [(first, second) for first, second in read_lines(file)]


def fold(text: str) -> str:
    """Remove case, blanks, hyphens and underscores: `E-Mail`, `e mail` and `email` are equal."""
    return _BETWEEN_WORDS.sub("", text.lower())


def words(text: str) -> list[str]:
    """Split at `_` and punctuation, in lower case."""
    return _WORD.findall(text.lower())


ALIASES: dict[str, str] = dict(read_pairs("aliases.txt"))

PLACEMENTS: dict[str, str] = {fold(value): name for value, name in read_pairs("placements.txt")}

REFERRERS = HostTable([*read_pairs("referrers_matomo.txt"), *read_pairs("referrers.txt")])

_TARGETS = {fold(name): name for name in SOURCE_IDS} | {
    fold(alias): target for alias, target in ALIASES.items()
}

_LONGEST_NAME = max(map(len, _TARGETS))

_PAID_SOURCES = {
    # Meta sells placements in Messenger and Threads together with Facebook's.
    "messenger": "facebook_ads",
    "threads": "facebook_ads",
    # Microsoft's search ads are shown in Copilot.
    "ai_copilot": "bing_ads",
    "ai_chat_gpt": "chatgpt_ads",
}
"""Paid sources whose names differ from their platforms'."""
_PLATFORMS = {"chatgpt_ads": "ai_chat_gpt"}


class _WordList(Struct, frozen=True):
    """Words of one kind in paid_words.txt; those with a * by its position."""

    whole_words: frozenset[str]
    beginnings: tuple[str, ...]
    ends: tuple[str, ...]
    parts: tuple[str, ...]

    def has(self, word: str) -> bool:
        return (
            word in self.whole_words
            or word.startswith(self.beginnings)
            or word.endswith(self.ends)
            or any(fragment in word for fragment in self.parts)
        )


def _list_words(kind: str) -> _WordList:
    words = [word for word, word_kind in read_pairs("paid_words.txt") if word_kind == kind]
    by_stars: dict[tuple[bool, bool], list[str]] = {}
    for word in words:
        by_stars.setdefault((word[0] == "*", word[-1] == "*"), []).append(word.strip("*"))
    complete, beginnings, ends, parts = (
        by_stars.get(stars, []) for stars in ((False, False), (False, True), (True, False), (True, True))
    )
    return _WordList(frozenset(complete), tuple(beginnings), tuple(ends), tuple(parts))


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
    """Recognize paid types, networks and media: `cpc`, `Paid Social`, `Instagram_Reels`, `fb-ads`."""
    if not text:
        return False
    parts = words(text)
    if any(_is_paid_word(parts, index) for index in range(len(parts))):
        return True
    folded = fold(text)
    if folded in PLACEMENTS:
        return True
    if find_message(text) is not None:
        return False
    return any(map(_FORMAT.has, parts)) or _is_paid_name(text, folded)


def _is_paid_word(parts: list[str], index: int) -> bool:
    """Check the word and that the one before doesn't negate it."""
    word = parts[index]
    if not _PAID.has(word) or _NEVER.has(word):
        return False
    return not (index and parts[index - 1] in _NOT)


def _is_paid_name(text: str, folded: str) -> bool:
    """Recognize a network's ads, or an ad format in one word: `videoads`."""
    target = find_target(text)
    if target is not None:
        return target in SOURCE_IDS and find_channel(target) == "paid"
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


def find_message(text: str) -> str | None:
    """Return `email` or `sms` by a medium's whole name or one word."""
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


_BETWEEN_NAMES = re.compile(r"[\s_+/|:-]+")
_AD_WORD = re.compile(
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
_SHORT_NAMES = frozenset(
    f"{name}{ads}" for name in ("fb", "ig", "yt", "tt") for ads in ("ad", "ads", "ppc", "cpc")
) | {"liads", "twads", "scads", "tgads", "anads"}
"""Ad names in one word whose network has a two-letter name: `scad` is a college."""


@lru_cache(maxsize=4096)
def find_target(text: str | None) -> str | None:
    """Return the listed source or platform of a name: a listed source, an alias, an ad placement, a network's
    name with a word for ads, or a referrer's host.
    """
    if not text:
        return None
    name = text.strip().lower()
    target = ALIASES.get(name) or _TARGETS.get(fold(name))
    if target is not None:
        return target
    if (platform := PLACEMENTS.get(fold(name)) or _find_ad_network(name)) is not None:
        return choose_source(platform, paid=True)
    address = read_address(name) if "." in name else None
    match = REFERRERS.find(address) if address is not None else None
    return match[1] if match is not None else None


def _find_ad_network(name: str) -> str | None:
    """Return the platform in `google-cpc`, `Reddit Ads` or `ytads`."""
    parts = [word for word in _BETWEEN_NAMES.split(name) if word]
    if len(parts) == 1:
        match = _IN_ONE.fullmatch(name)
        is_named = match is not None and (len(match[1]) > 2 or match[0] in _SHORT_NAMES)
        return _TARGETS.get(match[1]) if match is not None and is_named else None
    for index in range(min(len(parts) - 1, _LONGEST_NAME), 0, -1):
        target = _TARGETS.get("".join(parts[:index]))
        if target is not None and _are_ad_words(parts[index:]):
            return target
    return _TARGETS.get("".join(parts[1:])) if _are_ad_words(parts[:1]) else None


def _are_ad_words(parts: list[str]) -> bool:
    """Match words that only mean ads, such as `search ads`."""
    ads = [word for word in parts if _AD_WORD.fullmatch(word)]
    return bool(ads) and all(word in ads or word in _BESIDE_ADS for word in parts)


def strip_kind(target: str) -> str:
    """Return the platform of a target that may be one of its sources."""
    return _PLATFORMS.get(target) or target.removesuffix("_ads").removesuffix("_organic")


def choose_source(target: str, *, paid: bool) -> str:
    """Choose a source. Paid traffic without a paid source is PAID_OTHER; a platform with only a paid source
    always has that.
    """
    if not paid and target in SOURCE_IDS:
        return target
    platform = strip_kind(target)
    ads = _PAID_SOURCES.get(platform, f"{platform}_ads")
    if paid:
        return ads if ads in SOURCE_IDS else PAID_OTHER
    organic = f"{platform}_organic"
    return organic if organic in SOURCE_IDS else ads
