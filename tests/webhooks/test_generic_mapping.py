"""The events that the generic webhook makes from a body with the Space's own mapping."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.intake.webhooks.models import Status
from tests.support.webhook_samples.sample import T0
from tests.support.webhook_samples.stripe import SESSION, stripe
from tests.support.webhooks import RECEIVED, map_event, read

GENERIC = {
    "event": "purchase", "map.email": "user.mail", "map.amount": "from_minor_units(total)",
    "map.event_time": "from_milliseconds(at)", "map.company_external_id": "account.id",
    "map.company_name": "account.name", "map.url": "'https://shop.example/'",
}  # fmt: skip
BODY = {"user": {"mail": "ada@example.com"}, "total": 1250, "at": T0 * 1000,
        "account": {"id": 5, "name": "Acme"}}  # fmt: skip


def test_generic() -> None:
    event = map_event("generic", BODY, settings=GENERIC, headers={"Webhook-Id": "msg_1"})
    assert event == {
        "event_name": "purchase", "email": "ada@example.com", "amount": "12.5",
        "event_time": T0 * 1000, "company_external_id": "5", "company_name": "Acme",
        "url": "https://shop.example/", "idempotency_key": "generic:msg_1",
    }  # fmt: skip


@pytest.mark.parametrize("number", [1.5, 42.0, -0.5, 1e300])
def test_a_fraction_is_no_company(number: float) -> None:
    body = {**BODY, "account": {"id": number, "name": number}}
    outcome = read("generic", body, settings=GENERIC)
    assert outcome.event is not None
    assert outcome.event.company_external_id is None
    assert outcome.event.company_name is None
    assert "The company_external_id must be text or a whole number." in outcome.detail
    assert "The company_name must be text or a whole number." in outcome.detail


def test_a_generic_body_without_an_id_is_its_own() -> None:
    keys = [
        map_event("generic", body, settings=GENERIC)["idempotency_key"]
        for body in (BODY, BODY, {**BODY, "total": 1})
    ]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0].startswith("generic:")


def test_generic_topics() -> None:
    settings = {**GENERIC, "topic": "kind", "event.lead": "lead_generated", "event.noise": ""}
    names = {
        kind: getattr(read("generic", {**BODY, "kind": kind}, settings=settings).event,
                      "event_name", None)
        for kind in ("lead", "noise", "other")
    }  # fmt: skip
    assert names == {"lead": "lead_generated", "noise": None, "other": "purchase"}
    del settings["event"]
    assert read("generic", {**BODY, "kind": "x"}, settings=settings).status is Status.IGNORED
    assert read("generic", BODY, settings=settings).status is Status.IGNORED
    assert read("generic", {**BODY, "kind": {}}, settings=settings).status is Status.IGNORED


def test_without_a_time_it_is_that_of_receipt() -> None:
    body = {name: value for name, value in BODY.items() if name != "at"}
    assert map_event("generic", body, settings=GENERIC)["event_time"] == RECEIVED * 1000


def test_an_amount_whose_currency_cannot_be_read_is_left_out() -> None:
    """Otherwise it would count in the Space's currency."""
    odd = {**SESSION, "currency": "ada@example.com"}
    outcome = read("stripe", stripe("checkout.session.completed", odd))
    assert outcome.event is not None
    assert (outcome.event.amount, outcome.event.currency) == (None, None)
    assert "The amount would count in the Space's currency." in outcome.detail
    assert "ada" not in outcome.detail


def test_what_cannot_be_kept_is_left_out() -> None:
    """A purchase isn't lost because of a bad telephone number."""
    details = {"email": "ada@example.com", "name": "A" * 300, "phone": "5" * 100}
    body = stripe("checkout.session.completed", {**SESSION, "customer_details": details})
    outcome = read("stripe", body)
    assert outcome.event is not None
    assert (outcome.event.full_name, outcome.event.phone, outcome.event.amount) == (
        None, None, "49",
    )  # fmt: skip
    assert "Left out: " in outcome.detail
    assert "The phone must be a string of at most 64 characters." in outcome.detail
    session = {**SESSION, "customer_details": {**details, "name": ["Ada"], "phone": {"a": 1}}}
    outcome = read("stripe", stripe("checkout.session.completed", session))
    assert outcome.status is Status.ACCEPTED
    assert "The full_name must be text or a number." in outcome.detail
    invalid = {**SESSION, "customer_details": {"email": "no address"}}
    outcome = read("stripe", stripe("checkout.session.completed", invalid))
    assert outcome.event is not None
    assert (outcome.event.email, outcome.event.trk_token) == (None, "tok-1")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"total": "much"}, "amount"),
        ({"total": True}, "amount"),
        ({"total": 10**20}, "amount"),
        ({"at": "yesterday"}, "event_time"),
        ({"at": 1}, "event_time"),
        ({"user": {}}, "email"),
        ({"user": {"mail": "no address"}}, "email"),
        ({"user": {"mail": ["ada@example.com"]}}, "email"),
    ],
)
def test_unusable_bodies_make_no_event(change: dict[str, Any], field: str) -> None:
    outcome = read("generic", {**BODY, **change}, settings=GENERIC)
    assert (outcome.status, outcome.event) == (Status.REFUSED, None)
    assert list(outcome.errors) == [field]
    assert outcome.errors[field][0] in outcome.detail


def test_an_endless_id_still_makes_a_key() -> None:
    body = {**stripe("checkout.session.completed", SESSION), "id": "e" * 10_000}
    assert len(map_event("stripe", body)["idempotency_key"]) <= 255
