"""The ad platforms by name."""

from __future__ import annotations

from headwater.forwarding.platforms.platform import Platform

PLATFORMS: dict[str, Platform] = {}
"""Every platform, in the order in which people see them."""
