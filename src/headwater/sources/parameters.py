"""Read URL parameters as browsers, platforms and people write them. Pure, in linear time."""

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

MARKS = frozenset({*CAMPAIGN, *clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL})
"""Parameters that mark a link from outside, unlike links between the site's own pages."""


_MARK = re.compile(rf"\?(?:{'|'.join(map(re.escape, sorted(MARKS)))})=", re.IGNORECASE)


def stated(value: str | None) -> str | None:
    """Return a value without parameters behind a second question mark; None for a placeholder:
    `spring?fbclid=IwAR1` is `spring`.
    """
    if value is None or is_placeholder(value):
        return None
    return stated(_MARK.split(value, 1)[0] or None) if "?" in value and _MARK.search(value) else value


def read_parameters(url: str, names: Collection[str], exact_names: Collection[str]) -> dict[str, str]:
    """Return parameters by lower-case name; the first non-empty value wins. Values in `exact_names` are only
    percent-decoded.
    """
    values: dict[str, str] = {}
    for name, raw in read_pairs(url):
        if name in names and name not in values:
            value = _decode(raw) if name in exact_names else _decode_text(raw)
            if value:
                values[name] = value
    return values


def read_pairs(url: str) -> Iterator[tuple[str, str]]:
    """Yield lower-case names and raw values. Parameters after `#` count unless an earlier one marks a link
    from outside.
    """
    address, hash_sign, fragment = url.partition("#")
    is_marked = False
    for name, raw in split_pairs(address.partition("?")[2]):
        is_marked = is_marked or name in MARKS
        yield name, raw
    if hash_sign and not is_marked:
        yield from split_pairs(fragment)


def split_pairs(query: str) -> Iterator[tuple[str, str]]:
    """Yield likewise from a query or a fragment."""
    # Hand-made links may have a second question mark instead of an ampersand.
    for pair in query.replace("?", "&").split("&"):
        name, equals, value = pair.partition("=")
        if not equals and "%3" in name:
            # The whole query was percent-encoded once too often.
            for inner in unquote(name).replace("?", "&").split("&"):
                name, _, value = inner.partition("=")
                yield _name(name), value
        elif pair:
            yield _name(name), value


def _name(text: str) -> str:
    # Links pasted through HTML twice keep the escape of their ampersands.
    name = unquote_plus(text) if "%" in text or "+" in text else text
    return name.strip().lower().removeprefix("amp;")


def _decode(raw: str) -> str:
    return _clean(raw, unquote(raw) if "%" in raw else raw)


def _decode_text(raw: str) -> str:
    """Decode a value, twice if it was percent-encoded twice."""
    value = _clean(raw, unquote_plus(raw))
    if "%" not in value:
        return value
    try:
        decoded_value = unquote(value, errors="strict")
    except UnicodeDecodeError:
        return value
    return _clean(value, decoded_value) if decoded_value.isprintable() else value


def _clean(raw: str, value: str) -> str:
    """Return "" for a placeholder, also in the raw value, because decoding changes `%%ADID%%`."""
    if "%%" in raw and is_placeholder(raw):
        return ""
    value = value.replace("\0", "").strip()
    return "" if is_placeholder(value) else value
