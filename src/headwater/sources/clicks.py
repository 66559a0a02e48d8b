"""Parameters that platforms add to links: click ids, and other marks of a network."""

from __future__ import annotations

from headwater.sources.vocabulary import read_lines

_LINES = read_lines("click_ids.txt")


def _select_kinds(*kinds: str) -> dict[str, str]:
    return {name: network for name, network, kind in _LINES if kind in kinds}


AD_CLICKS = _select_kinds("ad")
"""Ids of an ad click, by parameter, with their network."""

ADS = _select_kinds("ad", "sign")
"""Parameters found only on ads, with their network."""

LINKS = _select_kinds("link")
"""Parameters on all links of a network, paid or not, with that network."""

MAIL = _select_kinds("mail")
"""Parameters that email software adds to links."""

OTHER = _select_kinds("other")
"""Click ids of networks that aren't listed sources."""

CLICK_IDS = _select_kinds("ad", "link", "other")
"""All parameters whose value identifies a click."""
