"""Sums of reports over blocks of paths, remembered in memory: a page that is opened again, or by
somebody else, costs what has changed since.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from headwater.attribution.paths.memory import Key, memory
from headwater.attribution.paths.path_data import PathData
from headwater.attribution.paths.path_source import PathSource
from headwater.attribution.paths.survey import Block
from headwater.reports.engine.conversion import ConvertedAmounts
from headwater.reports.engine.packed_values import packed, unpacked
from headwater.reports.engine.plan import FirstOrders, Section

S = TypeVar("S")
T = TypeVar("T")


class Recipe(NamedTuple):
    """Everything besides paths that a sum is made of."""

    digest: bytes
    first_orders: FirstOrders | None
    """What depends on them depends on all orders of the past."""

    def key(self, source: PathSource, block: Block, section: Section) -> Key | None:
        """Return what the sum over a block is known by, None where it cannot be known again."""
        orders = self.first_orders
        history = None if orders is None else orders.survey.history(block.last_day)
        if block.identity is None or (history is None and orders is not None):
            return None
        return source, self.digest, block.identity, section.key, history


def make_recipe(subject: object) -> Recipe:
    """Return the recipe of sums for a subject: a value made of plain data and arrays."""
    return _Pickler().recipe(subject)


class _Pickler(pickle.Pickler):
    """Makes the bytes of which a digest is taken: equal bytes are of equal values. First orders,
    which are large, are left out.
    """

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._arrays: list[pickle.PickleBuffer] = []
        self._first_orders: FirstOrders | None = None
        super().__init__(self._file, protocol=5, buffer_callback=self._arrays.append)

    def recipe(self, subject: object) -> Recipe:
        self.dump(subject)
        digest = hashlib.blake2b(self._file.getbuffer(), digest_size=16)
        for array in self._arrays:
            digest.update(array.raw())
        return Recipe(digest.digest(), self._first_orders)

    def persistent_id(self, obj: object) -> str | None:
        if isinstance(obj, FirstOrders):
            assert self._first_orders in (None, obj), "a subject has one set of first orders"
            self._first_orders = obj
            return "first orders"
        return None


@dataclass(frozen=True)
class Addition(Generic[S, T]):
    """A way to add subjects up, with all that their sums depend on."""

    add_up: Callable[[Sequence[S], PathData], Sequence[T]]
    lasting: Callable[[S], object]
    """All of a subject that is the same to every block."""
    section: Callable[[S, Block], Section | None]
    """What a block is to a subject; None where it adds nothing up."""
    shifted: Callable[[T, Mapping[int, int]], T]
    """A sum with other steps, later or earlier by a number, by their group's place."""
    nothing: T
    """The sum over a block that is nothing to a subject."""


class BlockSums(Generic[S, T]):
    """Sums of some subjects over blocks, of which some are remembered."""

    def __init__(
        self,
        source: PathSource,
        subjects: Sequence[S],
        addition: Addition[S, T],
        conversion: ConvertedAmounts | None = None,
    ) -> None:
        """`conversion` has amounts that are not what the events of the blocks say."""
        self._source, self._subjects, self._addition = source, subjects, addition
        amounts = make_recipe(conversion).digest
        self._recipes = [make_recipe((addition.lasting(each), amounts)) for each in subjects]
        self._portion = memory.portion()
        self._ready: dict[Block, dict[int, T]] = {}
        """What is known of a block, by the subject's place."""
        self._packed: dict[tuple[Block, int], object] = {}
        """What is to be remembered of it."""

    def is_known(self, block: Block) -> bool:
        """Return whether the sums over a block are all known."""
        return len(self._known_of(block)) == len(self._subjects)

    def known(self) -> Iterator[Sequence[T]]:
        """Yield the sums over each block of which all are known."""
        for ready in self._ready.values():
            if len(ready) == len(self._subjects):
                yield [ready[place] for place in range(len(self._subjects))]

    def add_up(self, block: Block, paths: PathData) -> Sequence[T]:
        """Return the sums over a block that are not known, and pack them to be remembered."""
        ready = self._known_of(block)
        lacking = [at for at in range(len(self._subjects)) if at not in ready]
        values = self._addition.add_up([self._subjects[at] for at in lacking], paths)
        if block.identity is not None:
            for at, value in zip(lacking, values, strict=True):
                self._packed[block, at] = self._pack(block, at, value)
        return values

    def complete(self, block: Block, made: Sequence[T]) -> Sequence[T]:
        """Return all sums over a block, and remember those that were not known."""
        ready, rest = self._known_of(block), iter(made)
        values = [ready[at] if at in ready else next(rest) for at in range(len(self._subjects))]
        for at, value in enumerate(values):
            if at not in ready:
                self._remember(block, at, value)
        return values

    def _known_of(self, block: Block) -> dict[int, T]:
        if block not in self._ready:
            known = {at: self._recall(block, at) for at in range(len(self._subjects))}
            self._ready[block] = {at: sums[0] for at, sums in known.items() if sums}
        return self._ready[block]

    def _recall(self, block: Block, at: int) -> tuple[T] | None:
        section = self._addition.section(self._subjects[at], block)
        if section is None:
            return (self._addition.nothing,)
        key = self._recipes[at].key(self._source, block, section)
        if key is None or key not in memory:
            return None
        return (self._addition.shifted(unpacked(memory.get(key)), section.steps_before),)

    def _remember(self, block: Block, at: int, value: T) -> None:
        key = self._recipes[at].key(self._source, block, self._section(block, at))
        kept = self._packed.pop((block, at), None)
        if key is not None:
            kept = self._pack(block, at, value) if kept is None else kept
            memory.put(key, kept, self._portion)

    def _pack(self, block: Block, at: int, value: T) -> object:
        """Return a sum packed, with the block's own steps."""
        before = self._section(block, at).steps_before
        earlier = {place: -count for place, count in before.items()}
        return packed(self._addition.shifted(value, earlier))

    def _section(self, block: Block, at: int) -> Section:
        section = self._addition.section(self._subjects[at], block)
        assert section is not None
        return section
