"""Bounded decompression of a response: a kilobyte on the wire can unpack to a gigabyte."""

from __future__ import annotations

import zlib

_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Supported encodings, although requests accept none, to zlib's window bits."""


class BoundedBody:
    """Collects a body of at most `max_bytes` bytes; `cut` is True if there was more, or unpacking failed."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        bits = _PACKED.get(encoding.strip().lower())
        self._unpacker = None if bits is None else zlib.decompressobj(bits)
        self._max_bytes = max_bytes
        self._content = bytearray()
        self.cut = False

    @property
    def bytes(self) -> bytes:
        return bytes(self._content)

    def feed(self, chunk: bytes) -> bool:
        """Add a chunk of the body. Return whether to continue."""
        room = self._max_bytes - len(self._content) + 1
        if self._unpacker is not None:
            try:
                chunk = self._unpacker.decompress(chunk, room)
            except zlib.error:
                self.cut = True
                return False
        self._content += chunk[:room]
        if len(self._content) > self._max_bytes:
            del self._content[self._max_bytes :]
            self.cut = True
        return not self.cut
