"""Clicks on ads, each by its id and the browser it was first seen in: on a link that somebody
passed on, the id says nothing about whoever follows it later. Pure.
"""

from __future__ import annotations

from hashlib import sha256

from headwater.sources.clicks import AD_CLICKS

FRESH = 24 * 3600 * 1_000_000
"""How long, in µs, a click id may turn up in other browsers: people open a link again elsewhere."""

Sighting = tuple[int, str]
"""When (µs since 1970) and in which browser a click was first seen."""


class Clicks:
    """The clicks that a batch's page views show: as stored, and as noticed since."""

    def __init__(self) -> None:
        self._first: dict[str, Sighting] = {}
        self.new: dict[str, Sighting] = {}
        """What is to be stored, by the click's hash."""

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
    """A click, as a UUID's digits."""
    return sha256(f"{name}={value}".encode()).hexdigest()[:32]
