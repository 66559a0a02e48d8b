"""Places of IP addresses: an optional MaxMind database of cities or countries, opened at start."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import maxminddb
import msgspec

LONGEST_NAME = 255


class Place(msgspec.Struct, frozen=True):
    """The place of a visitor, as far as it is known."""

    country: str | None = None
    """ISO 3166-1 alpha-2."""
    state: str | None = None
    city: str | None = None


NOWHERE = Place()


class Places:
    """The lookup of places; without a database it finds none."""

    def __init__(self, path: Path | None) -> None:
        """Open the database at `path`, which the settings have checked."""
        # Typed as unknown in part, and several times faster than the class of that name.
        self._reader = None if path is None else cast("Any", maxminddb).open_database(path)

    def find(self, ip: str | None) -> Place:
        """The place of an IP address, named in English."""
        if self._reader is None or ip is None:
            return NOWHERE
        try:
            record = self._reader.get(ip)
        except (ValueError, maxminddb.InvalidDatabaseError):  # IPv6 in a database of IPv4
            return NOWHERE
        members = _members(record)
        country = _members(members.get("country")).get("iso_code")
        areas = members.get("subdivisions")
        return Place(
            country=country if isinstance(country, str) and len(country) == 2 else None,
            state=_name(cast("list[Any]", areas)[0]) if isinstance(areas, list) and areas else None,
            city=_name(members.get("city")),
        )


def _members(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _name(value: Any) -> str | None:
    name = _members(_members(value).get("names")).get("en")
    return name[:LONGEST_NAME] if isinstance(name, str) and name else None
