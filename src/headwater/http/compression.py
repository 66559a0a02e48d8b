"""Pages and the files that they load are sent compressed to browsers that read gzip.

A page that holds a secret and also repeats what its visitor asked for has to mask the secret anew
in each answer: the length of a compressed page tells what the two have in common.
"""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

MIN_BYTES = 1000
"""A shorter body fits into one packet as it is."""
LEVEL = 6

COMPRESSED = [Middleware(GZipMiddleware, minimum_size=MIN_BYTES, compresslevel=LEVEL)]
"""The `middleware` of a route whose answers are compressed."""
