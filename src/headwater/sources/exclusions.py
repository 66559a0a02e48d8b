"""Hosts that never make a touch: the Space's own, payment providers, hosts to sign in at. The list
is data: never_sources.txt, with a Space's additions and removals.
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
    """The exclusions of one Space. Each host counts with every host below it: `own` are the
    Space's, `also` are excluded besides those that ship with Headwater, and `heeded` are not
    excluded although they ship. Raises ValueError with a text that is no host.
    """

    def __init__(
        self, own: Collection[str] = (), also: Collection[str] = (), heeded: Collection[str] = ()
    ) -> None:
        self._heeded = [_domain(host) for host in heeded]
        self._shipped = HostTable(entry for entry in _SHIPPED if not _is_below(entry[0], self._heeded))
        self._own = HostTable(
            [
                *((f"*.{_domain(host)}", NothingReason.EXCLUDED_HOST) for host in also),
                *((f"*.{_domain(host)}", NothingReason.OWN_HOST) for host in own),
            ]
        )

    def find(self, referrer: Address, landing: Address | None) -> NoTouch | None:
        """The reason why a referrer makes no touch on a page at `landing`, None for others."""
        if landing is not None and _are_of_one_site(referrer.host, landing.host):
            return NoTouch(NothingReason.OWN_HOST, referrer.host)
        match = self._own.find(referrer)
        if match is None:
            match = self._shipped.find(referrer)
            if match is not None and match[0].endswith(".*") and self._is_heeded(referrer.host):
                match = None
        return NoTouch(match[1], match[0]) if match is not None else None

    def _is_heeded(self, host: str) -> bool:
        return any(f".{host}".endswith(f".{domain}") for domain in self._heeded)


def _are_of_one_site(referrer: str, landing: str) -> bool:
    """True for one host and its subdomains, such as the shop's checkout."""
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
def exclusions_of(own: tuple[str, ...], also: tuple[str, ...], heeded: tuple[str, ...]) -> Exclusions:
    """Exclusions from a cache, as building the table takes a while."""
    return Exclusions(own, also, heeded)


SHIPPED = Exclusions()
"""The exclusions of a Space without settings of its own."""
