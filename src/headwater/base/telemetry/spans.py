"""Spans: timed operations, for operators who collect traces.

Code puts a span around each operation worth seeing. Without `otlp` a span costs one check of a variable, and
imports no library.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal, Protocol, Self

Attribute = str | int | float | bool
Kind = Literal["internal", "server", "client"]


class Span(Protocol):
    """A current operation. Attributes never contain personal data or outside text."""

    def note(self, name: str, value: Attribute) -> None:
        """Add an attribute."""

    def rename(self, name: str) -> None:
        """Rename the span, for example once a request's route is known."""


class Tracer(Protocol):
    def begin(
        self, name: str, kind: Kind, attributes: Mapping[str, Attribute], caller: Mapping[str, str] | None
    ) -> AbstractContextManager[Span]:
        """Return a span that lasts as long as its block. Of an error only the class is recorded."""
        ...

    def current_ids(self) -> Mapping[str, str]:
        """Return the current span's ids; empty without one."""
        ...


class _Unseen:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        pass

    def note(self, name: str, value: Attribute) -> None:
        pass

    def rename(self, name: str) -> None:
        pass


class _Tracing:
    tracer: Tracer | None = None


_UNSEEN = _Unseen()
_NOTHING: Mapping[str, Attribute] = {}


def trace_with(tracer: Tracer | None) -> None:
    """Create this process's spans with a tracer; None stops that."""
    _Tracing.tracer = tracer


def is_traced() -> bool:
    return _Tracing.tracer is not None


def span(
    name: str,
    attributes: Mapping[str, Attribute] = _NOTHING,
    *,
    kind: Kind = "internal",
    caller: Mapping[str, str] | None = None,
) -> AbstractContextManager[Span]:
    """Return a span around a block, inside the current span or the one in a caller's headers."""
    tracer = _Tracing.tracer
    return _UNSEEN if tracer is None else tracer.begin(name, kind, attributes, caller)


def inner_span(name: str, attributes: Mapping[str, Attribute], kind: Kind) -> AbstractContextManager[Span]:
    """Return a span around a part of another span. Without a current span nothing is recorded, for example
    while a process polls for work.
    """
    return span(name, attributes, kind=kind) if current_ids() else _UNSEEN


def current_ids() -> Mapping[str, str]:
    """Return `trace_id` and `span_id` of the current span; empty without one."""
    tracer = _Tracing.tracer
    return {} if tracer is None else tracer.current_ids()
