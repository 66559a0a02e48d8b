"""The parameters of URLs as browsers, platforms and people write them. Pure and total, in time
linear to the URL's length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from urllib.parse import unquote, unquote_plus

from headwater.sources import clicks
from headwater.sources.placeholders import is_placeholder

CAMPAIGN = (
    "utm_source",
    "utm_campaign",
    "utm_medium",
    "utm_id",
    "utm_content",
    "utm_term",
    "trk_source",
    "trk_network",
    "trk_campaign",
    "trk_ad_group",
    "trk_ad_id",
    "trk_keyword",
    "trk_type",
)
"""Parameters that only a link made for a campaign carries."""

MARKS = frozenset({*CAMPAIGN, *clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL})
"""Parameters that mark a link from outside, unlike a link between the site's own pages."""


_MARK = re.compile(rf"\?(?:{'|'.join(map(re.escape, sorted(MARKS)))})=", re.IGNORECASE)


def stated(value: str | None) -> str | None:
    """Return a value that a sender took from a link; None for a placeholder. Parameters behind a
    second question mark belong to the link: `spring?fbclid=IwAR1` is `spring`.
    """
    if value is None or is_placeholder(value):
        return None
    return stated(_MARK.split(value, 1)[0] or None) if "?" in value and _MARK.search(value) else value


def read_parameters(url: str, wanted: Collection[str], exact: Collection[str]) -> dict[str, str]:
    """The `wanted` parameters of a URL, by lower-case name: of each the first that has a value.
    Values in `exact` are kept as they are but for percent-encoding.
    """
    values: dict[str, str] = {}
    for name, raw in read_pairs(url):
        if name in wanted and name not in values:
            value = _unquoted(raw) if name in exact else _plain(raw)
            if value:
                values[name] = value
    return values


def read_pairs(url: str) -> Iterator[tuple[str, str]]:
    """The parameters of a URL: names in lower case, and values as they stand there. What is behind
    `#` counts where nothing before it marks a link from outside.
    """
    address, hash_sign, fragment = url.partition("#")
    is_marked = False
    for name, raw in split_pairs(address.partition("?")[2]):
        is_marked = is_marked or name in MARKS
        yield name, raw
    if hash_sign and not is_marked:
        yield from split_pairs(fragment)


def split_pairs(query: str) -> Iterator[tuple[str, str]]:
    """The parameters in a query or a fragment, likewise."""
    # Links are put together by hand, with a second question mark in place of an ampersand.
    for piece in query.replace("?", "&").split("&"):
        name, equals, value = piece.partition("=")
        if not equals and "%3" in name:
            # The whole query was percent-encoded once too often.
            for inner in unquote(name).replace("?", "&").split("&"):
                name, _, value = inner.partition("=")
                yield _name(name), value
        elif piece:
            yield _name(name), value


def _name(text: str) -> str:
    # Links pasted through HTML twice keep the escape of their ampersands.
    name = unquote_plus(text) if "%" in text or "+" in text else text
    return name.strip().lower().removeprefix("amp;")


def _unquoted(raw: str) -> str:
    """The value of a click id."""
    return _stored(raw, unquote(raw) if "%" in raw else raw)


def _plain(raw: str) -> str:
    """A value that people write: those that were percent-encoded twice are decoded twice."""
    value = _stored(raw, unquote_plus(raw))
    if "%" not in value:
        return value
    try:
        again = unquote(value, errors="strict")
    except UnicodeDecodeError:
        return value
    return _stored(value, again) if again.isprintable() else value


def _stored(raw: str, value: str) -> str:
    """A value that can be stored; "" for a placeholder. Decoding makes another of `%%ADID%%`."""
    if "%%" in raw and is_placeholder(raw):
        return ""
    value = value.replace("\0", "").strip()
    return "" if is_placeholder(value) else value
