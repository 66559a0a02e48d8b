"""The platforms whose spend is pulled: the folders of this package."""

from __future__ import annotations

from headwater.http.inputs.account_kinds import find_kinds
from headwater.spend import platforms
from headwater.spend.platforms.platform import SpendPlatform

_ORDER = ("google", "meta", "microsoft", "tiktok", "linkedin", "pinterest", "snapchat", "reddit")
"""The order in lists; others follow by name."""
PLATFORMS: dict[str, SpendPlatform] = find_kinds(platforms, SpendPlatform, _ORDER)
