"""The business domain of an e-mail address: its registrable domain, unless anybody can have an
address there.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from tldextract import TLDExtract

# The bundled snapshot of the public suffix list alone: nothing is fetched or cached on disk.
_EXTRACT = TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)


def business_domain(email: str) -> str | None:
    """The registrable domain of a business address, or None for a consumer or unusable one."""
    return _business(email.rpartition("@")[2])


@lru_cache(maxsize=65_536)
def _business(host: str) -> str | None:
    domain = _EXTRACT.extract_str(host).top_domain_under_public_suffix.lower()
    return domain if domain and domain not in _CONSUMER else None


def _consumer_domains() -> frozenset[str]:
    text = files("headwater.companies").joinpath("consumer_domains.txt").read_text("utf-8")
    lines = (line.strip().lower() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


_CONSUMER = _consumer_domains()
