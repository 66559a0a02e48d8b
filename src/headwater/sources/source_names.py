"""Names of sources that a Space has of its own: values of utm_source, besides those that ship with
Headwater.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache


class SourceNames:
    """The names of one Space, each standing for one listed source."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def find(self, value: str | None) -> str | None:
        """The listed source that a value of utm_source stands for here; None for other values."""
        return self._names.get(normal_name(value)) if self._names and value else None


def normal_name(value: str) -> str:
    """A name as it is stored and compared: without surrounding blanks, in lower case."""
    return value.strip().lower()


@lru_cache(maxsize=64)
def source_names_of(names: tuple[tuple[str, str], ...]) -> SourceNames:
    """Names from a cache. Those of a Space are then one object until they change, which caches of
    classified links go by.
    """
    return SourceNames(dict(names))


SHIPPED_ALONE = source_names_of(())
"""The names of a Space that has none of its own."""
