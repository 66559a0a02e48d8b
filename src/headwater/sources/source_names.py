from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from headwater.sources.ad_platforms import LISTED_PLATFORMS, find_billing_platform
from headwater.sources.catalogue import (
    API_NAMES,
    LISTED_IDS,
    LISTED_SOURCES,
    SOURCE_IDS,
    SOURCES,
    listed_name,
)
from headwater.sources.networks import NetworkSpellings, PaidNetwork


class SourceNames:
    def __init__(self, names: Mapping[str, str], networks: Sequence[PaidNetwork] = ()) -> None:
        """Map values of utm_source to listed sources; `networks` includes removed ones."""
        self._names = dict(names)
        self._numbered = {network.number: network.name for network in networks}
        self.networks = tuple(network for network in networks if not network.is_removed)
        self.numbers = SOURCE_IDS | {network.name: network.number for network in networks}
        """Including removed networks."""
        self.sources = (*SOURCES, *sorted(network.name for network in self.networks))
        self.listed_sources = (*LISTED_SOURCES, *self.sources[len(SOURCES) :])
        self.by_number = (*SOURCES, *self._own_names(len(SOURCES)))
        """Source names in the order of their numbers; None for unused numbers."""
        self.api_names = (*API_NAMES, *self.by_number[len(SOURCES) :])
        self.platforms: Mapping[str, str] = LISTED_PLATFORMS | {
            network.platform: network.name for network in self.networks
        }
        """The source of every platform name in the ledger; the first if it has several."""
        self._owners = {
            source: owner for source in SOURCES if (owner := find_billing_platform(source)) is not None
        } | {network.name: network.platform for network in networks}
        self.platform_sources = self._group_by_platform()
        self._spellings = NetworkSpellings(self.networks)

    def find(self, value: str | None) -> str | None:
        """Return the source that the Space mapped a utm_source to."""
        return self._names.get(normal_name(value)) if self._names and value else None

    def find_network(self, value: str | None, *, is_paid: bool) -> str | None:
        return self._spellings.find(value, is_paid=is_paid)

    def ids_listed_as(self, names: Iterable[str]) -> tuple[int, ...]:
        ids = {**LISTED_IDS, **{network.name: (network.number,) for network in self.networks}}
        return tuple(number for name in names for number in ids[name])

    def has_network(self, name: str) -> bool:
        return any(network.name == name for network in self.networks)

    def get_name(self, number: int) -> str:
        return listed_name(number) or self._numbered[number]

    def find_platform(self, source: str) -> str | None:
        """Return None for unpaid sources."""
        return self._owners.get(source)

    def platform_named(self, name: str) -> str | None:
        """Return the platform of a ledger name: `youtube` belongs to Google. None for removed networks."""
        source = self.platforms.get(name)
        return None if source is None else self.find_platform(source)

    def source_named(self, name: str) -> str | None:
        """Return the only source of a ledger name's clicks."""
        return self.platforms.get(name) if len(self.platform_sources.get(name, ())) <= 1 else None

    def is_billed_alone(self, source: str) -> bool:
        """Return whether a source's spend is known separately."""
        owner = self.find_platform(source)
        return owner is None or len(self.platform_sources[owner]) <= 1

    def _group_by_platform(self) -> dict[str, tuple[str, ...]]:
        grouped: dict[str, tuple[str, ...]] = {}
        for source, owner in self._owners.items():
            grouped[owner] = (*grouped.get(owner, ()), source)
        return grouped

    def _own_names(self, count: int) -> list[str | None]:
        highest = max(self._numbered, default=count)
        return [self._numbered.get(number) for number in range(count + 1, highest + 1)]


def normal_name(value: str) -> str:
    """Return the stored form of a name, trimmed and lower-case."""
    return value.strip().lower()


@lru_cache(maxsize=64)
def make_source_names(
    names: tuple[tuple[str, str], ...], networks: tuple[PaidNetwork, ...] = ()
) -> SourceNames:
    """Cache names: one object until they change, as caches of links and reports expect."""
    return SourceNames(dict(names), networks)


def read_source_names(names: Mapping[str, str], networks: Sequence[Sequence[Any]]) -> SourceNames:
    stored_networks = (
        PaidNetwork(number, name, tuple(spellings), platform, is_removed)
        for number, name, spellings, platform, is_removed in networks
    )
    return make_source_names(tuple(sorted(names.items())), tuple(sorted(stored_networks)))


SHIPPED_ALONE = make_source_names(())
