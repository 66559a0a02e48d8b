"""Streamed forms with a file: fields first, then the file in chunks.

Only a few chunks are in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import cast

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from headwater.console.forms import PostedForm, refuse_foreign
from headwater.http.bodies import HELD_BYTES, Disconnected, FileTooLarge, admit_upload
from headwater.http.errors import Invalid, make_problem

MAX_FIELD = 64 * 1024
MAX_FIELDS = 50
_UNREADABLE: dict[str, list[str]] = {"file": ["The upload can't be read. Upload the file again."]}


class MultipartForm:
    def __init__(self, request: Request, limit: int) -> None:
        """Limit the file to `limit` bytes. Raise a 415 for another kind of body, Forbidden for another site's
        form.
        """
        refuse_foreign(request)
        kind, options = parse_options_header(request.headers.get("content-type"))
        boundary = options.get(b"boundary", b"")
        is_form = kind == b"multipart/form-data" and 0 < len(boundary) <= 70
        if not is_form or "content-encoding" in request.headers:
            raise make_problem(415)
        self._receive, self._limit = request.receive, limit
        self._parts = _Parts(boundary)
        self._has_more = True
        admit_upload(request, 2 * limit + HELD_BYTES)

    async def fields(self) -> tuple[PostedForm, str]:
        """Return the fields and the file's name, empty without one. Raise Invalid."""
        while self._has_more and self._parts.file_name is None:
            await self._read()
        return PostedForm(tuple(self._parts.fields)), self._parts.file_name or ""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the file's bytes. Raise FileTooLarge past the limit, Invalid if the form breaks off.

        Reads an oversized file to its end first: a browser still sending would report a failed connection.
        """
        size = 0
        while True:
            while self._parts.pieces:
                chunk = self._parts.pieces.popleft()
                size += len(chunk)
                if size <= self._limit:
                    yield chunk
            if not self._has_more or size > 2 * self._limit:
                break
            await self._read()
        if size > self._limit:
            raise FileTooLarge(self._limit)
        if not self._parts.is_complete:
            raise Invalid(_UNREADABLE)

    async def _read(self) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        self._has_more = cast("bool", message.get("more_body", False))
        try:
            self._parts.feed(message.get("body", b""))
        except (MultipartParseError, UnicodeDecodeError):
            raise Invalid(_UNREADABLE) from None


class _Parts:
    def __init__(self, boundary: bytes) -> None:
        self.fields: list[tuple[str, str]] = []
        self.file_name: str | None = None
        """None until the file begins."""
        self.pieces: deque[bytes] = deque()
        self.is_complete = False
        self._header = self._value = b""
        self._disposition = b""
        self._name = ""
        self._field: bytearray | None = None
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._add_to_header,
                "on_header_value": self._add_to_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._open,
                "on_part_data": self._add,
                "on_part_end": self._end,
                "on_end": self._finish,
            },
        )

    def feed(self, data: bytes) -> None:
        self._parser.write(data)

    def _begin(self) -> None:
        self._disposition, self._field = b"", None

    def _add_to_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _open(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode()
        if b"filename" in options and self.file_name is None:
            self.file_name = options[b"filename"].decode()
        elif self.file_name is None and len(self.fields) < MAX_FIELDS:
            self._field = bytearray()
        else:
            raise Invalid(_UNREADABLE)  # data after the file, or too much before it

    def _add(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self.pieces.append(data[start:end])
            return
        self._field += data[start:end]
        if len(self._field) > MAX_FIELD:
            raise Invalid(_UNREADABLE)

    def _end(self) -> None:
        if self._field is not None:
            self.fields.append((self._name, self._field.decode()))

    def _finish(self) -> None:
        self.is_complete = True
