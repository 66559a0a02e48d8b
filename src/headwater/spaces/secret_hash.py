"""What is stored of secrets that we made ourselves: tokens, cookies, links. They have 256 random
bits, which need no slow hash.
"""

from __future__ import annotations

import hashlib


def hash_secret(secret: str) -> bytes:
    """Its SHA-256; any text has one, as anything can be sent as a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
