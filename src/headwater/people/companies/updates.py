"""Change companies. A company's domain and external id decide which company later events join, so
they change under the lock that the pipeline takes; contacts stay where they are.
"""

from __future__ import annotations

from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from headwater.database.queries import fetch_one, fetch_optional
from headwater.http.errors import Conflict
from headwater.http.inputs.fields import CONTROL_CHARACTERS, NULL, text_up_to
from headwater.http.inputs.objects import Property, object_of, parse_body
from headwater.people.companies.domains import parse_company_domain
from headwater.people.companies.models import CompanyChange
from headwater.people.companies.queries import queries, require_company
from headwater.spaces.locks import lock_identities

LONGEST_DOMAIN = 255
LONGEST_EXTERNAL_ID = 190
LONGEST_NAME = 255

_NOT_IN_A_HOST = rf"\s{CONTROL_CHARACTERS}\x80-\x9f@/"

_DOMAIN = (
    text_up_to(
        LONGEST_DOMAIN,
        trim=True,
        rule="must be a string or null.",
        length_rule=f"must be at most {LONGEST_DOMAIN} characters long.",
    )
    .then(parse_company_domain)
    .or_none()
    .documented(
        anyOf=[
            {"type": "string", "pattern": rf"^\s*[^{_NOT_IN_A_HOST}]*\s*$", "maxLength": LONGEST_DOMAIN},
            NULL,
        ]
    )
)
_EXTERNAL_ID = (
    text_up_to(
        LONGEST_EXTERNAL_ID,
        trim=True,
        integers=True,
        rule="must be a string, an integer or null.",
        length_rule=f"must be at most {LONGEST_EXTERNAL_ID} characters long.",
    )
    .or_none()
    .documented(anyOf=[{"type": "string", "maxLength": LONGEST_EXTERNAL_ID}, {"type": "integer"}, NULL])
)
_NAME = text_up_to(
    LONGEST_NAME,
    shortest=1,
    trim=True,
    rule="must be a string.",
    length_rule=f"must have 1 to {LONGEST_NAME} characters.",
).documented(type="string", pattern=r"\S", maxLength=LONGEST_NAME)

CHANGE = object_of(
    {
        "domain": Property(
            _DOMAIN,
            "A registrable domain, with or without `www.`. Mail providers are refused. Null or "
            "blank releases it.",
        ),
        "external_id": Property(_EXTERNAL_ID, "Trimmed, compared as written. Null or blank releases it."),
        "name": Property(_NAME),
    },
    if_empty="At least one of domain, external_id or name must be provided.",
).then(CompanyChange)


def read_change(body: dict[str, Any]) -> CompanyChange:
    """Read the change of a company from a body. Raises Invalid with every rule it breaks."""
    return parse_body(CHANGE, body)


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
        message = f"The {field} belongs to another company."
        raise Conflict(message, field=field, conflicting_company_id=holder)
    if change.values:
        columns = SQL(", ").join(SQL("{0} = d.{0}").format(Identifier(name)) for name in change.values)
        values = company | {"change": msgspec.json.encode(change.values).decode()}
        await connection.execute(queries["change"].format(columns=columns), values)
    row = await fetch_one(connection, queries["changed"], company)
    return row[0]
