"""Orders whose only identifier is a telephone number."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from headwater.http.errors import Invalid
from headwater.intake.ingest.payload import EVENT_FORM, RECORD_FORM
from tests.support.pipeline import Accepted, Stage, add_sender, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection) -> Stage:
    return new_stage(connection, phone_region="DE")


def order(phone: str, **values: Any) -> Accepted:
    return add_sender("webhook", event(phone=phone, **values))


SPELLINGS = [
    "+49 170 1234567", "0170 1234567", "0170/123 45 67", "(0170) 1234567", "00491701234567",
    "+491701234567", "0170-1234567", "0170.1234567", " 0170 1234567 ", "+49 (0) 170 1234567",
]  # fmt: skip


@pytest.mark.parametrize("limit", [1, 10])
def test_it_works(stage: Stage, limit: int) -> None:
    """An order by telephone belongs to the customer with that number, in any spelling."""
    known_receipt, *_ = stage.put(
        event(email="ada@acme.com", phone="+49 170 1234567"),
        event(email="bob@acme.com", phone="+49 171 1234567"),
    )
    receipts = stage.put(*(order(text) for text in SPELLINGS))
    stage.process(limit)
    assert {stage.find_contact(receipt) for receipt in receipts} == {stage.find_contact(known_receipt)}
    assert len(stage.values("contacts", "id")) == 2


@pytest.mark.parametrize("limit", [1, 10])
def test_a_number_nobody_has_is_a_contact_of_its_own(stage: Stage, limit: int) -> None:
    first, second, third = stage.put(order("0170 1234567"), order("+491701234567"), order("0170 1234568"))
    stage.process(limit)
    assert stage.find_contact(first) == stage.find_contact(second) != stage.find_contact(third)


@pytest.mark.parametrize("limit", [1, 10])
def test_a_number_gives_way_and_merges_nobody(stage: Stage, limit: int) -> None:
    ada, bob, by_email, by_token, alone_receipt = stage.put(
        event(email="ada@acme.com", phone="0170 1234567"),
        event(email="bob@acme.com", phone="0170 1234567", trk_token="t1"),
        order("0170 1234567", email="bob@acme.com"),
        order("0170 1234567", trk_token="t1"),
        order("0170 1234567"),
    )
    stage.process(limit)
    owner = stage.find_contact
    assert owner(ada) != owner(bob) == owner(by_email) == owner(by_token)
    assert owner(alone_receipt) == owner(ada)
    assert stage.values("merges", "id") == []


JUNK = [
    "0000000", "1234567890", "0123456789", "1111111111", "+49 1111111111", "000", "-", "n/a",
    "none", "null", "unknown", "+", "call me", "9999999999", "99999999999", "0170 0000000",
    "0170 1111111", "(000) 000-0000", "555", "x", "+00",
]  # fmt: skip


@pytest.mark.parametrize("text", JUNK)
def test_a_number_that_is_nobody_s(stage: Stage, text: str) -> None:
    """It is still stored, each time on a new contact."""
    receipts = stage.run(order(text), order(text))
    assert len({stage.find_contact(receipt) for receipt in receipts}) == 2
    assert stage.rows("events", "warnings") == [(["phone ignored: not an identifier"],)] * 2


def test_what_a_page_says_takes_no_order_from_a_customer(stage: Stage) -> None:
    ada, _ = stage.run(
        event(email="ada@acme.com", phone="0170 1234567"),
        add_sender("browser", event(trk_token="t9", phone="+491701234567")),
    )
    (receipt,) = stage.run(order("0170 1234567"))
    assert stage.find_contact(receipt) == stage.find_contact(ada)


def test_junk_beside_a_number(stage: Stage) -> None:
    first, second = stage.run(
        order("0170 1234567", email="noreply@shop.de", tracking_id="guest"), order("0170 1234567")
    )
    assert stage.find_contact(first) == stage.find_contact(second)


def test_track_needs_more_than_a_number() -> None:
    body = b'{"event_name":"purchase","phone":"+491701234567"}'
    with pytest.raises(Invalid) as error_info:
        EVENT_FORM.accept(body, 1_778_670_000)
    assert error_info.value.errors.keys() == {"email"}
    assert RECORD_FORM.accept(body, 1_778_670_000).phone == "+491701234567"
