"""Parameters that platforms put on links by themselves: click ids, and other signs of a network."""

from __future__ import annotations

from headwater.sources.vocabulary import read_lines

_LINES = read_lines("click_ids.txt")


def _of_kind(*kinds: str) -> dict[str, str]:
    return {name: network for name, network, kind in _LINES if kind in kinds}


AD_CLICKS = _of_kind("ad")
"""Parameters that identify one click on an ad, to its network."""

ADS = _of_kind("ad", "sign")
"""Parameters that only ads carry, to the network they prove."""

LINKS = _of_kind("link")
"""Parameters that all links of a network carry, paid or not, to that network."""

MAIL = _of_kind("mail")
"""Parameters that mail software puts on links."""

OTHER = _of_kind("other")
"""Click ids of networks that are no listed source."""

CLICK_IDS = _of_kind("ad", "link", "other")
"""Every parameter whose value identifies a click."""
