"""The source of an event's touchpoint, from its attribution parameters and landing URL. Pure.

Every answer comes with the name of the rule that gave it, which is stored and shown.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.landing import Found, landing_source
from headwater.sources.vocabulary import ALIASES, of_platform, says_paid


class Parameters(msgspec.Struct, frozen=True, gc=False):
    """What an event says of where it came from."""

    source: str | None = None
    network: str | None = None
    type: str | None = None


@lru_cache(maxsize=16_384)
def resolve(parameters: Parameters, landing_url: str | None = None) -> Found:
    """The listed source of a touch, and the name of the rule that fired."""
    source = _plain(parameters.source)
    if source in SOURCE_IDS:
        return source, "trk_source"
    paid = says_paid(parameters.type) or says_paid(parameters.network)
    target = ALIASES.get(source)
    if target is not None:
        return of_platform(target, paid=paid), "trk_source_alias"
    target = ALIASES.get(_plain(parameters.network)) if not source else None
    if target is not None:
        return of_platform(target, paid=paid), "trk_network_alias"
    found = landing_source(landing_url) if landing_url is not None else None
    return found or ("referral", "fallback")


def _plain(text: str | None) -> str:
    return text.strip().lower() if text is not None else ""
