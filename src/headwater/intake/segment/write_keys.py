"""Read the write key of a request."""

from __future__ import annotations

import base64
import binascii
from typing import Any

LONGEST_KEY = 512


def read_write_key(authorization: bytes | None, in_body: Any) -> str:
    """Return the user name of basic authentication, or else the key in the body; empty without any."""
    scheme, _, encoded = (authorization or b"").partition(b" ")
    if scheme.lower() == b"basic" and len(encoded) <= LONGEST_KEY:
        try:
            user = base64.b64decode(encoded.strip(), validate=True).partition(b":")[0].decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            user = ""
        if user:
            return user
    return in_body if isinstance(in_body, str) and len(in_body) <= LONGEST_KEY else ""
