"""A list needs as many statements for many rows as for one. Nothing is queried row by row."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest

from headwater.api.operations import OPERATIONS
from headwater.attribution.paths import cache as path_cache
from headwater.database import row_security
from headwater.endpoints.operations import Operation
from headwater.http.inputs.pagination import CURSOR
from headwater.spaces.access import queries as key_lookups
from headwater.spaces.key_use import queries as key_uses
from headwater.spaces.sites.refusals import queries as refusals
from tests.support.factories import NOON, Stage
from tests.support.people import person
from tests.support.reading_fixtures import RANGE, Api

MANY = 30
DAY = "2026-05-05"


def lists() -> dict[str, Operation]:
    """Return every operation with a cursor, by name."""
    return {operation.id: operation for operation in OPERATIONS if CURSOR.name in parameter_names(operation)}


def parameter_names(operation: Operation) -> list[str]:
    return [parameter["name"] for parameter in operation.parameters]


def everything(operation: Operation) -> dict[str, Any]:
    """Return parameters for all of 2026, with everything included."""
    names = parameter_names(operation)
    flags = [name for name in names if name.startswith(("include_", "use_"))]
    return {**RANGE, **dict.fromkeys(flags, 1)}


CREDITED = {"sources[]": "google_ads", "attribution_model": "linear", "attribution_window": 0}
OF_ONE = {"get_contact_journey"}
"""Lists of one contact's actions: tests/reports/test_contact_journey.py counts their statements."""
LISTS = [(name, everything(operation)) for name, operation in lists().items() if name not in OF_ONE]
LISTS.append(("list_events", {**RANGE, **CREDITED, "fields[]": ["ad_name", "configured_name"]}))
LISTS.append(("list_contacts", {"email": "shared@example.com", "include_all_emails": 1}))

ASIDE = (key_lookups, key_uses, refusals, row_security.queries, path_cache.queries)
"""Statements that `statements` doesn't count."""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the application executes from now on, in this process. Key look-ups and writes
    after requests are not counted, because they depend on the clock. Confining a connection to a Space and
    querying its database are not counted, because they depend on the connection's earlier use.
    """
    statements: list[str] = []
    execute = psycopg.AsyncCursor.execute
    ignored_texts = {queries[name].as_string() for queries in ASIDE for name in queries.names()}

    async def note_statement(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else query
        text = text if isinstance(text, str) else text.as_string(self)
        if text not in ignored_texts:
            statements.append(text)
        return await execute(self, query, *arguments, **options)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", note_statement)
    return statements


def add_row(stage: Stage) -> None:
    """Add one row to every list."""
    company_id = stage.company()
    contact_id = person(stage, "shared@example.com", company_id=company_id, profile_field_1="x")
    stage.identifier(contact_id, "trk_token", "t")
    stage.touchpoint(contact_id, "google_ads")
    event_id = stage.event(contact_id, company_id=company_id, amount=5)
    stage.spend_connection()
    stage.watched_file()
    stage.ad("ad", f"of contact {contact_id}", "Blue")
    stage.add_delivery(add_destination(stage), event_id)
    put_money(stage, event_id)


def put_money(stage: Stage, number: int) -> None:
    """Store the spend of an ad, and an exchange rate."""
    empty_ids = dict.fromkeys(("account_id", "campaign_id", "adset_id", "country"), "")
    stage._insert("spend", {
        **empty_ids, "date": DAY, "key": hashlib.md5(f"{number}".encode()).digest(),
        "platform": "meta", "ad_id": f"{number}", "currency": "EUR", "amount": 5,
        "as_of": NOON, "place": 0,
    }, "number")  # fmt: skip
    letters = "".join(chr(65 + number // 26**power % 26) for power in range(3))
    stage._insert("rates", {
        "date": DAY, "base": letters, "currency": "CHF" if letters == "EUR" else "EUR", "rate": 2,
    }, "number")  # fmt: skip


def add_destination(stage: Stage) -> int:
    """Return the Space's only destination, made if necessary."""
    row = stage.connection.execute(
        "SELECT id FROM destinations WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    return stage.destination() if row is None else row[0]


def test_every_list_is_known() -> None:
    assert {"list_events", "list_contacts"} <= set(lists())


@pytest.mark.parametrize(("name", "params"), LISTS, ids=[name for name, _ in LISTS])
def test_many_rows_cost_as_many_statements_as_one(
    api: Api, stage: Stage, statements: list[str], name: str, params: dict[str, Any]
) -> None:
    path = lists()[name].path.replace("{destination_id}", str(add_destination(stage)))
    counts: list[int] = []
    for more in (1, MANY - 1):
        for _ in range(more):
            add_row(stage)
        statements.clear()
        response = api.get(path, params=params)
        assert response.status_code == 200, response.text
        counts.append(len(statements))
        assert len(response.json()["data"]) == (1 if more == 1 else MANY)
    assert counts[0] == counts[1] > 0
