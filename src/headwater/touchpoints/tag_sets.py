"""Tag sets: what touchpoints say of an ad and of the page it led to, stored once for each distinct
combination of a Space. Pure.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from headwater.sources.outcomes import Ad
from headwater.touchpoints.models import Touch

LONGEST_PAGE = 2048
"""The most characters of a landing page."""


class StoredTagSet(Ad, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A tag set's row, without the number that the database gives it."""

    digest: str
    """In hexadecimal digits; equal for equal values."""
    landing_page: str | None = None


class TagSets:
    """The distinct tag sets of the touchpoints that a batch writes."""

    def __init__(self) -> None:
        self._digests: dict[tuple[Ad, str | None], str | None] = {_NOTHING: None}
        self._unwritten: list[StoredTagSet] = []

    def add(self, touch: Touch) -> str | None:
        """Add the tag set of a touch and return its digest; None for the set of nothing at all."""
        values = touch.ad, landing_page(touch.url)
        digest = self._digests.get(values)
        if digest is None and values != _NOTHING:
            digest = self._digests[values] = digest_of(*values)
            ad = msgspec.structs.asdict(touch.ad)
            self._unwritten.append(StoredTagSet(digest=digest, landing_page=values[1], **ad))
        return digest

    def take_unwritten(self) -> list[StoredTagSet]:
        """Return the tag sets added since this was called last."""
        unwritten, self._unwritten = self._unwritten, []
        return unwritten


def landing_page(url: str | None) -> str | None:
    """The page of a URL, without query and fragment; None when there is nothing else."""
    if url is None:
        return None
    return url.partition("?")[0].partition("#")[0][:LONGEST_PAGE] or None


def digest_of(ad: Ad, page: str | None) -> str:
    """The first 16 bytes of SHA-256 over the ten values, each after its length, in hexadecimal
    digits. Every tag set that is stored is known by it, so it can never change.
    """
    values = (*msgspec.structs.astuple(ad), page)
    text = "".join("-" if value is None else f"{len(value)}:{value}" for value in values)
    return sha256(text.encode()).hexdigest()[:32]


_NOTHING = Ad(), None
