"""The errors of a request, and the one shape of their answers.

Domain functions raise them; only `respond` turns them into HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec

Errors = dict[str, list[str]]

MAX_FAULTS = 20
"""The most broken rules that an answer names: its reader mends those and sends again."""
LONGEST_NAME = 100
LONGEST_RULE = 1000
LEFT_OUT = "…"


def shorten(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text from outside, short enough for an answer or a log to repeat it."""
    return text if len(text) <= most else text[:most] + LEFT_OUT


def bound(errors: Iterable[tuple[str, list[str]]]) -> Errors:
    """Return the first MAX_FAULTS rules, with names and sentences shortened. The iterator is not read any
    further than that.
    """
    kept: Errors = {}
    left = MAX_FAULTS
    for name, rules in errors:
        shortened = [shorten(rule, LONGEST_RULE) for rule in rules[:left]]
        kept.setdefault(shorten(name), []).extend(shortened)
        left -= len(shortened)
        if left <= 0:
            break
    return kept


@dataclass(eq=False)
class Problem(Exception):
    """A request that gets an answer other than the one asked for."""

    message: str
    status: int = 500
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def body(self) -> bytes:
        """The JSON error body: `message`, and what the particular error adds."""
        return msgspec.json.encode({"message": self.message, **self.extra})


class Unauthorized(Problem):
    """401: no credential, or one that is not known."""

    def __init__(self, message: str = "Missing or invalid API key.") -> None:
        super().__init__(message, 401, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Problem):
    """403: a known credential that may not do this."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 403)


class NotFound(Problem):
    """404: nothing by that id in this Space. Takes no id, so that an id of another Space and an
    unknown one get the same bytes.
    """

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found.", 404)


class Conflict(Problem):
    """409: several rows match, or another row holds the identifier; `extra` names them."""

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message, 409, extra)


class Invalid(Problem):
    """422: input that breaks a rule, with the rule named under each field; of many, the first."""

    def __init__(self, errors: Errors, message: str | None = None) -> None:
        errors = bound(errors.items())
        first = next(iter(errors.values()))[0] if errors else "The request is invalid."
        more = sum(map(len, errors.values())) - 1
        summary = first if more < 1 else f"{first} (and {more} more error{'s' * (more > 1)})"
        super().__init__(message or summary, 422, {"errors": errors})
        self.errors = errors

    @classmethod
    def of(cls, name: str, rule: str) -> Invalid:
        """One field breaking one rule. `rule` completes the sentence "The <name> …"."""
        return cls({name: [f"The {name} {rule}"]})


class RateLimited(Problem):
    """429: the Space's minute is used up. `seconds` is when the next one begins."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            "Too many requests: the rate limit of this operation is used up.",
            429,
            headers={"Retry-After": str(max(1, seconds))},
        )


class Unavailable(Problem):
    """503: the database cannot take this now. Nothing was acknowledged; trying again
    with the same idempotency key is safe.
    """

    def __init__(self, message: str = "The service is temporarily unavailable; try again.") -> None:
        super().__init__(message, 503, headers={"Retry-After": "2"})


class NotAllowed(Problem):
    """405: the path exists, but not for this method."""

    def __init__(self, allowed: Iterable[str]) -> None:
        headers = {"Allow": ", ".join(sorted(allowed))}
        super().__init__(f"{HTTPStatus(405).phrase}.", 405, headers=headers)


def plain(status: int) -> Problem:
    """An error of the protocol itself (404, 413, …) in the shape of all others."""
    return Problem(f"{HTTPStatus(status).phrase}.", status)
