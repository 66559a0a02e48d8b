"""A delivery's identity depends only on signed content: an attacker who has a delivery can repeat it, but not
make another event from it.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections import Counter
from typing import Any

import psycopg
import pytest

from headwater.cli import main
from headwater.intake.webhooks import deliveries
from headwater.intake.webhooks.interpretation import check_signature
from headwater.intake.webhooks.models import (
    ReadContext,
    Status,
    UnverifiedRequest,
    WebhookRequest,
    WebhookSettings,
)
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.support.webhook_samples.shopify import ORDER, REFUND
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import SECRET, Hook, Hooks, read

BODY = {"email": "ada@example.com", "amount": 5}
GENERIC = {"event": "purchase", "map__email": "email", "map__amount": "amount"}
# The example that the Standard Webhooks libraries are tested with.
EXAMPLE_SECRET = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EXAMPLE = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}  # fmt: skip
EXAMPLE_BODY = b'{"test": 2432232314}'
EXAMPLE_TIME = 1_614_265_330
READER = ReadContext("generic", WebhookSettings())


def keys(hook: Hook) -> set[str]:
    return set(hook.deliveries("dedup_key"))


def count_events(hook: Hook) -> int:
    hook.queue().process()
    return len(hook.queue().rows("events", "id"))


def standard(secret: str, body: dict[str, Any], number: str, time: int) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed_text = f"{number}.{time}.{json.dumps(body)}".encode()
    digest = base64.b64encode(hmac.digest(key, signed_text, "sha256")).decode()
    return {"webhook-id": number, "webhook-timestamp": str(time), "webhook-signature": f"v1,{digest}"}


def test_it_works(webhooks: Hooks) -> None:
    """One signed body under five unsigned ids is one event."""
    hook = webhooks.make("generic", **GENERIC)
    for number in range(5):
        answer = hook.deliver(BODY, webhook_id=f"msg_{number}")
        assert answer.json()["status"] == "accepted"
    assert count_events(hook) == 1
    assert len(keys(hook)) == 1


def test_an_id_that_is_signed_tells_deliveries_apart(webhooks: Hooks) -> None:
    secret = "whsec_" + base64.b64encode(b"k" * 24).decode()
    hook = webhooks.make("generic", secret, **GENERIC)
    raw = json.dumps(BODY).encode()
    now = int(time.time())
    for number in ("msg_1", "msg_2", "msg_1"):
        answer = hook.post(raw, standard(secret, BODY, number, now))
        assert answer.status_code == 200, answer.text
    assert count_events(hook) == 2
    assert keys(hook) == {"generic:msg_1", "generic:msg_2"}
    stolen_headers = standard(secret, BODY, "msg_1", now) | {"webhook-id": "msg_3"}
    assert hook.post(raw, stolen_headers).status_code == 401


def test_without_a_secret_nothing_is_signed_and_the_id_is_believed(webhooks: Hooks) -> None:
    hook = webhooks.generic()
    for number in ("msg_1", "msg_2"):
        hook.deliver(BODY, webhook_id=number)
    assert keys(hook) == {"generic:msg_1", "generic:msg_2"}


def test_the_published_example() -> None:
    message = WebhookRequest(EXAMPLE, EXAMPLE_BODY, EXAMPLE_TIME)
    assert check_signature(READER, EXAMPLE_SECRET, message) == message
    headers = EXAMPLE | {"webhook-signature": f"v1,AAAA v2,BBBB {EXAMPLE['webhook-signature']}"}
    assert check_signature(READER, EXAMPLE_SECRET, WebhookRequest(headers, EXAMPLE_BODY, EXAMPLE_TIME))


@pytest.mark.parametrize(
    ("change", "seconds_later", "expected_message"),
    [
        ({"webhook-id": "msg_x"}, 0, "does not match"),
        ({"webhook-timestamp": "1614265331"}, 0, "does not match"),
        ({"webhook-timestamp": "soon"}, 0, "cannot be read"),
        ({"webhook-signature": "v1,"}, 0, "does not match"),
        ({}, 301, "5 minutes from now"),
        ({}, -301, "5 minutes from now"),
    ],
)
def test_bad_signatures_are_refused(
    change: dict[str, str], seconds_later: int, expected_message: str
) -> None:
    message = WebhookRequest(EXAMPLE | change, EXAMPLE_BODY, EXAMPLE_TIME + seconds_later)
    with pytest.raises(UnverifiedRequest, match=expected_message):
        check_signature(READER, EXAMPLE_SECRET, message)


def test_its_headers_are_needed() -> None:
    for name in ("webhook-id", "webhook-timestamp"):
        headers = {key: text for key, text in EXAMPLE.items() if key != name}
        with pytest.raises(UnverifiedRequest, match=f"no header {name}"):
            check_signature(READER, EXAMPLE_SECRET, WebhookRequest(headers, EXAMPLE_BODY, EXAMPLE_TIME))


def test_a_refund_of_shopify_counts_once(webhooks: Hooks) -> None:
    """It is identified by its id in the body, not by the event id in the unsigned header."""
    hook = webhooks.make("shopify")
    hook.deliver(ORDER)
    hook.queue().process()
    for number in range(3):
        hook.deliver(REFUND, X_Shopify_Topic="refunds/create", X_Shopify_Event_Id=f"e-{number}")
    assert count_events(hook) == 2


def test_what_shopify_reports_again_and_again_is_told_apart_by_the_body() -> None:
    settings = {"settings": {"event.orders/updated": "custom_event_1"}}
    outcomes = [
        read("shopify", {**ORDER, "updated_at": moment}, **settings,
             headers={"X-Shopify-Topic": "orders/updated", "X-Shopify-Event-Id": "same"})
        for moment in ("2026-05-13T11:00:00Z", "2026-05-13T12:00:00Z", "2026-05-13T12:00:00Z")
    ]  # fmt: skip
    first, second, third = (outcome.event and outcome.event.idempotency_key for outcome in outcomes)
    assert first != second
    assert second == third


def test_a_refund_of_woocommerce_counts_once(webhooks: Hooks) -> None:
    hook = webhooks.make("woocommerce")
    hook.deliver(WOO)
    refunded_order = {**WOO, "status": "refunded"}
    for shop in ("https://shop.example/", "https://other.example/", "nonsense"):
        hook.deliver(refunded_order, X_WC_Webhook_Topic="order.updated", X_WC_Webhook_Source=shop)
    assert count_events(hook) == 2


def test_two_shops_are_told_apart_by_what_they_signed() -> None:
    def key(host: str) -> str | None:
        links = {"self": [{"href": f"https://{host}/wp-json/wc/v3/orders/727"}]}
        outcome = read("woocommerce", {**WOO, "_links": links})
        return outcome.event and outcome.event.idempotency_key

    assert key("shop.example") == "woocommerce:shop.example:order.processing:727"
    assert key("other.example") == "woocommerce:other.example:order.processing:727"


def test_a_replay_keeps_the_key_of_the_event_that_was_made(
    webhooks: Hooks, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps it even if keys were made in another way when the delivery arrived."""
    hook = webhooks.make("shopify")
    hook.deliver(ORDER)
    hook.queue().process()
    hook.stage.connection.execute(
        "UPDATE webhook_deliveries SET dedup_key = 'shopify:e-1:5' WHERE webhook_id = %s", (hook.id,)
    )
    hook.stage.connection.execute(
        "UPDATE events SET idempotency_key = 'shopify:e-1:5', order_id = NULL WHERE space_id = %s",
        (hook.stage.space_id,),
    )
    (delivery_id,) = hook.deliveries("id")
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    space = str(hook.stage.space_id)
    assert main(["webhook", "replay", "--space", space, str(delivery_id)]) == 0
    assert count_events(hook) == 1


