"""Two Spaces to keep apart: all data that can be stored about a person, and twins of its rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx
import psycopg
from psycopg.types.json import Jsonb

from tests.support.factories import Stage
from tests.support.trained_models import plant_trained_model

CLAIMS = {"domain": "claimed-x.com", "external_id": "claimed"}
"""The columns of a company that exists in every Space."""

TWIN = "Twin"
"""The text in a twin's row in place of the original texts."""

NOTED_LATER = {"api_keys": "last_used_at"}
"""Columns that a request changes after it has been answered."""

SPENT = ((5, "DE"), (6, "FR"), (7, ""))
"""Amounts and countries of the ledger's rows."""


def read_all_rows(stage: Stage) -> dict[str, list[str]]:
    """Return every row of a Space, by table. The time of a key's last use is left out, because it is written
    after the answer to the request that used the key.
    """
    rows = stage.connection.execute(_select_all(stage.connection), {"space_id": stage.space_id})
    return dict(rows.fetchall())


@cache
def _select_all(connection: psycopg.Connection) -> str:
    """Return one statement for all tables: separate ones take longer than most tests."""
    return " UNION ALL ".join(
        f"SELECT '{table}', ARRAY(SELECT (to_jsonb(t) - '{NOTED_LATER.get(table, '')}')::text"
        f" FROM {table} t WHERE space_id = %(space_id)s ORDER BY 1)"
        for table in tenant_tables(connection)
    )


@cache
def tenant_tables(connection: psycopg.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t"
        " USING (table_schema, table_name)"
        " WHERE c.table_schema = 'public' AND c.column_name = 'space_id'"
        " AND t.table_type = 'BASE TABLE' AND c.table_name <> 'rate_limits' ORDER BY 1"
    ).fetchall()
    assert {("events",), ("contacts",), ("inbox",), ("api_keys",)} <= set(rows)
    return [table for (table,) in rows]


def add_journey(stage: Stage, client: httpx.Client) -> dict[str, list[Any]]:
    """Create a contact that others were merged into, with all data that can be stored about one, another
    contact with one of its addresses, and a waiting event. Return their ids by kind.
    """
    tag = str(stage.space_id)
    _add_spend(client, tag)
    stage.label_field("profile_field_1", f"Plan {tag}")
    stage.label_event("custom_event_1", f"Demo {tag}")
    company_id = stage.company(domain=f"acme-{tag}.com", external_id=tag)
    other_company = stage.company(**CLAIMS)
    words = ("primary", "second", "shared", "inherited")
    primary_email, second_email, shared_email, inherited_email = (f"{word}@acme-{tag}.com" for word in words)
    contact_id = stage.contact(
        company_id=company_id, email=primary_email, name="Ada", phone="1", profile_field_1=tag
    )
    merged_id = stage.contact(merged_into=contact_id)
    sharing_id = stage.contact(email=shared_email, profile_field_1=TWIN)
    for kind, value in (
        ("email", second_email), ("email", shared_email), ("email", primary_email), ("phone", "1"),
        ("name", "Ada"), ("location", "Ulm"), ("tracking_id", f"crm-{tag}"), ("trk_token", f"tok-{tag}"),
        ("fingerprint", f"fp-{tag}|192.0.2.1"),
    ):  # fmt: skip
        stage.identifier(contact_id, kind, value)
    stage.identifier(contact_id, "email", inherited_email, origin_id=merged_id)
    stage.identifier(sharing_id, "email", shared_email)
    stage.identifier(sharing_id, "tracking_id", f"crm-sharing-{tag}")
    for source in ("google_ads", "direct"):
        stage.touchpoint(contact_id, source, company_id=company_id, campaign_name=tag, ad_id=tag)
    for kind in ("ad", "campaign"):
        stage.ad(kind, tag, f"The {kind} {tag}")
    stage.hit(contact_id, stage.visit(contact_id, company_id=company_id), url=tag)
    stage.hit(sharing_id, stage.visit(sharing_id), url=tag)
    stage.event(sharing_id)
    ignored_name = {"name": tag, "reason": "unknown_event", "times": 1, "last_day": "2026-05-13"}
    stage._insert("ignored_names", ignored_name, column="name")
    company = {"company_id": company_id}
    events = [stage.event(contact_id, **company, event_name="custom_event_1")]
    for n in range(3):
        order = {"event_url": tag, "order_id": f"{tag}-{n}"}
        events.append(stage.event(contact_id, **company, amount=5, **order))
    answer = client.post("/events/track", json={"event_name": "purchase", "email": shared_email})
    return {
        "event": events,
        "receipt": [int(answer.headers["x-receipt-id"])],
        "contact": [contact_id, merged_id, sharing_id],
        "company": [other_company, company_id],
        "email": [primary_email, second_email, inherited_email, shared_email],
        "network": [_add_network(stage)],
        **_add_exports(stage, tag),
        "trained_model": [
            plant_trained_model(stage.connection, stage.space_id, tag, "purchase", {"email": 1})
        ],
        **_add_forwarding(stage, contact_id, events, tag),
    }


