"""The platforms whose spend is pulled: the folders of this package."""

from __future__ import annotations

from headwater.http.inputs.account_kinds import find_kinds
from headwater.spend import platforms
from headwater.spend.platforms.platform import SpendPlatform

PLATFORMS: dict[str, SpendPlatform] = find_kinds(platforms, SpendPlatform)