@pytest.mark.parametrize("amount", [5, -5])
@pytest.mark.parametrize("between", [["test_orders=ignore"], ["map.email=nowhere"]])
def test_a_replay_with_another_mapping_of_the_key_counts_once(
    webhooks: Hooks, database_url: str, monkeypatch: pytest.MonkeyPatch, amount: int, between: list[str]
) -> None:
    """Also if it was refused with the settings in between."""
    hook = webhooks.make("generic", **GENERIC, map__order_id="order")
    hook.deliver({"email": "ada@example.com", "order": "o1", "amount": 50})
    hook.deliver({**BODY, "amount": amount, "order": "o1" if amount < 0 else None, "id": "other"})
    count = count_events(hook)
    delivery_id = max(hook.deliveries("id"))
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    space, number = str(hook.stage.space_id), str(hook.id)
    settings = ["map.email=email", "map.idempotency_key=id"]
    for values in (between, settings):
        assert main(["webhook", "set", "--space", space, number, *values]) == 0
        main(["webhook", "replay", "--space", space, str(delivery_id)])
    assert count_events(hook) == count == 2


def test_deliveries_trimmed_during_a_replay_of_all_are_skipped(
    webhooks: Hooks, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New deliveries push out the oldest, which are replayed first."""
    hook = webhooks.generic()
    for _ in range(2):
        hook.deliver({"amount": 5})
    first, second = hook.deliveries("id")

    async def trim_meanwhile(connection: psycopg.AsyncConnection, space_id: int) -> Space:
        hook.stage.connection.execute("DELETE FROM webhook_deliveries WHERE id = %s", (first,))
        return await fetch_space(connection, space_id)

    monkeypatch.setattr(deliveries, "fetch_space", trim_meanwhile)

    async def replay_all() -> Counter[Status]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            return await deliveries.replay_failed(connection, hook.stage.space_id, hook.id)

    assert asyncio.run(replay_all()) == {Status.REFUSED: 1}
    assert hook.deliveries("id") == [second]


@pytest.mark.parametrize("topic", ["ada@example.com", "+49 170 1234567", "Ada"])
def test_a_topic_that_is_somebody_is_not_kept(webhooks: Hooks, topic: str) -> None:
    """If a setting uses personal data as the topic, the delivery's details don't contain it."""
    hook = webhooks.make(
        "generic", SECRET, topic="who", event__Ada="purchase", map__email="email",
        map__first_name="who",
    )  # fmt: skip
    answer = hook.deliver({"who": topic, "email": "ada@example.com"})
    assert answer.status_code == 200
    (detail,) = hook.deliveries("detail")
    assert topic not in detail + answer.text


def test_a_topic_without_a_mapped_order_id_has_the_sender_s(webhooks: Hooks) -> None:
    """The `id` of an order is the one of a refund in another topic."""
    hook = webhooks.make("shopify", **{"map__order_id": "id", "map__order_id@refunds/create": ""})
    hook.deliver(ORDER)
    hook.deliver(REFUND, X_Shopify_Topic="refunds/create")
    queue = hook.queue()
    queue.process()
    assert sorted(map(float, queue.values("events", "amount"))) == [-15.5, 403]


@pytest.mark.parametrize("unusable_id", ["x" * 256, "a\0b"])
def test_an_unusable_id_is_refused(webhooks: Hooks, unusable_id: str) -> None:
    hook = webhooks.generic(map__order_id="order", map__buyer_of_order="buyer", map__idempotency_key="refund")
    refund = {"amount": -5, "order": "A1", "refund": "R1"}
    for body in (
        {**refund, "order": unusable_id},
        {**refund, "refund": unusable_id},
        {"amount": 5, "buyer": unusable_id},
    ):
        assert hook.deliver(body).status_code == 422
    assert hook.deliveries("status") == ["refused"] * 3
