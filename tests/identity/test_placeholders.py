"""Placeholders identify no contact, whichever of the business's systems sends them."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.pipeline import add_sender, event, new_stage

ADDRESSES = [
    "noreply@shop.de", "no-reply@shop.de", "no.reply@shop.de", "NOREPLY@shop.de", "guest@shop.de",
    "guest@example.com", "null@null.com", "none@none.com", "ada@null.com", "test@test.com",
    "ada@invalid", "ada@mail.invalid", "order-77@noemail.com", "unknown@shop.de",
    "anonymous@shop.de", "walkin@shop.de", "no-email@shop.de", "donotreply@shop.de",
    "email@example.com", "nobody@shop.de", "x@x.com", "undefined@shop.de", "postmaster@shop.de",
]  # fmt: skip


@pytest.mark.parametrize("sender", ["webhook", "import", "api_key"])
def test_it_works(connection: psycopg.Connection, sender: str) -> None:
    """Each is stored on a new contact, with a warning."""
    stage = new_stage(connection)
    stage.run(*(add_sender(sender, event(email=email)) for email in ADDRESSES for _ in range(2)))
    assert len(set(stage.values("events", "contact_id"))) == 2 * len(ADDRESSES)
    assert set(stage.values("contacts", "email")) == {None}
    assert stage.values("companies", "id") == []


@pytest.mark.parametrize("email", ["ada@example.com", "norah@shop.de", "ada@nonesuch.com"])
def test_people(connection: psycopg.Connection, email: str) -> None:
    stage = new_stage(connection)
    stage.run(add_sender("webhook", event(email=email)))
    assert stage.values("contacts", "email") == [email]
