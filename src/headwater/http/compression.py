"""Gzip compression of pages and their files.

A page with a secret that repeats request text must mask the secret anew in each answer, because the
compressed length reveals common text.
"""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

MIN_BYTES = 1000
"""A shorter body fits into one packet uncompressed."""
LEVEL = 6

COMPRESSED = [Middleware(GZipMiddleware, minimum_size=MIN_BYTES, compresslevel=LEVEL)]
"""`middleware` for routes with compressed answers."""
