"""The keys of groups in words, and the numbers that stand for them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from headwater.reports.plan.dimensions import NO_KEY
from headwater.reports.plan.kinds import KIND_KEYS
from headwater.reports.plan.time_buckets import TimeBuckets, key_of
from headwater.sources.source_names import SourceNames

_ID = re.compile("[1-9][0-9]{0,17}", re.ASCII)


class GroupKeys(Protocol):
    """The keys that events or touches may have in a group."""

    in_order: ClassVar[bool]
    """True when the numbers of keys are in the order of their words."""

    def text(self, key: int) -> str:
        """Return a key other than NO_KEY in words."""
        ...

    def find(self, text: str) -> int | None:
        """Return the key with these words; None where there is none."""
        ...


@dataclass(frozen=True)
class ListedKeys:
    """Keys that are the places in a list."""

    texts: Sequence[str]
    first: int = 0
    """The key of the first."""
    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return self.texts[key - self.first]

    def find(self, text: str) -> int | None:
        return self._keys.get(text)

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {text: key for key, text in enumerate(self.texts, self.first)}


@dataclass(frozen=True)
class SourceKeys:
    """Keys that are the numbers of a Space's sources."""

    sources: SourceNames
    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return self.sources.name_of(key)

    def find(self, text: str) -> int | None:
        return self.sources.numbers.get(text)


class IdKeys:
    """Keys that are ids."""

    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return str(key)

    def find(self, text: str) -> int | None:
        return int(text) if _ID.fullmatch(text) else None


WEEKDAYS = ListedKeys([str(number) for number in range(1, 8)], first=1)
CUSTOMERS = ListedKeys(("new", "returning"))
KINDS = ListedKeys(KIND_KEYS)
HOURS = ListedKeys([f"{number:02}" for number in range(24)])


def step_keys(steps: TimeBuckets) -> ListedKeys:
    """Return the keys of the steps of a period: their places in it, from 1."""
    return ListedKeys([key_of(place, steps) for place in range(1, 1 + len(steps.days))], first=1)


def number_of(keys: GroupKeys, text: str | None) -> int | None:
    """Return the key with these words; without any, that of what has none."""
    return NO_KEY if text is None else keys.find(text)
