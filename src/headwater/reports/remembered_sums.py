"""Sums of reports over blocks of paths, remembered in memory: a page that is opened again, or by
somebody else, costs what has changed since.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from headwater.paths.memory import Key, PathSource, memory
from headwater.paths.survey import Block
from headwater.reports.conversion import ConvertedAmounts
from headwater.reports.plan import FirstOrders

S = TypeVar("S")
T = TypeVar("T")


class Recipe(NamedTuple):
    """Everything besides paths that a sum is made of."""

    digest: bytes
    first_orders: FirstOrders | None
    """What depends on them depends on all orders of the past."""

    def key(self, source: PathSource, block: Block) -> Key | None:
        """Return what the sum over a block is known by, None where it cannot be known again."""
        orders = self.first_orders
        history = None if orders is None else orders.survey.history(block.last_day)
        if block.identity is None or (history is None and orders is not None):
            return None
        return source, self.digest, block.identity, history


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
            self._first_orders = obj
            return "first orders"
        return None


class BlockSums(Generic[S, T]):
    """Sums of some subjects over blocks, of which some are remembered."""

    def __init__(
        self,
        source: PathSource,
        subjects: Sequence[S],
        conversion: ConvertedAmounts | None = None,
    ) -> None:
        """`conversion` has amounts that are not what the events of the blocks say."""
        self._source, self._subjects = source, subjects
        amounts = make_recipe(conversion).digest
        self._recipes = [make_recipe((subject, amounts)) for subject in subjects]
        self._ready: dict[Block, dict[int, T]] = {}
        """What is remembered of a block, by the subject's place."""

    def is_known(self, block: Block) -> bool:
        """Return whether the sums over a block are all remembered."""
        keys = self._keys(block)
        ready = {at: memory.get(key) for at, key in keys.items() if key in memory}
        self._ready[block] = ready
        return len(ready) == len(self._subjects)

    def known(self) -> Iterator[Sequence[T]]:
        """Yield the sums over each block of which all are remembered."""
        for ready in self._ready.values():
            if len(ready) == len(self._subjects):
                yield [ready[place] for place in range(len(self._subjects))]

    def lacking(self, block: Block) -> list[S]:
        """Return the subjects whose sums over a block are to be made."""
        ready = self._ready.get(block, {})
        return [subject for at, subject in enumerate(self._subjects) if at not in ready]

    def complete(self, block: Block, made: Sequence[T]) -> Sequence[T]:
        """Return all sums over a block, and remember those that were lacking."""
        ready, rest, keys = self._ready.get(block, {}), iter(made), self._keys(block)
        values = [ready[at] if at in ready else next(rest) for at in range(len(self._subjects))]
        for at, key in keys.items():
            if at not in ready:
                memory.put(key, values[at])
        return values

    def _keys(self, block: Block) -> dict[int, Key]:
        """Return the keys of the subjects whose sums over a block can be remembered."""
        keys = {at: recipe.key(self._source, block) for at, recipe in enumerate(self._recipes)}
        return {at: key for at, key in keys.items() if key is not None}
