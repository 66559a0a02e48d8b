"""Ids in paths."""

from __future__ import annotations

import re
from typing import Any

from headwater.http.errors import Invalid

_LARGEST = 10**18 - 1
INTEGER_ID: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": _LARGEST}
"""The schema of an id that is a number."""
TEXT_ID: dict[str, Any] = {"pattern": "^(0|[1-9][0-9]{0,17})$"}
"""The schema of an id that is text."""

NOBODY = -1
"""An id that nothing has."""

# int() also takes signs, spaces, underscores and other scripts' digits; 18 digits fit bigint.
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


def parse_id(name: str, text: str) -> int:
    """The id in a path segment. Raises Invalid naming it. With leading zeros it is nobody's: what
    there is has one address.
    """
    if not _ID.fullmatch(text):
        raise Invalid.of(name, "must be an integer of at most 18 digits.")
    return int(text) if text == "0" or text[0] != "0" else NOBODY
