"""The platforms by name. Another is an import and its name in the list."""

from __future__ import annotations

from headwater.platforms.google import GOOGLE
from headwater.platforms.linkedin import LINKEDIN
from headwater.platforms.meta import META
from headwater.platforms.microsoft import MICROSOFT
from headwater.platforms.pinterest import PINTEREST
from headwater.platforms.platform import Platform
from headwater.platforms.reddit import REDDIT
from headwater.platforms.snapchat import SNAPCHAT
from headwater.platforms.tiktok import TIKTOK

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
