from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from psycopg import Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.companies.assignment import Companies

queries = Queries(__name__, "assignment.sql")


def request_companies(
    connection: Connection[Any], space_id: int, domains: Collection[str], external_ids: Collection[str]
) -> Callable[[], Companies]:
    """Start loading companies; the result fetches them."""
    companies = Companies()
    if not domains and not external_ids:
        return lambda: companies
    values = {"space_id": space_id, "domains": list(domains), "external_ids": list(external_ids)}
    cursor = connection.execute(queries["load"], values)

    def fetch() -> Companies:
        for row in cursor:
            companies.add_stored(row)
        return companies

    return fetch


def write_companies(connection: Connection[Any], space_id: int, companies: Companies) -> None:
    if companies.created:
        new_companies = [
            {
                "id": company.id,
                "domain": company.domain,
                "external_id": company.external_id,
                "name": company.name,
                "created_at": company.created_at,
            }
            for company in companies.created
        ]
        connection.execute(queries["create"], {"space_id": space_id, "companies": rows(new_companies)})
    renamed_rows = [
        {"space_id": space_id, "id": company.id, "name": company.name} for company in companies.list_changed()
    ]
    if renamed_rows:
        connection.cursor().executemany(queries["rename"], renamed_rows)
