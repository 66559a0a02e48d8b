"""API origins; operators can override them."""

from __future__ import annotations

from urllib.parse import urlsplit

from headwater.base.settings import Settings
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform


def find_url(settings: Settings, platform: Platform) -> str:
    return settings.platform_urls.get(platform.name, platform.url)


def list_operator_hosts(settings: Settings) -> frozenset[str]:
    """Return the operator's hosts. They may be private: no Space can set them."""
    platforms = registry.PLATFORMS.values()
    urls = {find_url(settings, platform) for platform in platforms} - {p.url for p in platforms}
    return frozenset(host for url in urls if (host := urlsplit(url).hostname))
