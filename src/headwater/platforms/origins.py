"""Where the platforms are reached: each at its own origin, unless the operator names another."""

from __future__ import annotations

from dataclasses import fields
from urllib.parse import urlsplit

from headwater.platforms.platform import Platform
from headwater.settings import PLATFORMS, Settings


def url_of(settings: Settings, platform: Platform) -> str:
    """The origin that a platform's calls go to."""
    return getattr(settings, f"{platform.name}_url", platform.url)


def named_hosts(settings: Settings) -> frozenset[str]:
    """The hosts that the operator named instead of the platforms' own. These may be private ones,
    as the name comes from whoever runs the service and not from a Space.
    """
    own = {field.name: field.default for field in fields(Settings)}
    names = [f"{platform}_url" for platform in PLATFORMS]
    given: list[str] = [
        getattr(settings, name) for name in names if getattr(settings, name) != own[name]
    ]
    return frozenset(host for url in given if (host := urlsplit(url).hostname))
