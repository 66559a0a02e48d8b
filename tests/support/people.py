"""Contacts for the tests that read them, and the list of contacts."""

from __future__ import annotations

from typing import Any

from tests.support.factories import Stage
from tests.support.reading_fixtures import Api


def person(stage: Stage, *emails: str, **columns: Any) -> int:
    """Insert a contact with these addresses. The first is the primary one, the last the most recent."""
    contact_id = stage.contact(email=emails[0] if emails else None, **columns)
    for email in emails:
        stage.identifier(contact_id, "email", email)
    return contact_id


def merge(stage: Stage, merged_id: int, survivor_id: int) -> None:
    """Change the rows that are read here as a merge does."""
    change = stage.connection.execute
    change("UPDATE contacts SET merged_into = %s WHERE id = %s", (survivor_id, merged_id))
    for table in ("contact_identifiers", "events", "touchpoints", "hits"):
        change(f"UPDATE {table} SET contact_id = %s WHERE contact_id = %s AND space_id = %s",
               (survivor_id, merged_id, stage.space_id))  # fmt: skip


def rows(api: Api, **params: Any) -> list[dict[str, Any]]:
    response = api.get("/contacts", params=params)
    assert response.status_code == 200, response.text
    return response.json()["data"]


def ids(api: Api, **params: Any) -> list[int]:
    return [row["id"] for row in rows(api, **params)]


def errors(api: Api, **params: Any) -> dict[str, list[str]]:
    response = api.get("/contacts", params=params)
    assert response.status_code == 422, response.text
    assert response.json()["message"]
    return response.json()["errors"]
