"""The conversion read from an event: its person, its amount and its credited click."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL

from headwater.forwarding.deliveries.conversions import load_waiting, queries
from headwater.forwarding.deliveries.eligibility import PendingDelivery
from headwater.forwarding.deliveries.id_forms import click_ids
from headwater.forwarding.platforms.models import AdConsent, Click, Conversion, ConvertedPerson
from headwater.sources.catalogue import SOURCES
from tests.deliveries.staging import Sending
from tests.support.factories import make_stage

URL = "https://shop.example/?utm_source=x&fbclid=IwAR0_a-B%2Bc&FBCLID=later"


def loaded(sending: Sending, *deliveries: int) -> list[PendingDelivery]:
    async def run() -> list[PendingDelivery]:
        async with await psycopg.AsyncConnection.connect(sending.database_url) as connection:
            return await load_waiting(connection, sending.space_id, destination, deliveries)

    (destination,) = {sending.read_delivery(delivery, "destination_id") for delivery in deliveries}
    return asyncio.run(run())


def build_conversion(sending: Sending, event: int) -> Conversion:
    (delivery,) = loaded(sending, sending.delivery(sending.destination(), event))
    assert delivery.conversion is not None
    return delivery.conversion


def test_it_works(sending: Sending) -> None:
    sending.connection.execute(
        "UPDATE spaces SET phone_region = 'DE', currency = 'EUR', ad_consent = 'granted'"
        " WHERE id = %s", (sending.space_id,),
    )  # fmt: skip
    sending.rows.label_event("custom_event_3", "Demo booked")
    contact = sending.rows.contact(
        email="anna@example.com", name="Anna van der Berg", phone="030 901820", city="Berlin",
        state="BE", country="DE",
    )  # fmt: skip
    for value in ("early", "late"):
        sending.rows.identifier(contact, "tracking_id", value)
    event_time = sending.moment(-3600).replace(microsecond=7000)
    touch = sending.rows.touchpoint(
        contact, "facebook_ads", occurred_at=event_time - timedelta(days=1), url=URL,
        cookies='{"fbp": "fb.1.2.3"}',
    )  # fmt: skip
    event = sending.rows.event(
        contact, event_name="custom_event_3", event_time=event_time, amount="12.5", order_id="o1",
        event_url="https://shop.example/thanks?gclid=EAIa", ip="192.0.2.7", user_agent="UA",
        cookies='{"fbc": "fb.1.2.x"}', ad_personalization=False,
    )  # fmt: skip
    delivery = sending.delivery(sending.destination(), event, dedup_id="key", attempts=2)
    (pending_delivery,) = loaded(sending, delivery)
    queued_at = sending.read_delivery(delivery, "queued_at").timestamp()
    assert pending_delivery == PendingDelivery(
        id=delivery, attempts=2, queued_at=pytest.approx(queued_at),
        conversion=Conversion(
            event_id=event, dedup_id="key", event_name="custom_event_3",
            configured_name="Demo booked", event_time=int(event_time.timestamp() * 1000 + 0.5),
            person=ConvertedPerson(
                email="anna@example.com", phone="+4930901820", first_name="Anna",
                last_name="van der Berg", external_id="late", city="Berlin", state="BE",
                country="DE",
            ),
            amount=Decimal("12.5"), currency="EUR", order_id="o1",
            url="https://shop.example/thanks?gclid=EAIa", ip="192.0.2.7", user_agent="UA",
            consent=AdConsent(True, False), cookies={"fbc": "fb.1.2.x"},
            url_click_ids={"gclid": "EAIa"},
            click=Click(
                touchpoint_id=touch,
                occurred_at=int((event_time - timedelta(days=1)).timestamp() * 1000 + 0.5),
                source="facebook_ads", ids={"fbclid": "IwAR0_a-B+c"},
                cookies={"fbp": "fb.1.2.3"},
            ),
        ),
    )  # fmt: skip


def test_missing_values_are_left_out(sending: Sending) -> None:
    conversion = build_conversion(sending, sending.rows.event(sending.rows.contact()))
    assert conversion.person == ConvertedPerson()
    assert (conversion.consent, conversion.click, conversion.amount) == (AdConsent(), None, None)
    assert (conversion.currency, conversion.cookies, conversion.url_click_ids) == ("USD", {}, {})


@pytest.mark.parametrize(
    ("space_consent", "event_consent", "consent"),
    [
        ("unknown", None, None), ("granted", None, True), ("denied", None, False),
        ("granted", False, False), ("denied", True, True), ("unknown", True, True),
    ],
)  # fmt: skip
def test_consent(
    sending: Sending, space_consent: str, event_consent: bool | None, consent: bool | None
) -> None:
    sending.connection.execute(
        "UPDATE spaces SET ad_consent = %s WHERE id = %s", (space_consent, sending.space_id)
    )
    columns: dict[str, Any] = {"ad_user_data": event_consent, "ad_personalization": event_consent}
    conversion = build_conversion(sending, sending.event(**columns))
    assert conversion.consent == AdConsent(consent, consent)


def test_the_events_own_currency_wins(sending: Sending) -> None:
    assert build_conversion(sending, sending.event(currency="JPY")).currency == "JPY"


@pytest.mark.parametrize(
    ("touches", "credited"),
    [
        ([("facebook_ads", 1)], 0),
        ([("facebook_ads", 30)], 0),
        ([("facebook_ads", 30.0001)], None),
        ([("facebook_ads", -0.0001)], None),
        ([("facebook_ads", 0)], 0),
        ([("google_organic", 1)], None),
        ([("facebook_ads", 5), ("email", 2), ("direct", 1)], 0),
        ([("facebook_ads", 5), ("google_ads", 2)], 1),
        ([("google_ads", 5), ("facebook_ads", 2)], 1),
        ([("google_ads", 40), ("facebook_ads", 35)], None),
    ],
)
def test_the_last_paid_touch_of_thirty_days(
    sending: Sending, touches: list[tuple[str, float]], credited: int | None
) -> None:
    contact = sending.rows.contact()
    event_time = sending.moment(-3600)
    numbers = [
        sending.rows.touchpoint(contact, source, occurred_at=event_time - timedelta(days=days))
        for source, days in touches
    ]
    click = build_conversion(sending, sending.rows.event(contact, event_time=event_time)).click
    if credited is None:
        assert click is None
    else:
        assert click is not None
        assert (click.touchpoint_id, click.source) == (numbers[credited], touches[credited][0])


def test_every_paid_source_can_be_credited(sending: Sending) -> None:
    event_time = sending.moment(-3600)
    events: dict[int, str] = {}
    for source in SOURCES:
        contact = sending.rows.contact()
        sending.rows.touchpoint(contact, source, occurred_at=event_time)
        events[sending.rows.event(contact, event_time=event_time)] = source
    destination = sending.destination()
    pending_deliveries = loaded(sending, *(sending.delivery(destination, event) for event in events))
    for delivery in pending_deliveries:
        assert delivery.conversion is not None
        source = events[delivery.conversion.event_id]
        click = delivery.conversion.click
        is_paid = source.endswith("_ads") or source == "paid_other"
        assert (click.source if click else None) == (source if is_paid else None)


def test_another_space_is_another_world(sending: Sending) -> None:
    event = sending.event("anna@example.com")
    delivery = sending.delivery(sending.destination(), event)
    destination = sending.read_delivery(delivery, "destination_id")

    async def run() -> list[PendingDelivery]:
        async with await psycopg.AsyncConnection.connect(sending.database_url) as connection:
            return await load_waiting(connection, sending.space_id + 1, destination, [delivery])

    assert asyncio.run(run()) == []


def test_what_is_finished_is_not_loaded(sending: Sending) -> None:
    delivery = sending.delivery(sending.destination(), status="delivered")
    assert loaded(sending, delivery) == []


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        (None, {}), ("", {}), ("https://a.example/", {}), ("https://a.example/?fbclid=", {}),
        ("https://a.example/?fbclid={{x}}", {}), ("https://a.example/#?fbclid=x", {"fbclid": "x"}),
        ("https://a.example/?utm_source=x#fbclid=x", {}),
        ("https://a.example/?x=1&TTCLID=E.C.P.c%2D_1", {"ttclid": "E.C.P.c-_1"}),
        ("https://a.example/?gclid=a+b&wbraid=W&gbraid=G", {"gclid": "a+b", "wbraid": "W",
                                                            "gbraid": "G"}),
        ("https://a.example/?li_fat_id=8f-1", {"li_fat_id": "8f-1"}),
    ],
)  # fmt: skip
def test_click_ids(url: str | None, ids: dict[str, str]) -> None:
    assert click_ids(url) == ids


def test_young_statistics(young_url: str) -> None:
    """Before the first statistics too, rows are looked up for each delivery, and not compared with all."""
    with psycopg.connect(young_url, autocommit=True) as connection:
        sending = Sending(make_stage(connection), young_url)
        destination = sending.destination()
        deliveries = sending.deliveries(destination, 200)
        values = {"space_id": sending.space_id, "destination_id": destination, "ids": deliveries}
        statement = queries["pending"].format(deliveries=queries["waiting"])
        explain = SQL("EXPLAIN (ANALYZE, FORMAT JSON) {}").format(statement)
        ((plans,),) = connection.execute(explain, values).fetchall()
    assert set(re.findall(r"'Rows Removed by Join Filter': (\d+)", str(plans))) <= {"0"}
