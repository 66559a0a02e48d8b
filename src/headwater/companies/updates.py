"""Companies changed. What they hold claims on, a domain and an external id, decides which company
later events join, so it changes under the lock that the pipeline takes; contacts stay where they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.companies.domains import parse_company_domain
from headwater.companies.models import CompanyChange
from headwater.companies.queries import queries, require_company
from headwater.database.queries import fetch_one, fetch_optional
from headwater.http.errors import Conflict, Errors, Invalid
from headwater.spaces.spaces import lock_identities

LONGEST_DOMAIN = 255
LONGEST_EXTERNAL_ID = 190
LONGEST_NAME = 255

NOT_IN_A_HOST = r"\s\x00-\x1f\x7f-\x9f@/"


def read_change(body: dict[str, Any]) -> CompanyChange:
    """What a body asks to change. Raises Invalid with every rule it breaks."""
    values: dict[str, str | None] = {}
    errors: Errors = {}
    for name, parse in _PARSERS.items():
        if name in body:
            try:
                values[name] = parse(body[name])
            except Invalid as error:
                errors |= error.errors
    if errors:
        raise Invalid(errors)
    if not values:
        rule = "At least one of domain, external_id or name must be provided."
        raise Invalid({"body": [rule]})
    return CompanyChange(values)


async def update_company(
    connection: AsyncConnection, space_id: int, company_id: int, change: CompanyChange
) -> str:
    """Apply a change and return the company as JSON. Raises NotFound, or Conflict with the `field`
    that another company has and its `conflicting_company_id`.
    """
    await lock_identities(connection, space_id)
    await require_company(connection, space_id, company_id)
    company = {"space_id": space_id, "company_id": company_id}
    wanted = {name: change.values.get(name) for name in ("domain", "external_id")}
    claimed = await fetch_optional(connection, queries["claimed"], company | wanted)
    if claimed:
        field, holder = claimed
        told = f"The {field} belongs to another company."
        raise Conflict(told, field=field, conflicting_company_id=holder)
    values = company | {"change": msgspec.json.encode(change.values).decode()}
    row = await fetch_one(connection, queries["change"], values)
    return row[0]


def _domain(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Invalid.of("domain", "must be a string or null.")
    domain = value.strip()
    if len(domain) > LONGEST_DOMAIN:
        raise Invalid.of("domain", f"must be at most {LONGEST_DOMAIN} characters long.")
    try:
        return parse_company_domain(domain) if domain else None
    except ValueError as error:
        raise Invalid.of("domain", str(error)) from None


def _external_id(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Invalid.of("external_id", "must be a string, an integer or null.")
    external_id = str(value).strip()
    if len(external_id) > LONGEST_EXTERNAL_ID:
        raise Invalid.of("external_id", f"must be at most {LONGEST_EXTERNAL_ID} characters long.")
    return external_id or None


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid.of("name", "must be a string.")
    name = value.strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Invalid.of("name", f"must have 1 to {LONGEST_NAME} characters.")
    return name


_PARSERS: dict[str, Callable[[object], str | None]] = {
    "domain": _domain,
    "external_id": _external_id,
    "name": _name,
}
"""How the value of each key is read; each raises Invalid with the rule it breaks."""
