"""Bounded decompression of a response: a kilobyte on the wire can unpack to a gigabyte."""

from __future__ import annotations

import zlib

_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Supported encodings, although requests accept none, to zlib's window bits."""


class BoundedBody:
    """Collects a body of at most `most` bytes; `cut` is True if there was more, or unpacking failed."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        bits = _PACKED.get(encoding.strip().lower())
        self._unpacker = None if bits is None else zlib.decompressobj(bits)
        self._most = max_bytes
        self._kept = bytearray()
        self.cut = False

    @property
    def bytes(self) -> bytes:
        return bytes(self._kept)

    def feed(self, chunk: bytes) -> bool:
        """Add a chunk of the body. Return whether to continue."""
        room = self._most - len(self._kept) + 1
        if self._unpacker is not None:
            try:
                chunk = self._unpacker.decompress(chunk, room)
            except zlib.error:
                self.cut = True
                return False
        self._kept += chunk[:room]
        if len(self._kept) > self._most:
            del self._kept[self._most :]
            self.cut = True
        return not self.cut
