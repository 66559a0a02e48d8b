"""Change companies, under the pipeline's lock because domain and external id assign later events. Contacts
stay.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from headwater.database.queries import fetch_one, fetch_optional
from headwater.http.errors import Conflict
from headwater.http.inputs.fields import CONTROL_CHARACTERS, NULL, text_up_to
from headwater.http.inputs.objects import Property, object_of, parse_body
from headwater.people.companies.domains import parse_company_domain
from headwater.people.companies.queries import queries, require_company
from headwater.spaces.locks import lock_identities

MAX_DOMAIN_LENGTH = 255
MAX_EXTERNAL_ID_LENGTH = 190
MAX_NAME_LENGTH = 255

_NOT_IN_A_HOST = rf"\s{CONTROL_CHARACTERS}\x80-\x9f@/"

_DOMAIN = (
    text_up_to(
        MAX_DOMAIN_LENGTH,
        trim=True,
        rule="must be a string or null.",
        length_rule=f"must be at most {MAX_DOMAIN_LENGTH} characters long.",
    )
    .then(parse_company_domain)
    .or_none()
    .documented(
        anyOf=[
            {"type": "string", "pattern": rf"^\s*[^{_NOT_IN_A_HOST}]*\s*$", "maxLength": MAX_DOMAIN_LENGTH},
            NULL,
        ]
    )
)
_EXTERNAL_ID = (
    text_up_to(
        MAX_EXTERNAL_ID_LENGTH,
        trim=True,
        integers=True,
        rule="must be a string, an integer or null.",
        length_rule=f"must be at most {MAX_EXTERNAL_ID_LENGTH} characters long.",
    )
    .or_none()
    .documented(anyOf=[{"type": "string", "maxLength": MAX_EXTERNAL_ID_LENGTH}, {"type": "integer"}, NULL])
)
_NAME = text_up_to(
    MAX_NAME_LENGTH,
    shortest=1,
    trim=True,
    rule="must be a string.",
    length_rule=f"must have 1 to {MAX_NAME_LENGTH} characters.",
).documented(type="string", pattern=r"\S", maxLength=MAX_NAME_LENGTH)


class CompanyChange(Struct, frozen=True):
    values: dict[str, str | None]
    """New values of `domain`, `external_id` and `name`. Absent columns stay."""


CHANGE = object_of(
    {
        "domain": Property(
            _DOMAIN,
            "A registrable domain, with or without `www.`. Email providers are refused. Null or "
            "blank clears it.",
        ),
        "external_id": Property(_EXTERNAL_ID, "Trimmed, case-sensitive. Null or blank clears it."),
        "name": Property(_NAME),
    },
    if_empty="At least one of domain, external_id or name must be provided.",
).then(CompanyChange)


def read_change(body: dict[str, Any]) -> CompanyChange:
    """Raise Invalid with every broken rule."""
    return parse_body(CHANGE, body)


async def update_company(
    connection: AsyncConnection, space_id: int, company_id: int, change: CompanyChange
) -> str:
    """Return the changed company as JSON. Raises NotFound, or Conflict with the `field` and id of a company
    that has it.
    """
    await lock_identities(connection, space_id)
    await require_company(connection, space_id, company_id)
    company = {"space_id": space_id, "company_id": company_id}
    claims = {name: change.values.get(name) for name in ("domain", "external_id")}
    if conflict_row := await fetch_optional(connection, queries["claimed"], company | claims):
        field, claimant = conflict_row
        message = f"The {field} belongs to another company."
        raise Conflict(message, field=field, conflicting_company_id=claimant)
    if change.values:
        columns = SQL(", ").join(SQL("{0} = d.{0}").format(Identifier(name)) for name in change.values)
        values = company | {"change": msgspec.json.encode(change.values).decode()}
        await connection.execute(queries["change"].format(columns=columns), values)
    row = await fetch_one(connection, queries["changed"], company)
    return row[0]