def _add_network(stage: Stage) -> str:
    name = f"network{stage.space_id}_ads"
    stage.network(name)
    return name


def _add_exports(stage: Stage, tag: str) -> dict[str, list[Any]]:
    schedule_id = stage.export_schedule(tag)
    stage.export("events", tag, schedule_id=schedule_id, folder=tag)
    return {
        "export": [stage.export("events", tag)],
        "contact_export": [stage.export("contacts", tag)],
        "company_export": [stage.export("companies", tag)],
        "export_schedule": [schedule_id],
        **{
            f"{kind}_import": [stage.add_import(kind, name=tag)]
            for kind in ("events", "orders", "contacts", "touchpoints", "spend", "ads")
        },
    }


def _add_spend(client: httpx.Client, tag: str) -> None:
    shared_cells = {"date": "2026-05-13", "platform": "google", "currency": "EUR", "campaign_id": tag}
    rows = [{**shared_cells, "amount": amount, "country": country} for amount, country in SPENT]
    assert client.put("/spend", json={"spend": rows}).status_code == 200
    rate = {"date": "2026-05-13", "base": "EUR", "rate": 1.25}
    rates = [{**rate, "currency": currency} for currency in ("CHF", "GBP", "USD")]
    assert client.put("/rates", json={"rates": rates}).status_code == 200


def _add_forwarding(stage: Stage, contact_id: int, events: list[int], tag: str) -> dict[str, list[Any]]:
    """Create destinations, the events' deliveries to them, and three deliveries that are recent enough to be
    resent.
    """
    destination_ids = [stage.destination(status="held", name=tag) for _ in range(2)]
    delivery_ids = [
        stage.add_delivery(destination_id, event_id, error=tag)
        for destination_id in destination_ids
        for event_id in events
    ]
    stage.attempt(delivery_ids[0], error=tag)
    for destination_id in destination_ids:
        columns = {"status": "delivered", "sent_amount": 9, "sent_currency": "EUR"}
        stage.add_delivery(destination_id, stage.event(contact_id, event_time="now"), **columns)
    young = [
        stage.add_delivery(destination_ids[0], stage.event(contact_id, event_time="now"), error=tag)
        for _ in range(3)
    ]
    return {
        "destination": destination_ids,
        "lending_destination": [stage.destination(platform="meta", settings='{"pixel_id": "1"}', name=tag)],
        "connection": [
            stage.spend_connection(
                name=tag, settings='{"ad_account_id": "1"}', next_pull_at="2099-01-01T00:00:00Z"
            )
            for _ in range(2)
        ],
        "watched_file": [stage.watched_file(name=tag) for _ in range(2)],
        "held_destination": destination_ids,
        "delivery": delivery_ids[:2],
        "deliveries": [young[:1], young[1:]],
    }


def _stored_columns(stage: Stage, table: str) -> list[str]:
    """Return the columns that an insert needs. PostgreSQL computes the generated ones."""
    rows = stage.connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped AND attgenerated = ''",
        (table,),
    )
    return [name for (name,) in rows]


def add_twins(stage: Stage, twin_stage: Stage) -> None:
    """Copy all rows of a Space to another one, with the same ids and other contents."""
    twin = dict.fromkeys(
        ("name", "phone", "location", "event_url", "url", "campaign_name", "profile_field_1", "error"), TWIN
    )
    changes = {**twin, "space_id": twin_stage.space_id, "amount": 77}
    for table in (
        "companies", "contacts", "contact_identifiers", "events", "touchpoints", "visits", "hits",
        "tag_sets", "inbox", "exports", "export_schedules", "ad_names", "spend", "rates",
        "destinations", "deliveries", "delivery_attempts", "spend_connections",
        "watched_files", "ignored_names",
    ):  # fmt: skip
        columns = _stored_columns(twin_stage, table)
        values = ", ".join(f"(copy).{column}" for column in columns)
        twin_stage.connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE SELECT {values}"
            f" FROM (SELECT jsonb_populate_record(r, %s) AS copy FROM {table} r"
            " WHERE r.space_id = %s) copies",
            (Jsonb(changes), stage.space_id),
        )
    twin_stage.connection.execute(
        "UPDATE companies SET domain = 'twin.' || domain, external_id = 'twin' || external_id"
        " WHERE space_id = %s",
        (twin_stage.space_id,),
    )
    twin_stage.connection.execute(
        "UPDATE contact_identifiers SET value = %s WHERE space_id = %s"
        " AND kind IN ('phone', 'name', 'location', 'trk_token')",
        (TWIN, twin_stage.space_id),
    )
