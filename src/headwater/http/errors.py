"""Request errors and their common answer format.

Domain functions raise them; only the application turns them into HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Rows = TypeVar("Rows", bound=int | list[Any])

Errors = dict[str, list[str]]

MAX_FAULTS = 20
"""Maximum errors in an answer."""
LONGEST_NAME = 100
LONGEST_RULE = 1000
LEFT_OUT = "…"


def shorten(text: str, limit: int = LONGEST_NAME) -> str:
    """Return outside text, shortened for an answer or a log."""
    return text if len(text) <= limit else text[:limit] + LEFT_OUT


def bound(errors: Iterable[tuple[str, list[str]]]) -> Errors:
    """Return the first MAX_FAULTS errors, with shortened texts. Reads the iterator no further."""
    bounded_errors: Errors = {}
    remaining_count = MAX_FAULTS
    for name, rules in errors:
        shortened = [shorten(rule, LONGEST_RULE) for rule in rules[:remaining_count]]
        bounded_errors.setdefault(shorten(name), []).extend(shortened)
        remaining_count -= len(shortened)
        if remaining_count <= 0:
            break
    return bounded_errors


def list_rules(errors: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the sentences of all fields."""
    return [rule for rules in errors.values() for rule in rules]


def join_rules(errors: Mapping[str, Iterable[str]]) -> str:
    """Return the sentences of all fields as one text."""
    return " ".join(list_rules(errors))


def make_sentence(text: str) -> str:
    """Return a rule or a reason with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


@dataclass(eq=False)
class Problem(Exception):
    """A request that can't be answered as requested."""

    message: str
    status: int = 500
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def body(self) -> bytes:
        """Return the JSON error body: `message` and the error's own members."""
        return msgspec.json.encode({"message": self.message, **self.extra})


class Unauthorized(Problem):
    """401: a missing, unknown or expired credential."""

    def __init__(self, message: str = "Missing or invalid API key.") -> None:
        super().__init__(message, 401, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Problem):
    """403: a valid credential without the permission."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 403)


class FormRefused(Forbidden):
    """403: a form that is not from our own page, is too old, or was sent before."""


class NotFound(Problem):
    """404: no such id in this Space. It takes no id, so an id of another Space and an unknown one get the
    same bytes.
    """

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found.", 404)


def require_found(value: T | None, noun: str) -> T:
    """Return a value that a query has found. Raise NotFound for None."""
    if value is None:
        raise NotFound(noun)
    return value


def require_any(rows: Rows, noun: str) -> Rows:
    """Return the rows that a query has found, or the number that it has changed. Raise NotFound for none."""
    if not rows:
        raise NotFound(noun)
    return rows


class Conflict(Problem):
    """409: several rows match, or another row has the identifier; `extra` lists them."""

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message, 409, extra)


class Invalid(Problem):
    """422: invalid input, with errors by field, limited in number."""

    def __init__(self, errors: Errors, message: str | None = None) -> None:
        errors = bound(errors.items())
        first = next(iter(errors.values()))[0] if errors else "The request is invalid."
        more_count = sum(map(len, errors.values())) - 1
        summary = (
            first if more_count < 1 else f"{first} (and {more_count} more error{'s' * (more_count > 1)})"
        )
        super().__init__(message or summary, 422, {"errors": errors})
        self.errors = errors

    @classmethod
    def of(cls, name: str, rule: str) -> Invalid:
        """Return an error for one field. `rule` completes the sentence "The <name> …"."""
        return cls.of_rules({name: rule})

    @classmethod
    def of_rules(cls, rules: Mapping[str, str]) -> Invalid:
        """Return the errors of several fields, one rule each."""
        return cls({name: [f"The {name} {rule}"] for name, rule in rules.items()})


class RateLimited(Problem):
    """429: the Space's rate limit is used up. `seconds` is the time to the next minute."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            "Too many requests: the rate limit of this operation is used up.",
            429,
            headers={"Retry-After": str(max(1, seconds))},
        )


class Unavailable(Problem):
    """503: the database can't accept this now. Nothing was acknowledged; retrying with the same idempotency
    key is safe.
    """

    def __init__(self, message: str = "The service is temporarily unavailable; try again.") -> None:
        super().__init__(message, 503, headers={"Retry-After": "2"})


class NotAllowed(Problem):
    """405: the path exists, but not for this method."""

    def __init__(self, methods: Iterable[str]) -> None:
        headers = {"Allow": ", ".join(sorted(methods))}
        super().__init__(f"{HTTPStatus(405).phrase}.", 405, headers=headers)


_PHRASES = {413: "Content Too Large", 414: "URI Too Long"}
"""The names of RFC 9110, where Python before 3.13 has older ones."""


def make_problem(status: int) -> Problem:
    """Return an HTTP protocol error (404, 413, …) in the common format."""
    return Problem(f"{_PHRASES.get(status) or HTTPStatus(status).phrase}.", status)
