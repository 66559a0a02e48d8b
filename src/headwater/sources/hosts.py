"""Tables of host patterns. A lookup costs a few dictionary accesses per label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from headwater.sources.addresses import APP, Address

_STEM = re.compile("[a-z]+(?=[0-9-]|$)")
Meaning = TypeVar("Meaning")


class HostTable(Generic[Meaning]):
    """A table of patterns, as in referrers.txt. Later equal patterns replace earlier ones."""

    def __init__(self, entries: Iterable[tuple[str, Meaning]]) -> None:
        self._meanings = dict(entries)
        self._paths: dict[str, list[str]] = {}
        for pattern in sorted(self._meanings, key=len, reverse=True):
            host, slash, path = pattern.removeprefix(APP).partition("/")
            if slash:
                self._paths.setdefault(host, []).append("/" + path)

    def find(self, address: Address) -> tuple[str, Meaning] | None:
        for pattern in _patterns(address.host):
            for path in self._paths.get(pattern, ()):
                if address.path == path or address.path.startswith(path + "/"):
                    return pattern + path, self._meanings[pattern + path]
            if pattern in self._meanings:
                return pattern, self._meanings[pattern]
        return None


def _patterns(host: str) -> Iterator[str]:
    """Yield matching patterns without a path, most specific first."""
    yield host
    if host.startswith(APP):
        return
    label, _, parent = host.partition(".")
    if "." in parent:
        yield f"{label}.*"
        if stem := _STEM.match(label):
            yield f"{stem[0]}*.*"
    parent = host
    while parent:
        yield f"*.{parent}"
        parent = parent.partition(".")[2]
