"""Hosts that never make a touch, from never_sources.txt and the Space: its own, payment providers and sign-in
pages.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from headwater.sources.addresses import Address, read_address
from headwater.sources.hosts import HostTable
from headwater.sources.outcomes import NothingReason, NoTouch
from headwater.sources.vocabulary import read_pairs

_SHIPPED = [(pattern, NothingReason(reason)) for pattern, reason in read_pairs("never_sources.txt")]


class Exclusions:
    """The exclusions of one Space, including subdomains. `extra_hosts` are more than the built-in ones, and
    `heeded` are built-in ones to remove. Raises ValueError for an invalid host.
    """

    def __init__(
        self, own_hosts: Collection[str] = (), extra_hosts: Collection[str] = (), heeded: Collection[str] = ()
    ) -> None:
        self._heeded = [_domain(host) for host in heeded]
        self._shipped_table = HostTable(entry for entry in _SHIPPED if not _is_below(entry[0], self._heeded))
        self._own_table = HostTable(
            [
                *((f"*.{_domain(host)}", NothingReason.EXCLUDED_HOST) for host in extra_hosts),
                *((f"*.{_domain(host)}", NothingReason.OWN_HOST) for host in own_hosts),
            ]
        )

    def find(self, referrer: Address, landing: Address | None) -> NoTouch | None:
        """Return why a referrer makes no touch on a page at `landing`."""
        if landing is not None and _is_same_site(referrer.host, landing.host):
            return NoTouch(NothingReason.OWN_HOST, referrer.host)
        match = self._own_table.find(referrer)
        if match is None:
            match = self._shipped_table.find(referrer)
            if match is not None and match[0].endswith(".*") and self._is_heeded(referrer.host):
                match = None
        return NoTouch(match[1], match[0]) if match is not None else None

    def _is_heeded(self, host: str) -> bool:
        return any(f".{host}".endswith(f".{domain}") for domain in self._heeded)


def _is_same_site(referrer: str, landing: str) -> bool:
    """Return whether they are one host or one is a subdomain, such as a shop's checkout."""
    return referrer == landing or referrer.endswith(f".{landing}") or landing.endswith(f".{referrer}")


def _domain(host: str) -> str:
    address = read_address(host)
    if address is None:
        raise ValueError(host)
    return address.host


def _is_below(pattern: str, domains: Collection[str]) -> bool:
    host = "." + pattern.removeprefix("*.").partition("/")[0]
    return any(host.endswith("." + domain) for domain in domains)


@lru_cache(maxsize=64)
def make_exclusions(
    own_hosts: tuple[str, ...], extra_hosts: tuple[str, ...], heeded: tuple[str, ...]
) -> Exclusions:
    """Cache exclusions, because the table is slow to build."""
    return Exclusions(own_hosts, extra_hosts, heeded)


SHIPPED = Exclusions()
"""The exclusions of a Space without settings."""
