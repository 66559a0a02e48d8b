"""Values that look like identifiers but identify no one: junk.txt, and the Space's own values. Trusting one
would merge all logged-out visitors.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files


class Junk:
    def __init__(self, ignored: Iterable[str] = ()) -> None:
        self._values = _SHIPPED.union(_simplify(value) for value in ignored)

    def __contains__(self, value: str) -> bool:
        text = _simplify(value)
        return text in self._values or not text.strip("0-")

    def has_email(self, address: str) -> bool:
        """Check the whole address, its local part and its domain."""
        local_part, _, domain = _simplify(address).rpartition("@")
        labels = domain.split(".")
        names = {f"@{'.'.join(labels[index:])}" for index in range(len(labels))} | {f"{local_part}@"}
        return address in self or not self._values.isdisjoint(names)


def _simplify(value: str) -> str:
    return value.strip().strip("\"'").strip().casefold()


def _read(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(_simplify(line) for line in lines if not line.startswith("#"))


_SHIPPED = _read(files("headwater.people.identity").joinpath("junk.txt").read_text(encoding="utf-8"))
