"""Origins of spend APIs; operators can override them."""

from __future__ import annotations

from urllib.parse import urlsplit

from headwater.base.settings import Settings
from headwater.spend.platforms import registry


def find_urls(settings: Settings) -> dict[str, str]:
    """Return the origin of each platform's API."""
    return {
        name: settings.platform_urls.get(f"{name}_spend", platform.url)
        for name, platform in registry.PLATFORMS.items()
    }


def list_operator_hosts(settings: Settings) -> frozenset[str]:
    """Return the operator's hosts. They may be private: no Space can set them."""
    urls = [url for name, url in settings.platform_urls.items() if name.endswith("_spend")]
    return frozenset(host for url in urls if (host := urlsplit(url).hostname))
