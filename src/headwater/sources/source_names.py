"""The names of sources in a Space: listed sources, its own paid networks, and values of utm_source
that stand for a source here. Whatever turns a source's number into its name, or a name
into a number, asks this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from headwater.sources.ad_platforms import LISTED_PLATFORMS, platform_of_source
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
    """The names of one Space."""

    def __init__(self, names: Mapping[str, str], networks: Sequence[PaidNetwork] = ()) -> None:
        """`names` are values of utm_source with their listed sources; `networks` also those that
        were removed.
        """
        self._names = dict(names)
        self._numbered = {network.number: network.name for network in networks}
        self.networks = tuple(network for network in networks if not network.is_removed)
        self.numbers = SOURCE_IDS | {network.name: network.number for network in networks}
        """The number of every source, removed networks included."""
        self.sources = (*SOURCES, *sorted(network.name for network in self.networks))
        """The sources that touches can have now, as reports have them."""
        self.listed_sources = (*LISTED_SOURCES, *self.sources[len(SOURCES) :])
        """The same as answers about events and contacts have them."""
        self.by_number = (*SOURCES, *self._own_names(len(SOURCES)))
        """The names of all sources, in the order of their numbers; None where no source has one."""
        self.api_names = (*API_NAMES, *self.by_number[len(SOURCES) :])
        """The same in answers about events and contacts."""
        self.platforms: Mapping[str, str] = LISTED_PLATFORMS | {
            network.platform: network.name for network in self.networks
        }
        """The source of every name in the ledger; of a platform with several, the first."""
        self._owners = {
            source: owner for source in SOURCES if (owner := platform_of_source(source)) is not None
        } | {network.name: network.platform for network in networks}
        self.platform_sources = self._group_by_platform()
        """The sources of every platform."""
        self._spellings = NetworkSpellings(self.networks)

    def find(self, value: str | None) -> str | None:
        """The listed source that a value of utm_source stands for here; None for other values."""
        return self._names.get(normal_name(value)) if self._names and value else None

    def find_network(self, value: str | None, *, is_paid: bool) -> str | None:
        """The Space's own network that a value on a link names, if it names one."""
        return self._spellings.find(value, is_paid=is_paid)

    def ids_listed_as(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of all sources that answers about events call by one of the names."""
        ids = {**LISTED_IDS, **{network.name: (network.number,) for network in self.networks}}
        return tuple(number for name in names for number in ids[name])

    def has_network(self, name: str) -> bool:
        """True for the name of a network that is not removed."""
        return any(network.name == name for network in self.networks)

    def name_of(self, number: int) -> str:
        """The name of the source with a number."""
        return listed_name(number) or self._numbered[number]

    def platform_of(self, source: str) -> str | None:
        """The platform that bills the clicks of a source; None where clicks are free."""
        return self._owners.get(source)

    def platform_named(self, name: str) -> str | None:
        """The platform that a name in the ledger means: `youtube` means Google's. That of a removed
        network means none, as its clicks have other sources now.
        """
        source = self.platforms.get(name)
        return None if source is None else self.platform_of(source)

    def source_named(self, name: str) -> str | None:
        """The source of all clicks that a name in the ledger means: none for a platform with
        several sources, because it bills them together.
        """
        return self.platforms.get(name) if len(self.platform_sources.get(name, ())) <= 1 else None

    def is_billed_alone(self, source: str) -> bool:
        """True for a source whose spend is known apart from that of other sources."""
        owner = self.platform_of(source)
        return owner is None or len(self.platform_sources[owner]) <= 1

    def _group_by_platform(self) -> dict[str, tuple[str, ...]]:
        grouped: dict[str, tuple[str, ...]] = {}
        for source, owner in self._owners.items():
            grouped[owner] = (*grouped.get(owner, ()), source)
        return grouped

    def _own_names(self, listed: int) -> list[str | None]:
        highest = max(self._numbered, default=listed)
        return [self._numbered.get(number) for number in range(listed + 1, highest + 1)]


def normal_name(value: str) -> str:
    """A name as it is stored and compared: without surrounding blanks, in lower case."""
    return value.strip().lower()


@lru_cache(maxsize=64)
def source_names_of(
    names: tuple[tuple[str, str], ...], networks: tuple[PaidNetwork, ...] = ()
) -> SourceNames:
    """Names from a cache. Those of a Space are then one object until they change, which caches of
    classified links and of reports rely on.
    """
    return SourceNames(dict(names), networks)


def read_source_names(names: Mapping[str, str], networks: Sequence[Sequence[Any]]) -> SourceNames:
    """The names of a Space as the database has them."""
    stored = (
        PaidNetwork(number, name, tuple(spellings), platform, is_removed)
        for number, name, spellings, platform, is_removed in networks
    )
    return source_names_of(tuple(sorted(names.items())), tuple(sorted(stored)))


SHIPPED_ALONE = source_names_of(())
"""The names of a Space that has none of its own."""
