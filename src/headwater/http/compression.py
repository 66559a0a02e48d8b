"""Pages and their files are sent compressed to browsers that accept gzip.

A page that contains a secret and repeats text from its request must mask the secret anew in each answer: the
compressed length reveals what the two have in common.
"""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

MIN_BYTES = 1000
"""A shorter body fits into one packet as it is."""
LEVEL = 6

COMPRESSED = [Middleware(GZipMiddleware, minimum_size=MIN_BYTES, compresslevel=LEVEL)]
"""The `middleware` of a route whose answers are compressed."""
