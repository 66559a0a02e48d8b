"""Tag sets: what touchpoints say of an ad and of the page it led to, stored once for each distinct
combination of a Space. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from hashlib import sha256

import msgspec

from headwater.events.touchpoints.models import Touch
from headwater.sources.hierarchy import NO_AD
from headwater.sources.outcomes import Ad

LONGEST_PAGE = 2048
"""The most characters of a landing page."""


class StoredTagSet(Ad, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A tag set's row, without the number that it gets in the database."""

    digest: str
    """In hexadecimal digits; equal for equal values."""
    landing_page: str | None = None


class TagSets:
    """The distinct tag sets of the touchpoints that a batch writes."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        """By digest."""
        self._unwritten: list[StoredTagSet] = []

    @property
    def digests(self) -> Collection[str]:
        """Their digests by their places."""
        return self._places

    def add(self, touch: Touch) -> int | None:
        """Add the tag set of a touch and return its place, from 1 on; None for the set of nothing
        at all.
        """
        tag_set = stored_tag_set(touch.ad, landing_page(touch.url))
        if tag_set is None:
            return None
        place = self._places.get(tag_set.digest)
        if place is None:
            place = self._places[tag_set.digest] = len(self._places) + 1
            self._unwritten.append(tag_set)
        return place

    def take_unwritten(self) -> list[StoredTagSet]:
        """Return the tag sets added since this was called last."""
        unwritten, self._unwritten = self._unwritten, []
        return unwritten


def landing_page(url: str | None) -> str | None:
    """The page of a URL, without query and fragment; None when there is nothing else."""
    if url is None:
        return None
    return url.partition("?")[0].partition("#")[0][:LONGEST_PAGE] or None


@lru_cache(maxsize=4096)
def stored_tag_set(ad: Ad, page: str | None) -> StoredTagSet | None:
    """The row of a tag set; None for the set of nothing at all, which has none."""
    if page is None and ad == NO_AD:
        return None
    digest = digest_of(ad, page)
    return StoredTagSet(digest=digest, landing_page=page, **msgspec.structs.asdict(ad))


def digest_of(ad: Ad, page: str | None) -> str:
    """The first 16 bytes of SHA-256 over the ten values, each after its length, in hexadecimal
    digits. Every tag set that is stored is known by it, so it can never change.
    """
    values = (*msgspec.structs.astuple(ad), page)
    text = "".join(["-" if value is None else f"{len(value)}:{value}" for value in values])
    return sha256(text.encode()).hexdigest()[:32]
