"""A touch: a moment when a visitor came from a source. Pure."""

from __future__ import annotations

import msgspec

from headwater.sources.catalogue import source_bit
from headwater.sources.outcomes import Ad

HALF_HOUR = 30 * 60 * 1_000_000
"""In µs: the longest pause between page views of a visit, and how long a touch covers direct visits."""

DIRECTLY = "direct"
"""The rule of a visit whose source is unknown."""

Text = str | None
TouchpointKey = tuple[int, Text, Text, Text, Text, Text, Text, Text]
"""Source, campaign, ad group, ad and keyword. Touches with equal keys are the same. An id replaces its name.
"""


class Touch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A visitor came from a source at this moment, in µs since 1970."""

    occurred_at: int
    source_id: int
    source_rule: str
    ad: Ad
    url: str | None
    referrer_host: str | None = None
    cookies: dict[str, str] | None = None

    @property
    def source_bit(self) -> int:
        return source_bit(self.source_id)

    @property
    def key(self) -> TouchpointKey:
        ad = self.ad
        return (
            self.source_id,
            ad.campaign_id,
            None if ad.campaign_id is not None else ad.campaign_name,
            ad.adset_id,
            None if ad.adset_id is not None else ad.adset_name,
            ad.ad_id,
            None if ad.ad_id is not None else ad.ad_name,
            ad.keyword,
        )
