"""The platforms by name. Another is an import and its name in the list."""

from __future__ import annotations

from headwater.forwarding.platforms.google import GOOGLE
from headwater.forwarding.platforms.linkedin import LINKEDIN
from headwater.forwarding.platforms.meta import META
from headwater.forwarding.platforms.microsoft import MICROSOFT
from headwater.forwarding.platforms.pinterest import PINTEREST
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.reddit import REDDIT
from headwater.forwarding.platforms.snapchat import SNAPCHAT
from headwater.forwarding.platforms.tiktok import TIKTOK

PLATFORMS: dict[str, Platform] = {
    platform.name: platform
    for platform in (
        META,
        GOOGLE,
        TIKTOK,
        LINKEDIN,
        REDDIT,
        PINTEREST,
        SNAPCHAT,
        MICROSOFT,
    )
}
