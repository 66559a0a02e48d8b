"""Many values as one parameter: an array, or rows for `json_to_recordset`; and rows as a list of parameters,
which a cluster sends to one node after the other.

The driver quotes each array element in Python, most of a request's cost for thousands of values a second. One
parameter of rows costs a tenth of one array per column, and its statement is prepared once for any number of
rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

_encoder = msgspec.json.Encoder()


def array(values: Iterable[int | str]) -> str:
    """Return an array literal of numbers, or of words without quoting."""
    return "{" + ",".join(map(str, values)) + "}"


def rows(items: Iterable[object]) -> str:
    """Return the rows as a JSON array. A row is a dict or Struct named like the columns."""
    return _encoder.encode(list(items)).decode()
