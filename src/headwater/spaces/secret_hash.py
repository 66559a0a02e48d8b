"""Hashes of tokens, cookies and links. They have 256 random bits, which need no slow hash."""

from __future__ import annotations

import hashlib


def hash_secret(secret: str) -> bytes:
    """Return the SHA-256 of a secret. Accepts any text."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
