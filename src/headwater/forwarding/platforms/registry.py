"""The platforms: the folders of this package."""

from __future__ import annotations

from headwater.forwarding import platforms
from headwater.forwarding.platforms.platform import Platform
from headwater.http.inputs.account_kinds import find_kinds

_ORDER = (
    "meta",
    "google",
    "tiktok",
    "linkedin",
    "reddit",
    "pinterest",
    "snapchat",
    "microsoft",
    "microsoft_offline",
    "chatgpt_ads",
)
"""The order in lists; others follow by name."""
PLATFORMS: dict[str, Platform] = find_kinds(platforms, Platform, _ORDER)
