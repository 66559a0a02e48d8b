"""Companies read back: one page of them, or one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.companies.models import ListCompanies
from headwater.database.statements import Statements
from headwater.http.errors import NotFound
from headwater.http.pagination import Page, page_of

STATEMENTS = Statements(__name__, "companies.sql")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")


async def list_companies(connection: AsyncConnection, space_id: int, asked: ListCompanies) -> Page:
    """One page, newest first."""
    # A position lies inside the window, so it takes the place of the end that is behind the reader.
    oldest, newest = (asked.created.start, 0), (asked.created.end, 0)
    backward = asked.at is not None and asked.at.backward
    if asked.at:
        microseconds, company_id = asked.at.key
        place = (_EPOCH + microseconds * _MICROSECOND, company_id)
        oldest, newest = (place, newest) if backward else (oldest, place)
    statement = STATEMENTS["page"].format(order=_OLDEST_FIRST if backward else _NEWEST_FIRST)
    bound = {"space_id": space_id, "limit": asked.per_page + 1}
    bound |= {"after_time": oldest[0], "after_id": oldest[1]}
    bound |= {"before_time": newest[0], "before_id": newest[1]}
    # Not prepared: a plan that does not know the limit and the range may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return page_of(await cursor.fetchall(), asked.per_page, asked.at, _to_key)


async def fetch_company(connection: AsyncConnection, space_id: int, company_id: int) -> str:
    """One company as JSON. Raises NotFound."""
    values = {"space_id": space_id, "company_id": company_id}
    row = await (await connection.execute(STATEMENTS["fetch"], values)).fetchone()
    if row is None:
        raise NotFound("Company")
    return row[0]


async def require_company(connection: AsyncConnection, space_id: int, company_id: int) -> None:
    """Raises NotFound unless the Space has this company."""
    values = {"space_id": space_id, "company_id": company_id}
    if await (await connection.execute(STATEMENTS["exists"], values)).fetchone() is None:
        raise NotFound("Company")


def _to_key(values: tuple[Any, ...]) -> tuple[int, ...]:
    """Creation in microseconds since 1970, and the id."""
    created_at, company_id = values
    return (created_at - _EPOCH) // _MICROSECOND, company_id
