"""The one definition of an endpoint. Each package that has endpoints keeps a table of these beside its
handlers; the routes, the OpenAPI document and the rate limits are all made of the tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, Literal

from msgspec import Struct
from starlette.responses import Response

from headwater.endpoints.calls import Call
from headwater.http.rate_limits import RateLimit
from headwater.spaces.keys import Scope

Schema = dict[str, Any]
Method = Literal["DELETE", "GET", "PATCH", "POST", "PUT"]
Answer = Struct | bytes | str
"""What a handler returns: the struct, or its JSON where the database has made it."""
Handler = Callable[[Call], Awaitable[Answer | Response]]

ERRORS_OF_ALL = (401, 403, 422, 429, 503)
ERRORS_OF_BODIES = (413, 415)


@dataclass(frozen=True)
class PathParameter:
    """A parameter in a path."""

    name: str
    description: str
    schema: Schema
    convertor: str = ""
    """The router's pattern for it, where it is not one segment of the path."""

    @property
    def pattern(self) -> str:
        """The parameter as the router writes it."""
        return f"{{{self.name}:{self.convertor}}}" if self.convertor else f"{{{self.name}}}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """An endpoint of the API."""

    id: str
    method: Method
    path: str
    """The path below the API's prefix, with `{name}` for each of `path_parameters`."""
    tag: str
    """Its subject in the reference."""
    summary: str
    description: str = ""
    """A sentence or two for the reference; the handler's docstring where none is written here."""
    scope: Scope
    """The scope that a key needs."""
    limit: RateLimit
    path_parameters: Sequence[PathParameter] = ()
    parameters: Sequence[Schema] = ()
    """The query parameters, as the document describes them."""
    body: Schema | None = None
    """The request body, as the document describes it."""
    status: int = 200
    answer: type[Struct] | Schema
    """The type of the answer with this status, or the response as the document describes it."""
    headers: Schema = field(default_factory=Schema)
    """Headers of the answer besides those of the rate limit."""
    links: Schema | None = None
    """Operations that continue with the answer's values."""
    conflict: type[Struct] | Schema | None = None
    """The type of the answer 409, for an operation that can conflict."""
    errors: Sequence[int] = ()
    """The statuses of the errors that not every operation has."""
    handler: Handler | None
    """None for an operation that a package serves by an ASGI application of its own."""

    def describe(self) -> str:
        """Return the description, or nothing where there is none."""
        return self.description or cleandoc(getattr(self.handler, "__doc__", None) or "")

    def error_statuses(self) -> list[int]:
        """Return the statuses of all errors but the conflict."""
        of_bodies = ERRORS_OF_BODIES if self.body is not None else ()
        return sorted({*ERRORS_OF_ALL, *of_bodies, *self.errors})


def limits_by_bucket(limits: Iterable[RateLimit]) -> Mapping[str, RateLimit]:
    """Return the rate limits by bucket. Raises ValueError for two numbers of one bucket."""
    by_bucket: dict[str, RateLimit] = {}
    for limit in limits:
        if by_bucket.setdefault(limit.bucket, limit) != limit:
            raise ValueError(f"the bucket {limit.bucket} has two limits")
    return by_bucket
