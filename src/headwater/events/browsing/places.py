"""Locations of IP addresses, from an optional MaxMind city or country database."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import maxminddb
import msgspec

MAX_NAME_LENGTH = 255


class Place(msgspec.Struct, frozen=True):
    country: str | None = None
    """ISO 3166-1 alpha-2."""
    state: str | None = None
    city: str | None = None


NOWHERE = Place()


class Places:
    """Looks up locations; finds none without a database."""

    def __init__(self, path: Path | None) -> None:
        """Open a database that the settings have checked."""
        # Several times faster than maxminddb's Reader class.
        self._reader = None if path is None else cast("Any", maxminddb).open_database(path)

    def find(self, ip: str | None) -> Place:
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
    return name[:MAX_NAME_LENGTH] if isinstance(name, str) and name else None
