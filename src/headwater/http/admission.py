"""A limit on the request body bytes in one process.

A body is admitted by its declared length before it is read, and counts until its request is answered because
the parsed values stay in memory. This bounds memory for any number of clients. A body without room gets a
503, and its connection stays open.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Self

from headwater.http.errors import Unavailable, make_problem

MAX_BYTES = 48 * 1024 * 1024
RESERVED_BYTES = 8 * 1024 * 1024
"""Reserved for small bodies, so a few senders of large ones can't block all others."""
SMALL_BYTES = 256 * 1024

Headers = Iterable[tuple[bytes, bytes]]

FULL = "The service holds as many requests as it can; try again."


class BodyBudget:
    """The bytes that current requests may hold together."""

    def __init__(self, size: int = MAX_BYTES, reserved: int = RESERVED_BYTES) -> None:
        self._size, self._reserved = size, reserved
        self.held_bytes = 0

    def request(self, headers: Headers) -> BodyShare:
        """Account for the body of a request with these headers inside the block."""
        return BodyShare(self, headers)

    def take(self, added_bytes: int, size: int) -> None:
        """Take `added_bytes` bytes for a body that then has `size`. Raise Unavailable without room."""
        room = self._size if size <= SMALL_BYTES else self._size - self._reserved
        if self.held_bytes + added_bytes > room:
            raise Unavailable(FULL)
        self.held_bytes += added_bytes


class BodyShare:
    """A request's part of the budget, until its block ends."""

    __slots__ = ("_budget", "_headers", "size")

    def __init__(self, budget: BodyBudget, headers: Headers) -> None:
        self._budget = budget
        self._headers = headers
        self.size = 0

    def __enter__(self) -> Self:
        _current.set(self)  # in the context of the request's task, which ends with it
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.held_bytes -= self.size
        self.size = 0

    @property
    def declared(self) -> int:
        """The body's length from the head, whose format the server has checked."""
        for name, value in self._headers:
            if name == b"content-length":
                return int(value)
        return 0

    def hold(self, size: int) -> None:
        """Make room for a body of `size` bytes so far. Raise Unavailable without room."""
        extra_bytes = size - self.size
        if extra_bytes > 0:
            self._budget.take(extra_bytes, size)
            self.size = size


_current: ContextVar[BodyShare | None] = ContextVar("share", default=None)


def admit_stream(held_bytes: int, limit: int) -> None:
    """Make room for the buffered part of the current request's streamed body. Raise a 413 if its declared
    length exceeds `limit`, and Unavailable without room.
    """
    share = _current.get()
    if share is not None:
        if share.declared > limit:
            raise make_problem(413)
        share.hold(held_bytes)


def admit_body(limit: int) -> BodyShare | None:
    """Make room for the current request's complete body before reading it, and return its byte counter. Raise
    a 413 if its declared length exceeds `limit`, and Unavailable without room.
    """
    share = _current.get()
    if share is None:
        return None
    declared = share.declared
    if declared > limit:
        raise make_problem(413)
    share.hold(declared)
    return share
