"""Clicks on ads, each by its id and the browser it was first seen in: on a link that somebody
passed on, the id says nothing about the people who follow it later. Pure.
"""

from __future__ import annotations

from hashlib import sha256

from headwater.sources.clicks import AD_CLICKS

FRESH = 24 * 3600 * 1_000_000
"""Time in µs in which a click id may appear in other browsers: people reopen links elsewhere."""

Sighting = tuple[int, str]
"""The time (µs since 1970) and the browser of a click's first sighting."""


class Clicks:
    """The clicks of a batch's page views: stored ones, and those seen since."""

    def __init__(self) -> None:
        self._first: dict[str, Sighting] = {}
        self.new: dict[str, Sighting] = {}
        """The sightings to store, by the click's hash."""

    def add_stored(self, click: str, at: int, device: str) -> None:
        self._first[click] = (at, device)

    def notice(self, click_ids: dict[str, str], device: str, at: int) -> frozenset[str]:
        """Take in the click ids of a page view, and return the names of those that are stale:
        seen more than a day before it in another browser.
        """
        stale: list[str] = []
        for name, value in click_ids.items():
            if name not in AD_CLICKS:
                continue
            click = hash_of(name, value)
            first = self._first.get(click)
            if first is None or at < first[0]:
                self._first[click] = self.new[click] = (at, device)
            elif first[1] != device and at - first[0] > FRESH:
                stale.append(name)
        return frozenset(stale)


def hash_of(name: str, value: str) -> str:
    """The hash of a click, as a UUID's digits."""
    return sha256(f"{name}={value}".encode()).hexdigest()[:32]
