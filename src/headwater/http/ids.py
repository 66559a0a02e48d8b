"""Ids in paths."""

from __future__ import annotations

import re

from headwater.http.errors import Invalid

# int() also takes signs, spaces, underscores and other scripts' digits; 18 digits fit bigint.
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


def parse_id(name: str, text: str) -> int:
    """The id in a path segment. Raises Invalid naming it."""
    if not _ID.fullmatch(text):
        raise Invalid.of(name, "must be an integer of at most 18 digits.")
    return int(text)
