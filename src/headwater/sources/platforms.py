"""Ad platforms: the level above sources. A platform bills its ads together, whichever of its
sources a click comes from, so spend and credit meet there.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.sources.catalogue import SOURCES

_PLATFORM_OF = {
    "facebook_ads": "meta", "instagram_ads": "meta",
    "google_ads": "google", "youtube_ads": "google",
    "bing_ads": "microsoft",
}  # fmt: skip
"""The platforms whose name is not that of their source. Audience Network and Messenger have no paid
source of their own: their clicks are Facebook's.
"""


def platform_of_source(source: str) -> str | None:
    """Return the ad platform that sells the clicks of a source; None for unpaid sources."""
    if not source.endswith("_ads"):
        return None
    return _PLATFORM_OF.get(source, source.removesuffix("_ads"))


def _sources_by_platform() -> Mapping[str, tuple[str, ...]]:
    by_platform: dict[str, tuple[str, ...]] = {}
    for source in SOURCES:
        if (platform := platform_of_source(source)) is not None:
            by_platform[platform] = (*by_platform.get(platform, ()), source)
    return by_platform


PLATFORM_SOURCES = _sources_by_platform()
"""The paid sources of every platform."""
PLATFORMS = tuple(PLATFORM_SOURCES)
