"""Ad clicks: a click id and the browser that first had it. In a shared link it identifies no later visitor.
Pure.
"""

from __future__ import annotations

from hashlib import sha256

from headwater.sources.clicks import AD_CLICKS

STALE_AFTER = 24 * 3600 * 1_000_000
"""How long, in µs, a click id may appear in other browsers."""

Sighting = tuple[int, str]
"""Time (µs since 1970) and browser of a click's first sighting."""


class Clicks:
    def __init__(self) -> None:
        self._first: dict[str, Sighting] = {}
        self.new: dict[str, Sighting] = {}

    def add_stored(self, click: str, first_seen: int, device: str) -> None:
        self._first[click] = (first_seen, device)

    def notice(self, click_ids: dict[str, str], device: str, seen_at: int) -> frozenset[str]:
        """Record click ids. Return the stale ones: seen in another browser more than a day earlier."""
        stale_names: list[str] = []
        for name, value in click_ids.items():
            if name not in AD_CLICKS:
                continue
            click = hash_click(name, value)
            first = self._first.get(click)
            if first is None or seen_at < first[0]:
                self._first[click] = self.new[click] = (seen_at, device)
            elif first[1] != device and seen_at - first[0] > STALE_AFTER:
                stale_names.append(name)
        return frozenset(stale_names)


def hash_click(name: str, value: str) -> str:
    """Return 32 hexadecimal digits."""
    return sha256(f"{name}={value}".encode()).hexdigest()[:32]
