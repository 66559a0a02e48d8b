"""Start site tests and judge them."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

import msgspec
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from headwater.alerts.site_tests.arrivals import read_arrivals
from headwater.alerts.site_tests.findings import judge
from headwater.alerts.site_tests.models import PageProbe, SiteEvidence, SiteFacts, SiteTest, SiteVerdict
from headwater.database.queries import Queries, fetch_optional
from headwater.http.errors import Invalid
from headwater.spaces.sites.origins import FORMS, OPAQUE, is_among, read_pasted_origins
from headwater.spaces.sites.refusals import list_refusals
from headwater.spaces.sites.sites import Site

queries = Queries(__name__, "site_tests.sql")

LONGEST_URL = 1_500
BEFORE = timedelta(minutes=1)
"""Refusals are recorded once, so a lasting fault may date from before the test."""


def read_page_url(text: str, site: Site) -> str:
    """Accept a page of the site. Raises Invalid with advice."""
    pasted_text = text.strip()
    refusal = None
    try:
        origins = read_pasted_origins(pasted_text)
    except ValueError as error:
        origins, refusal = [], str(error)
    if len(origins) != 1 or len(pasted_text) > LONGEST_URL or not pasted_text.isprintable():
        refusal = refusal or f"Enter the address of a page of the shop, {FORMS.split(',')[0]}."
        raise Invalid({"url": [refusal]})
    origin = origins[0]
    if "*" in origin or origin == OPAQUE or not is_among(origin, site.origins):
        examples = ", ".join(site.origins[:3])
        refusal = (
            f"{origin} is not an address of the site ({examples}). Use one of these, or add it in the"
            " site's settings first."
        )
        raise Invalid({"url": [refusal]})
    address = pasted_text.partition("://")[2] or pasted_text
    authority_ends = min((index for index in map(address.find, "/?#") if index >= 0), default=len(address))
    path = address[authority_ends:].partition("#")[0]
    return f"{origin}{path if path.startswith('/') else f'/{path}'}"


async def start_test(connection: AsyncConnection, space_id: int, site: Site, url: str) -> SiteTest:
    values = {
        "space_id": space_id,
        "site_id": site.id,
        "url": url,
        "click_id": f"hwtest-{secrets.token_hex(8)}",
    }
    await connection.execute(queries["start"], values)
    test = await fetch_test(connection, space_id, site.id)
    assert test is not None
    return test


async def write_probe(
    connection: AsyncConnection, space_id: int, site_id: int, click_id: str, probe: PageProbe
) -> None:
    """Store nothing if a newer test has begun."""
    values = {
        "space_id": space_id,
        "site_id": site_id,
        "click_id": click_id,
        "probe": Jsonb(msgspec.to_builtins(probe)),
    }
    await connection.execute(queries["write_probe"], values)


async def fetch_test(connection: AsyncConnection, space_id: int, site_id: int) -> SiteTest | None:
    values = {"space_id": space_id, "site_id": site_id}
    row = await fetch_optional(connection.cursor(row_factory=dict_row), queries["fetch"], values)
    return None if row is None else msgspec.convert(row, SiteTest)


async def judge_test(
    connection: AsyncConnection,
    space_id: int,
    facts: SiteFacts,
    site_id: int,
    test: SiteTest,
    *,
    declines_tracking: bool,
) -> SiteVerdict:
    refusals = await list_refusals(connection, space_id, site_id, test.started_at - BEFORE)
    return judge(
        SiteEvidence(
            site=facts,
            test=test,
            arrivals=await read_arrivals(connection, space_id, facts.origins, test),
            now=datetime.now(UTC),
            refusals={refusal.reason: refusal for refusal in refusals},
            declines_tracking=declines_tracking,
        )
    )
