"""Find the key of a name that a user types into a filter."""

from __future__ import annotations

from headwater.http.inputs.suggestions import Names
from headwater.reports.query import Group
from headwater.sources.ad_platforms import LISTED_PLATFORMS, platform_title
from headwater.sources.catalogue import CHANNELS, SOURCES
from headwater.sources.titles import format_title

_TITLES: dict[str, dict[str, str]] = {
    Group.PLATFORM: {key: platform_title(key) for key in LISTED_PLATFORMS},
    Group.SOURCE: {key: format_title(key) for key in SOURCES},
    Group.CHANNEL: {key: format_title(key) for key in CHANNELS},
}
_KEYS = {group: {title.lower(): key for key, title in titles.items()} for group, titles in _TITLES.items()}
_SIMILAR = {group: Names([*titles, *titles.values()]) for group, titles in _TITLES.items()}
NAMES = tuple(sorted({title for titles in _TITLES.values() for title in titles.values()}))
"""Names to suggest while typing."""


def find_key(group: str, typed: str) -> str:
    """Return `facebook_ads` for `Facebook ads`; other texts unchanged."""
    return _KEYS.get(group, {}).get(typed.strip().lower(), typed)


def suggest_key(group: str, key: str) -> str | None:
    """Return the listed key most like one that is not listed; None without any."""
    titles = _TITLES.get(group, {})
    if not key or not titles or key in titles:
        return None
    nearest_names = _SIMILAR[group].nearest(key)
    return _KEYS[group].get(nearest_names[0].lower(), nearest_names[0]) if nearest_names else None
