"""Path parameters: ids, and the remaining path as one, `{name:rest}`."""

from __future__ import annotations

import re
from typing import Any

from starlette.convertors import Convertor, register_url_convertor

from headwater.http.errors import Invalid

_LARGEST = 10**18 - 1
INTEGER_ID: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": _LARGEST}
TEXT_ID: dict[str, Any] = {"pattern": "^(0|[1-9][0-9]{0,17})$"}

NOBODY = -1
"""An id that no row has."""

# int() also accepts signs, spaces, underscores and other scripts' digits; 18 digits fit bigint.
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


def parse_id(name: str, text: str) -> int:
    """Return an id in a path segment. Raise Invalid with its name. An id with leading zeros matches no row,
    so every object has one address.
    """
    if not _ID.fullmatch(text):
        raise Invalid.of(name, "must be an integer of at most 18 digits.")
    return int(text) if text == "0" or text[0] != "0" else NOBODY


REST = "rest"
"""Matches the remaining path, line breaks included. Starlette's own `path` stops at a line break, so such an
address would get "not found" instead of the actual fault.
"""


class _Rest(Convertor[str]):
    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(REST, _Rest())
