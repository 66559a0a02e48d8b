"""The names of all rules that choose a source."""

from __future__ import annotations

from headwater.sources import clicks
from headwater.sources.rules import DECLARED, DECLARED_NETWORK, PAID_RULES

RULES = frozenset(
    {
        *DECLARED,
        *DECLARED_NETWORK,
        *PAID_RULES,
        "hsa_net",
        "own_network",
        "own_utm_source",
        "utm_source",
        "utm_medium",
        "referrer",
        "campaign",
        "other_site",
        "direct",
        "fallback",
    }
    | clicks.ADS.keys()
    | clicks.LINKS.keys()
    | clicks.MAIL.keys()
    | clicks.OTHER.keys()
)
