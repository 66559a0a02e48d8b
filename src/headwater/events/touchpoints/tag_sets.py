"""A touchpoint's ad and landing page, stored once per distinct combination in a Space. Pure."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from hashlib import sha256

import msgspec

from headwater.sources.hierarchy import NO_AD
from headwater.sources.outcomes import Ad

MAX_LANDING_PAGE_LENGTH = 2048


class StoredTagSet(Ad, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A tag set's row, without its number."""

    digest: str
    """Hexadecimal; equal for equal values."""
    landing_page: str | None = None
    by_hit: bool = False
    """True if only page views have it."""


class TagSets:
    def __init__(self) -> None:
        self._indexes: dict[str, int] = {}
        """By digest, from 1."""
        self._unwritten: list[StoredTagSet] = []

    @property
    def digests(self) -> Collection[str]:
        """The digests of the tag sets, in the order of their indexes."""
        return self._indexes

    def add(self, ad: Ad, url: str | None, *, by_hit: bool = False) -> int | None:
        """Return the tag set's index, from 1; None for the empty set."""
        tag_set = build_tag_set(ad, read_landing_page(url), by_hit)
        if tag_set is None:
            return None
        index = self._indexes.get(tag_set.digest)
        if index is None:
            index = self._indexes[tag_set.digest] = len(self._indexes) + 1
            self._unwritten.append(tag_set)
        return index

    def take_unwritten(self) -> list[StoredTagSet]:
        """Return those added since the last call."""
        unwritten, self._unwritten = self._unwritten, []
        return unwritten


def read_landing_page(url: str | None) -> str | None:
    """Remove query and fragment; None if nothing is left."""
    if url is None:
        return None
    return url.partition("?")[0].partition("#")[0][:MAX_LANDING_PAGE_LENGTH] or None


@lru_cache(maxsize=4096)
def build_tag_set(ad: Ad, page: str | None, by_hit: bool) -> StoredTagSet | None:
    if page is None and ad == NO_AD:
        return None
    digest = hash_tag_set(ad, page, by_hit=by_hit)
    return StoredTagSet(digest=digest, landing_page=page, by_hit=by_hit, **msgspec.structs.asdict(ad))


def hash_tag_set(ad: Ad, page: str | None, *, by_hit: bool = False) -> str:
    """Hash the eleven values, the texts each after its length, to the first 16 bytes of SHA-256 in
    hexadecimal digits. They identify stored tag sets and must never change.
    """
    values = (*msgspec.structs.astuple(ad), page)
    text = "".join(["-" if value is None else f"{len(value)}:{value}" for value in values]) + "+" * by_hit
    return sha256(text.encode()).hexdigest()[:32]
