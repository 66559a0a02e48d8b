"""Endpoint definitions.

Each package has a table of operations beside its handlers. Routes, the OpenAPI document and rate limits are
generated from the tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, Literal, TypeVar

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.endpoints.calls import Call
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.keys import Scope

Row = TypeVar("Row")
Schema = dict[str, Any]
Method = Literal["DELETE", "GET", "PATCH", "POST", "PUT"]
Answer = Struct | bytes | str
"""A handler's result: the struct, or JSON made by the database."""
Handler = Callable[[Call], Awaitable[Answer | Response]]

ERRORS_OF_ALL = (401, 403, 422, 429, 503)
ERRORS_OF_BODIES = (413, 415)


class PathParameter(Struct, frozen=True):
    name: str
    description: str
    schema: Schema
    convertor: str = ""
    """The router's pattern, if it isn't one path segment."""

    @property
    def pattern(self) -> str:
        """Return the parameter in the router's syntax."""
        return f"{{{self.name}:{self.convertor}}}" if self.convertor else f"{{{self.name}}}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    id: str
    method: Method
    path: str
    """Path below the API's prefix, with `{name}` for each of `path_parameters`."""
    tag: str
    """Its subject in the reference."""
    summary: str
    description: str = ""
    """A sentence or two for the reference, by default the handler's docstring."""
    scope: Scope
    limit: RateLimit
    path_parameters: Sequence[PathParameter] = ()
    parameters: Sequence[Schema] = ()
    """Query parameters in OpenAPI form."""
    body: Schema | None = None
    """Request body in OpenAPI form."""
    status: int = 200
    answer: type[Struct] | Schema
    """The answer's type, or an OpenAPI response."""
    text_types: Sequence[str] = ()
    """Other media types of the answer, for requests that accept them."""
    headers: Schema = field(default_factory=Schema)
    """Headers of the answer besides the rate limit's."""
    links: Schema | None = None
    """Operations that continue with the answer's values."""
    conflict: type[Struct] | Schema | None = None
    """Type of the 409 answer, if there can be one."""
    errors: Sequence[int] = ()
    """Statuses of errors that not every operation has."""
    changes: Sequence[Kind] = ()
    """What the audit log compares before and after. Handlers note changes of other records themselves."""
    handler: Handler | None
    """None if a package serves the operation with its own ASGI application."""

    def describe(self) -> str:
        return self.description or cleandoc(getattr(self.handler, "__doc__", None) or "")

    def error_statuses(self) -> list[int]:
        body_errors = ERRORS_OF_BODIES if self.body is not None else ()
        return sorted({*ERRORS_OF_ALL, *body_errors, *self.errors})


def changes_row(
    id_name: str,
    change: Callable[[AsyncConnection, int, int], Awaitable[Row]],
    describe: Callable[[Row], Struct],
) -> Handler:
    """Return a handler that changes the row with the id in the path, and describes it."""

    async def change_row(call: Call) -> Struct:
        row_id = call.path_id(id_name)
        async with call.change() as connection:
            row = await change(connection, call.space_id, row_id)
        return describe(row)

    return change_row


def limits_by_bucket(limits: Iterable[RateLimit]) -> Mapping[str, RateLimit]:
    """Return the rate limits by bucket. Raise ValueError for two limits of one bucket."""
    by_bucket: dict[str, RateLimit] = {}
    for limit in limits:
        if by_bucket.setdefault(limit.bucket, limit) != limit:
            raise ValueError(f"the bucket {limit.bucket} has two limits")
    return by_bucket
