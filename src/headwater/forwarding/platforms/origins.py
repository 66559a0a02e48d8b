"""Origins of the platforms' interfaces: each platform's own, unless the operator names another."""

from __future__ import annotations

from urllib.parse import urlsplit

from headwater.base.settings import Settings
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform


def url_of(settings: Settings, platform: Platform) -> str:
    """Return the origin that a platform's calls go to."""
    return settings.platform_urls.get(platform.name, platform.url)


def named_hosts(settings: Settings) -> frozenset[str]:
    """Return the hosts with which the operator replaced the platforms' own. They may have private addresses
    because the operator chose them, not a Space.
    """
    platforms = registry.PLATFORMS.values()
    urls = {url_of(settings, platform) for platform in platforms} - {p.url for p in platforms}
    return frozenset(host for url in urls if (host := urlsplit(url).hostname))
