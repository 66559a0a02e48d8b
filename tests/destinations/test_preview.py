"""Preview of the delivery of one event: equal to what is sent, masked, and with the missing fields."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import msgspec
import psycopg
import pytest

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.deliveries.answers import DeliveryPreview
from headwater.forwarding.deliveries.conversions import load_waiting
from headwater.forwarding.deliveries.delivery_loop import _Part, _prepare, _Target
from headwater.forwarding.deliveries.eligibility import PendingDelivery
from headwater.forwarding.deliveries.match_identifiers import find_missing, find_origins, list_values
from headwater.forwarding.deliveries.preview import _ADVICE, load_preview, preview
from headwater.forwarding.platforms.models import Conversion, ConvertedPerson
from headwater.forwarding.platforms.platform import DAY, Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from tests.deliveries.staging import Sending
from tests.platforms.examples import BARE, CONVERSION, EVENT_TIME, make_conversion, stranger_example
from tests.platforms.test_platforms import sample as a_destination
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

NOW = EVENT_TIME / 1000 + 60
EVERY = pytest.mark.parametrize("name", PLATFORMS)
META = PLATFORMS["meta"]
SETTINGS: dict[str, Any] = {
    name: msgspec.to_builtins(a_destination(platform).settings) for name, platform in PLATFORMS.items()
}


@pytest.fixture
def sending(stage: Stage, database_url: str) -> Iterator[Sending]:
    """A Space whose deliveries are not left due for other tests."""
    yield Sending(stage, database_url)
    stage.connection.execute(
        "UPDATE destinations SET status = 'removed' WHERE space_id = %s", (stage.space_id,)
    )


def make_preview(
    conversion: Conversion, platform: Platform = META, time: float = NOW, **changes: Any
) -> DeliveryPreview:
    """Return the preview of a conversion at a destination for all events. `changes` apply to the destination
    or the delivery.
    """
    state = {name: changes.pop(name) for name in ("do_not_capi", "erased") if name in changes}
    destination = msgspec.structs.replace(a_destination(platform), **{"all_events": True, **changes})
    pending_delivery = PendingDelivery(id=0, attempts=0, queued_at=time, conversion=conversion, **state)
    return preview(pending_delivery, platform, destination, time)


def missing_fields(preview: DeliveryPreview) -> dict[str, list[str]]:
    return {entry.name: entry.fields for entry in preview.missing}


def loaded(sending: Sending, destination_id: int, event_id: int | None = None) -> DeliveryPreview:
    async def run() -> DeliveryPreview:
        async with await psycopg.AsyncConnection.connect(sending.database_url) as connection:
            return await load_preview(connection, sending.space_id, destination_id, event_id)

    return asyncio.run(run())


def make(sending: Sending, name: str = "meta", **columns: Any) -> int:
    names = {} if PLATFORMS[name].event_names else dict.fromkeys(EVENT_NAMES, "1234567890")
    return sending.destination(
        platform=name, settings=json.dumps(SETTINGS[name]), event_names=json.dumps(names), **columns
    )


def test_it_works() -> None:
    """An order with an e-mail address and a city after a Meta click, and without other details."""
    click = msgspec.structs.replace(CONVERSION.click, ids={"fbclid": "IwAR0abc"})
    person = ConvertedPerson(email="anna@example.com", city="Berlin")
    order = make_conversion(
        BARE, event_name="purchase", amount=CONVERSION.amount, currency="EUR", person=person, click=click
    )
    preview = make_preview(order)
    assert (preview.outcome, preview.reason, preview.event_id, preview.touchpoint_id) == ("sent", None, 8, 1)
    assert [(field.path, field.value, field.origin) for field in preview.fields] == [
        ("event_name", "Purchase", None),
        ("event_time", EVENT_TIME // 1000, None),
        ("event_id", "e1", None),
        ("action_source", "system_generated", None),
        ("user_data.em[0]", "[masked]", "hashed email"),
        ("user_data.ct[0]", "[masked]", "hashed city"),
        ("user_data.fbc", "[masked]", "fbclid"),
        ("custom_data.currency", "EUR", None),
        ("custom_data.value", 149.9, None),
    ]
    assert missing_fields(preview) == {
        "phone": ["user_data.ph[]"],
        "fbp": ["user_data.fbp"],
        "ip": ["user_data.client_ip_address"],
        "user_agent": ["user_data.client_user_agent"],
        "full_name": ["user_data.fn[]", "user_data.ln[]"],
        "state": ["user_data.st[]"],
        "country": ["user_data.country[]"],
        "tracking_id": ["user_data.external_id[]"],
    }
    (phone,) = [entry for entry in preview.missing if entry.name == "phone"]
    assert phone.advice == "Send phone with its country code, or set the Space's phone region."


@EVERY
def test_every_platform_misses_what_it_takes(name: str) -> None:
    """A bare order lacks every field that the platform uses, and a complete order lacks none."""
    platform = PLATFORMS[name]
    destination = a_destination(platform)

    def build(conversion: Conversion) -> dict[str, Any]:
        return platform.build(conversion, destination)

    bare = make_conversion(BARE, event_name="purchase")
    missing_fields = find_missing(bare, build)
    assert missing_fields.keys() <= _ADVICE.keys()
    assert "email" in missing_fields
    assert all(fields for fields in missing_fields.values())
    full, _ = stranger_example("deadbeef" * 4)
    origins = set(find_origins(full, build).values())
    assert missing_fields.keys() & {"email", "phone", "ip", "user_agent", "tracking_id"} <= origins
    assert not find_missing(full, build).keys() & (missing_fields.keys() - {"full_name"})


def test_what_google_takes() -> None:
    google = PLATFORMS["google"]
    assert missing_fields(make_preview(make_conversion(BARE, event_name="purchase"), google)) == {
        "email": ["userData.userIdentifiers[].emailAddress"],
        "phone": ["userData.userIdentifiers[].phoneNumber"],
        "gclid": ["adIdentifiers.gclid"],
        "consent": ["consent.adUserData", "consent.adPersonalization"],
    }
    for name in ("gclid", "gbraid", "wbraid"):
        conversion = make_conversion(BARE, event_name="purchase", url_click_ids={name: "EAIa0"})
        preview = make_preview(conversion, google)
        assert preview.outcome == "sent"
        assert missing_fields(preview).keys() == {"email", "phone", "consent"}


@pytest.mark.parametrize("ids", [{}, {"li_fat_id": "e4d5a1c0"}])
def test_linkedin_lists_ids_by_position(ids: dict[str, str]) -> None:
    """An identifier is found even if its list has other items, and first and last name count together."""
    preview = make_preview(
        make_conversion(BARE, event_name="purchase", url_click_ids=ids), PLATFORMS["linkedin"]
    )
    assert {"email", "full_name", "tracking_id"} <= missing_fields(preview).keys()
    assert ("li_fat_id" in missing_fields(preview)) == (not ids)
    conversion = make_conversion(
        BARE, event_name="purchase", url_click_ids=ids, person=ConvertedPerson(email="a@example.com")
    )
    fields = {field.origin for field in make_preview(conversion, PLATFORMS["linkedin"]).fields} - {None}
    assert fields == {"hashed email", *ids}


@EVERY
def test_nothing_personal_is_shown(name: str) -> None:
    conversion, values = stranger_example("deadbeef" * 4)
    preview = make_preview(conversion, PLATFORMS[name])
    assert preview.outcome == "sent"
    text = msgspec.json.encode(preview).decode().lower()
    assert [value for value in values if value.lower() in text] == []
    assert any(field.origin == "hashed email" for field in preview.fields)


@EVERY
def test_it_is_what_the_delivery_loop_sends(sending: Sending, name: str) -> None:
    platform = PLATFORMS[name]
    event = sending.event(
        order_id="o1", ip="192.0.2.7", currency="EUR", cookies='{"fbp": "fb.1.1795090000123.1"}',
        ad_user_data=True, ad_personalization=True,
    )  # fmt: skip
    destination_id = make(sending, name)
    if name == "google":
        sending.connection.execute("UPDATE events SET idempotency_key = 'key' WHERE id = %s", (event,))
    before = loaded(sending, destination_id, event)
    delivery = sending.delivery(destination_id, event)
    after = loaded(sending, destination_id, event)

    async def waiting() -> list[PendingDelivery]:
        async with await psycopg.AsyncConnection.connect(sending.database_url) as connection:
            return await load_waiting(connection, sending.space_id, destination_id, [delivery])

    destination = msgspec.structs.replace(a_destination(platform), all_events=True)
    (delivery_part,), settled_deliveries = _prepare(
        asyncio.run(waiting()), _Target(platform, destination, 0, 0), sending.clock.time
    )
    assert isinstance(delivery_part, _Part)
    assert settled_deliveries == []
    assert [field.path for field in after.fields] == [path for path, _ in list_values(delivery_part.content)]
    visible_fields = {field.path: field.value for field in after.fields if field.value != "[masked]"}
    assert (
        visible_fields.items()
        <= dict(list_values(delivery_part.content)).items()
        | dict(list_values(delivery_part.redacted)).items()
    )
    assert [field.path for field in before.fields] == [field.path for field in after.fields]


@pytest.mark.parametrize(
    ("conversion", "days", "changes", "reason", "has_fields", "has_missing"),
    [
        (CONVERSION, 8, {}, "too_old", True, True),
        (make_conversion(click=None), 0, {"all_events": False}, "not_attributed", False, True),
        (make_conversion(BARE, event_name="lead_generated"), 0, {}, "no_identifier", False, True),
        (make_conversion(currency=None), 0, {}, "no_currency", False, True),
        (CONVERSION, 0, {"event_names": {"purchase": None}}, "no_mapping", False, False),
        (make_conversion(amount=Decimal(-5)), 0, {}, "refund", False, False),
        (CONVERSION, 0, {"do_not_capi": True}, "do_not_capi", False, False),
        (CONVERSION, 0, {"erased": True}, "erased", False, False),
    ],
)
def test_skipped(
    conversion: Conversion, days: int, changes: dict[str, Any], reason: str, *,
    has_fields: bool, has_missing: bool,
) -> None:  # fmt: skip
    preview = make_preview(conversion, time=NOW + days * DAY, **changes)
    assert (preview.outcome, preview.reason) == ("skipped", reason)
    assert (bool(preview.fields), bool(preview.missing)) == (has_fields, has_missing)
    assert preview.meaning


def test_an_event_of_the_future_is_sent_later() -> None:
    preview = make_preview(CONVERSION, time=NOW - 7200)
    assert preview.outcome == "later"
    assert preview.due_at is not None
    assert preview.fields


def test_the_latest_that_would_be_sent(sending: Sending) -> None:
    """A purchase first, otherwise any event with a mapped name. If none would be sent, the latest event and
    the reason.
    """
    destination_id = make(sending, all_events=False)
    lead = sending.event(event_name="lead_generated", event_time=sending.moment(-100))
    unseen = sending.event(event_time=sending.moment(-200))
    preview = loaded(sending, destination_id)
    assert (preview.event_id, preview.reason) == (unseen, "not_attributed")
    click_event = sending.event(event_time=sending.moment(-300))
    contact = sending.connection.execute(
        "SELECT contact_id FROM events WHERE space_id = %s AND id = %s", (sending.space_id, click_event)
    ).fetchone()
    assert contact is not None
    sending.rows.touchpoint(contact[0], "facebook_ads", occurred_at=sending.moment(-300) - timedelta(days=1))
    assert (loaded(sending, destination_id).event_id, loaded(sending, destination_id).outcome) == (
        click_event,
        "sent",
    )
    sending.connection.execute("UPDATE destinations SET all_events = true WHERE id = %s", (destination_id,))
    assert loaded(sending, destination_id).event_id == unseen
    assert loaded(sending, destination_id, lead).event_name == "lead_generated"


def test_over_the_api(api: Api, stage: Stage) -> None:
    destination_id = stage.destination(
        platform="meta", settings=json.dumps(SETTINGS["meta"]), all_events=True
    )
    path = f"/destinations/{destination_id}/preview"
    answer = api.get(path)
    assert (answer.status_code, answer.json()["message"]) == (404, "Event not found.")
    event_id = stage.event(stage.contact(email="anna@example.com"), event_time="now", amount="5")
    preview = api.get(path).json()
    assert (preview["event_id"], preview["outcome"]) == (event_id, "sent")
    assert {"path": "user_data.em[0]", "value": "[masked]", "origin": "hashed email"} in preview["fields"]
    assert api.get(f"{path}?event_id={event_id}").json() == preview
    unknown = api.get(f"{path}?event_id={10**12}")
    assert (unknown.status_code, unknown.json()["message"]) == (404, "Event not found.")
    wrong = api.get(f"{path}?event_id=x").json()
    assert wrong["errors"] == {"event_id": [f"The event_id must be a whole number from 0 to {10**18 - 1}."]}
    missing_destination = api.get(f"/destinations/{10**12}/preview")
    assert missing_destination.json()["message"] == "Destination not found."
    stage.connection.execute("UPDATE destinations SET settings = '{}' WHERE id = %s", (destination_id,))
    assert api.get(path).json()["errors"] == {
        "settings": ["The settings must be entered again: they are no longer accepted."]
    }
