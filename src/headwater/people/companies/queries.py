from __future__ import annotations

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_optional
from headwater.http.errors import require_found
from headwater.http.inputs.pagination import Page, Position, make_page, sort_direction, time_bounds, to_key
from headwater.http.inputs.timerange import TimeRange

queries = Queries(__name__, "companies.sql")


class ListCompanies(Struct, frozen=True):
    """A validated request."""

    created: TimeRange
    per_page: int
    position: Position | None
    """None for the first page."""


async def list_companies(connection: AsyncConnection, space_id: int, request: ListCompanies) -> Page:
    statement = queries["page"].format(order=sort_direction(request.position))
    bound = {
        "space_id": space_id,
        "limit": request.per_page + 1,
        **time_bounds(request.created, request.position),
    }
    # Not prepared: a plan that doesn't know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), request.per_page, request.position, to_key)


async def fetch_company(connection: AsyncConnection, space_id: int, company_id: int) -> str:
    """Return a company as JSON. Raises NotFound."""
    values = {"space_id": space_id, "company_id": company_id}
    return require_found(await fetch_optional(connection, queries["fetch"], values), "Company")[0]


async def require_company(connection: AsyncConnection, space_id: int, company_id: int) -> None:
    """Raise NotFound unless the Space has this company."""
    values = {"space_id": space_id, "company_id": company_id}
    require_found(await fetch_optional(connection, queries["exists"], values), "Company")
