"""A person's webhook deliveries are erased with them, in any format of the body. Other people's are kept."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest

from headwater.events.refunds.reports import AcceptedRefund
from headwater.intake.webhooks.deliveries import (
    begin_delivery,
    finish_delivery,
    make_delivery_columns,
    process_message,
)
from headwater.intake.webhooks.models import ReadContext, WebhookRequest, WebhookSettings
from headwater.privacy.erasure_job import erase_next
from tests.support.factories import make_stage
from tests.support.pipeline import add_sender
from tests.support.reading_fixtures import Api
from tests.support.webhook_samples.shopify import ORDER
from tests.support.webhooks import Hook, Hooks

ADA, EVE = "ada+1@exämple.com", "eve@example.com"


def erase(hook: Hook, api: Api, email: str) -> None:
    answer = api.send("DELETE", "/contacts/pii", params={"email": email})
    assert answer.status_code == 202, answer.text
    while erase_next(hook.stage.connection, hook.stage.space_id):
        pass


def test_it_works(webhooks: Hooks, api: Api) -> None:
    shop, hook = webhooks.make("shopify"), webhooks.generic(topic="kind", event__ignored="")
    shop.deliver({**ORDER, "email": ADA})
    for body in (
        '{"email": "ADA+1@ex\\u00e4mple.com"}',
        '{"email": "\\u0061da+1@exämple.com", "kind": "ignored"}',
        '{"email": "Ada+1@exämple.com", "amount": "much"}',
        '{"email": "nobody", "trk": "tok-4"}',
        f'{{"email": "{EVE}"}}',
        '{"email": "ada@example.com"}',
    ):
        hook.deliver(body.encode())
    hook.queue().process()
    assert len(hook.deliveries("id")) == 6
    erase(hook, api, ADA)
    assert shop.deliveries("id") == []
    assert hook.deliveries("body") == [f'{{"email": "{EVE}"}}', '{"email": "ada@example.com"}']
    assert hook.queue().values("contact_identifiers", "value") == ["ada@example.com", EVE]


@pytest.mark.parametrize("amount", ["5", None])
@pytest.mark.parametrize("names", [["7"], ["shop-7", "7"]])
def test_what_reports_on_their_orders_goes_too(
    webhooks: Hooks, api: Api, amount: str | None, names: list[str]
) -> None:
    """Even if the body doesn't contain the matching identifier, and no event was made from it."""
    hook = webhooks.make("shopify")
    stage = hook.stage
    contact = stage.contact(email=EVE)
    stage.identifier(contact, "email", EVE)
    stage.event(contact, order_id=names[0], amount=amount)
    if len(names) > 1:
        linked_refund = AcceptedRefund(order_ids=tuple(names), at=1_778_680_800_000)
        hook.queue().put(add_sender("webhook", linked_refund))
    refund = {"id": 1, "order_id": 7, "transactions": [{"amount": "1", "currency": "USD"}]}
    for order_id in (7, 8, 7) if amount else (7, 8):
        hook.deliver({**refund, "order_id": order_id}, X_Shopify_Topic="refunds/create")
    other_refund = {**refund, "id": 2, "order_id": 7}
    hook.deliver(other_refund, X_Shopify_Topic="refunds/create")
    hook.queue().process()
    assert len(hook.queue().values("events", "id")) == (3 if amount else 1)
    erase(hook, api, EVE)
    (body,) = hook.deliveries("body")
    assert json.loads(body)["order_id"] == 8


def test_a_space_s_own(webhooks: Hooks, api: Api) -> None:
    """The same person's deliveries in another Space belong to that Space."""
    hook = webhooks.generic()
    other_hook = webhooks.make("shopify", stage=make_stage(hook.stage.connection))
    for receiver, body in ((hook, {"email": EVE}), (other_hook, {**ORDER, "email": EVE})):
        receiver.deliver(body)
        receiver.queue().process()
    erase(hook, api, EVE)
    assert (len(hook.deliveries("id")), len(other_hook.deliveries("id"))) == (0, 1)


def test_somebody_erased_while_they_are_delivered(webhooks: Hooks, api: Api, database_url: str) -> None:
    """The delivery is recorded before it is read, so the erasure finds it and it doesn't come back later."""
    hook = webhooks.generic()
    hook.deliver({"email": EVE})
    hook.queue().process()
    reader = ReadContext("generic", WebhookSettings(events={"*": "purchase"}, mapping={"email": "email"}))
    message = WebhookRequest({}, b'{"email": "eve@example.com"}', 1_778_680_800.0)
    space_id = hook.stage.space_id

    async def deliver() -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            outcome = await process_message(connection, space_id, reader, message)
            columns = make_delivery_columns(reader, message, outcome, believed=True)
            delivery_id = await begin_delivery(connection, space_id, hook.id, columns)
            assert hook.deliveries("status", "receipt_id")[1] == ("refused", None)
            erase(hook, api, EVE)
            await finish_delivery(connection, space_id, delivery_id, outcome, 7)

    asyncio.run(deliver())
    assert hook.deliveries("id") == []
