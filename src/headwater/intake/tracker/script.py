"""Serve the tracking script, minified once at start."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from importlib.resources import files
from typing import Any, cast

from rjsmin import jsmin  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from headwater.intake.ingest.endpoints import Send

_PLACEHOLDER = "__ENDPOINT__"
_NONE = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*")
_HEADERS = [
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cache-control", b"public, max-age=3600, stale-while-revalidate=86400"),
    (b"vary", b"Accept-Encoding"),
    # Other origins load it, including isolated pages.
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"access-control-allow-origin", b"*"),
]


def make_script(script: str, endpoint: str) -> bytes:
    """Build the script served at `script`. It finds `endpoint` relative to its own URL, so that a proxy can
    move both.
    """
    source = files("headwater.intake.tracker").joinpath("tracker.js").read_text(encoding="utf-8")
    minified = cast("str", jsmin(source))
    relative = posixpath.relpath(endpoint, posixpath.dirname(script))
    return minified.replace(_PLACEHOLDER, relative).encode()


class ScriptEndpoint:
    def __init__(self, script: str, endpoint: str) -> None:
        plain = make_script(script, endpoint)
        etag = hashlib.sha256(plain).hexdigest()[:32]
        packed_script = gzip.compress(plain, 9, mtime=0)
        self._plain = _make_entity(plain, f'"{etag}"')
        self._packed = _make_entity(packed_script, f'"{etag}-gzip"', (b"content-encoding", b"gzip"))

    async def __call__(self, scope: Any, _: Any, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        takes_gzip = _takes_gzip(headers.get(b"accept-encoding", b"").decode("latin-1"))
        body, entity_headers = self._packed if takes_gzip else self._plain
        tags = headers.get(b"if-none-match", b"")
        etag = dict(entity_headers)[b"etag"]
        if etag in tags or tags.strip() == b"*":
            entity_headers = [header for header in entity_headers if header[0] != b"content-length"]
            await send({"type": "http.response.start", "status": 304, "headers": entity_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["method"] == "HEAD":
            body = b""
        await send({"type": "http.response.start", "status": 200, "headers": entity_headers})
        await send({"type": "http.response.body", "body": body})


def _takes_gzip(encodings: str) -> bool:
    for encoding in encodings.lower().split(","):
        name, _, weight = encoding.partition(";")
        if name.strip() in ("gzip", "*"):
            return _NONE.fullmatch(weight) is None
    return False


def _make_entity(
    body: bytes, etag: str, *headers: tuple[bytes, bytes]
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    length = (b"content-length", b"%d" % len(body))
    return body, [*_HEADERS, (b"etag", etag.encode()), length, *headers]
