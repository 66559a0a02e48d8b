"""POST /webhooks/{token}: who may deliver, what is stored, and what is returned."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.intake.inbox import inbox
from headwater.intake.webhooks.deliveries import KEPT_DELIVERIES
from tests.conftest import Running, run_application
from tests.support.factories import make_stage
from tests.support.reading_fixtures import Api
from tests.support.webhook_samples import SAMPLES
from tests.support.webhook_samples.sample import in_base64
from tests.support.webhook_samples.shopify import ORDER, REFUND
from tests.support.webhook_samples.stripe import SESSION, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import SECRET, Hook, Hooks

PAID = stripe("checkout.session.completed", SESSION)
GONE = b'{"message":"Not Found."}'

DOCUMENTED = [(sample.type, sample.body, sample.key) for sample in SAMPLES.values() if sample.key is not None]


def test_it_works(webhooks: Hooks, api: Api) -> None:
    hook = webhooks.generic()
    answer = hook.deliver({"email": "Ada@Example.com", "amount": "12.50"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-ratelimit-limit"]
    body = answer.json()
    assert body.keys() == {"status", "message", "receipt_id"}
    assert body["status"] == "accepted"
    assert api.get(f"/receipts/{body['receipt_id']}").json()["status"] == "queued"
    hook.queue().process()
    event = api.get(f"/events/{body['receipt_id']}").json()
    assert (event["event_name"], event["amount"]) == ("purchase", 12.5)


@pytest.mark.parametrize(("kind", "body", "key"), DOCUMENTED)
def test_a_retry_makes_nothing(webhooks: Hooks, kind: str, body: Any, key: str) -> None:
    """Before the first delivery is processed, and after."""
    hook = webhooks.make(kind)
    queue = hook.queue()
    answers = [hook.deliver(body) for _ in range(2)]
    queue.process()
    answers.append(hook.deliver(body))
    queue.process()
    assert [answer.status_code for answer in answers] == [200] * 3
    first = int(answers[0].json()["receipt_id"])
    assert queue.rows("events", "id", "idempotency_key") == [(first, key)]
    assert queue.rows("duplicates", "reason", "event_id") == [("idempotency_key", first)] * 2
    assert hook.deliveries("status", "dedup_key") == [("accepted", key)] * 3


def test_an_order_made_and_paid_is_one_purchase(webhooks: Hooks) -> None:
    hook = webhooks.make("shopify")
    for topic in ("orders/create", "orders/paid"):
        assert hook.deliver(ORDER, X_Shopify_Topic=topic).status_code == 200
    hook.queue().process()
    assert len(hook.queue().rows("events", "id")) == 1
    assert hook.queue().values("duplicates", "reason") == ["order_id"]


def test_a_refund_goes_to_the_buyer(webhooks: Hooks) -> None:
    hook = webhooks.make("shopify")
    queue = hook.queue()
    hook.deliver(ORDER)
    queue.process()
    answer = hook.deliver(REFUND, X_Shopify_Topic="refunds/create")
    assert answer.json()["status"] == "accepted"
    queue.process()
    rows = queue.rows("events", "contact_id", "amount", "order_id")
    assert len({contact for contact, _, _ in rows}) == 1
    assert sorted(float(amount) for _, amount, _ in rows) == [-15.5, 403]
    assert len(queue.values("contact_identifiers", "value")) == len(
        set(queue.values("contact_identifiers", "value"))
    )


def test_a_refund_waits_for_its_order(webhooks: Hooks, api: Api) -> None:
    hook = webhooks.make("shopify")
    queue = hook.queue()
    answer = hook.deliver(REFUND, X_Shopify_Topic="refunds/create").json()
    assert answer["status"] == "accepted"
    queue.process()
    receipt = api.get(f"/receipts/{answer['receipt_id']}").json()
    assert (receipt["status"], receipt["reason"]) == ("queued", "waits_for_order")
    hook.deliver(ORDER)
    queue.process()
    assert api.get(f"/receipts/{answer['receipt_id']}").json()["status"] == "stored"
    assert sorted(map(float, queue.values("events", "amount"))) == [-15.5, 403]


# --------------------------------------------------------------------------------- who may deliver


def test_a_refund_belongs_to_the_mapped_order(webhooks: Hooks) -> None:
    """Two shops of one Space have the same order numbers."""
    shops = [webhooks.make("woocommerce", map__order_id="order_key") for _ in range(2)]
    orders = [
        {**WOO, "order_key": f"wc_order_{number}", "_links": {"self": [{"href": f"https://{number}.example/"}]}}
        for number in (1, 2)
    ]  # fmt: skip
    for shop, order in zip(shops, orders, strict=True):
        assert shop.deliver(order).json()["status"] == "accepted"
    refunded = {**orders[1], "date_modified_gmt": "2026-05-13T12:00:00"}
    shops[1].deliver({**refunded, "refunds": [{"id": 9, "total": "-9.35"}]})
    queue = shops[0].queue()
    queue.process()
    assert sorted(map(float, queue.values("events", "amount"))) == [-9.35, 29.35, 29.35]
    for unusable_key in ([1], "x" * 256, "a\0b"):
        shops[1].deliver({**refunded, "status": "refunded", "order_key": unusable_key})
    assert ["order_id" in detail for detail in shops[1].deliveries("detail")[-3:]] == [True] * 3
    queue.process()
    assert queue.values("order_refunds", "order_id") == ["wc_order_1", "wc_order_2"]


def test_a_delivery_that_cannot_be_stored_is_retried(
    webhooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no duplicate of the attempt that failed."""
    hook = webhooks.make("shopify")
    with monkeypatch.context() as patch:
        patch.setattr(inbox.Inbox, "_is_full", lambda _, size: size > 0)
        assert hook.deliver(ORDER).status_code == 503
    assert hook.deliveries("status") == []
    assert hook.deliver(ORDER).json()["status"] == "accepted"
    hook.queue().process()
    assert hook.deliveries("status") == ["accepted"]
    assert len(hook.queue().rows("events", "id")) == 1


def test_a_token_that_opens_nothing(webhooks: Hooks, connection: psycopg.Connection) -> None:
    hook = webhooks.generic()
    connection.execute("UPDATE webhooks SET revoked_at = now() WHERE id = %s", (hook.id,))
    base = hook.url.rpartition("/")[0]
    for token in (hook.token, secrets.token_urlsafe(32), "x", "%00", "%ff", "a" * 5000):
        answer = httpx.post(f"{base}/{token}", json={"email": "ada@example.com"})
        assert (answer.status_code, answer.content) == (404, GONE), token[:9]
    assert hook.deliveries("id") == []


def test_only_the_token_s_hash_is_stored(webhooks: Hooks, connection: psycopg.Connection) -> None:
    hook = webhooks.make("stripe")
    row = connection.execute(
        "SELECT token_hash, hint, secret, to_jsonb(webhooks)::text FROM webhooks WHERE id = %s", (hook.id,)
    ).fetchone()
    assert row is not None
    assert row[:2] == (hashlib.sha256(hook.token.encode()).digest(), hook.token[-4:])
    assert hook.secret is not None
    assert hook.secret.encode() not in row[2]
    assert hook.token not in row[3]


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_wrong_signature(webhooks: Hooks, kind: str) -> None:
    hook = webhooks.make(kind, **({"event": "purchase"} if kind == "generic" else {}))
    forger = Hook(hook.stage, hook.base_url, kind, hook.id, hook.token, "another secret")
    answer = forger.deliver({"email": "ada@example.com"})
    assert answer.status_code == 401
    assert answer.json().keys() == {"message"}
    assert "does not match" in answer.json()["message"]
    assert hook.post(b"{}", {}).status_code == 401
    assert hook.deliveries("status", "body") == [("refused", None)] * 2
    assert hook.queue().values("inbox", "id") == []


def test_a_changed_body(webhooks: Hooks) -> None:
    hook = webhooks.make("shopify")
    raw = json.dumps(ORDER).encode()
    headers = {"X-Shopify-Hmac-Sha256": in_base64(raw, SECRET), "X-Shopify-Topic": "orders/paid"}
    assert hook.post(raw.replace(b"403.00", b"903.00"), headers).status_code == 401
    assert hook.post(raw, headers).status_code == 200


def test_other_methods(webhooks: Hooks) -> None:
    hook = webhooks.generic()
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        answer = httpx.request(method, hook.url)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_an_inactive_subscription(webhooks: Hooks, connection: psycopg.Connection) -> None:
    hook = webhooks.generic()
    connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (hook.stage.space_id,))
    answer = hook.deliver({"email": "ada@example.com"})
    assert (answer.status_code, answer.json()) == (
        403, {"message": "The Space's subscription is inactive."},
    )  # fmt: skip


def test_a_secret_sealed_under_another_key(webhooks: Hooks, database_url: str, tmp_path: Any) -> None:
    hook = webhooks.make("shopify")
    running = run_application(Settings(secret_key="k" * 32, data_dir=tmp_path), database_url)
    try:
        moved_hook = Hook(hook.stage, running.base_url, hook.type, hook.id, hook.token, hook.secret)
        assert moved_hook.deliver(ORDER).status_code == 503
    finally:
        running.stop()
    assert hook.deliver(ORDER).status_code == 200


# -------------------------------------------------------------------------------- what is answered


def test_what_is_ignored_is_kept(webhooks: Hooks) -> None:
    hook = webhooks.make("stripe")
    answer = hook.deliver(stripe("customer.subscription.created", {}))
    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "ignored", "message": "customer.subscription.created is ignored."},
    )
    assert hook.deliveries("status", "receipt_id") == [("ignored", None)]
    assert hook.queue().values("inbox", "id") == []


def test_woocommerce_s_ping(webhooks: Hooks) -> None:
    hook = webhooks.make("woocommerce")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert hook.post(b"webhook_id=7", form).json()["status"] == "ignored"


def test_a_body_that_cannot_be_mapped(webhooks: Hooks) -> None:
    """The developer of a generic sender gets an error. A shop gets 200, because it would retry and finally
    disable the webhook.
    """
    hook = webhooks.generic()
    answer = hook.deliver({"email": "no address", "amount": "much"})
    assert answer.status_code == 422
    assert answer.json() == {
        "message": "The amount must be a number.",
        "errors": {"amount": ["The amount must be a number."]},
    }
    assert hook.deliveries("status") == ["refused"]
    shop = webhooks.make("stripe")
    answer = shop.deliver(stripe("payment_intent.succeeded", {"id": "pi_1"}))
    assert (answer.status_code, answer.json()["status"]) == (200, "refused")
    assert "email is required" in answer.json()["message"]
    (detail,) = shop.deliveries("detail")
    assert detail == answer.json()["message"]


@pytest.fixture
def limited_server(database_url: str, tmp_path: Any) -> Any:
    running = run_application(Settings(data_dir=tmp_path), database_url)
    yield running
    running.stop()


def test_the_limit_of_track(limited_server: Running, webhooks: Hooks, connection: psycopg.Connection) -> None:
    """Every delivery counts against it. A delivery over the limit isn't kept, because the sender retries."""
    generic_hook = webhooks.generic()
    connection.execute(
        "UPDATE space_limits SET per_minute = 3 WHERE space_id = %s AND bucket = 'track'",
        (generic_hook.stage.space_id,),
    )
    hook = Hook(
        generic_hook.stage, limited_server.base_url, "generic", generic_hook.id, generic_hook.token, None
    )
    bodies = [{"email": "ada@example.com"}, {"email": "no"}, {"email": "b@example.com"}]
    answers = [hook.deliver(body) for body in bodies]
    last = hook.deliver({"email": "c@example.com"})
    if last.status_code != 429:  # a new minute began
        last = [hook.deliver({"email": "c@example.com"}) for _ in range(3)][-1]
    else:
        assert [answer.status_code for answer in answers] == [200, 422, 200]
        assert len(hook.deliveries("id")) == 3
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1
    assert last.headers["x-ratelimit-remaining"] == "0"


def test_too_long_and_compressed(webhooks: Hooks) -> None:
    hook = webhooks.generic()
    assert hook.deliver(b" " * (1024 * 1024 + 1)).status_code == 413
    assert hook.deliver(b"{}", Content_Encoding="gzip").status_code == 415
    long = {"email": "ada@example.com", "more": "x" * (1024 * 1024 - 100)}
    assert hook.deliver(long).status_code == 200


# ------------------------------------------------------------------------------------ what is kept


def test_what_is_kept_of_a_delivery(webhooks: Hooks) -> None:
    hook = webhooks.generic(map__order_id="header('x-order')")
    body = b'{"email": "ada@example.com",\n "note": "\\u00e4"}'
    headers = {
        "X-Order": "o-1", "X-Other": "no", "Authorization": "Bearer no", "Cookie": "no",
        "Webhook-Id": "m-1", "Content-Type": "application/json", "User-Agent": "Sender/1",
    }  # fmt: skip
    receipt = hook.post(body, headers).json()["receipt_id"]
    columns = ("headers", "body", "status", "detail", "receipt_id", "dedup_key")
    assert hook.deliveries(*columns) == [(
        {"x-order": "o-1", "webhook-id": "m-1", "content-type": "application/json",
         "user-agent": "Sender/1"},
        body.decode(), "accepted", "The body became purchase.", int(receipt), "generic:m-1",
    )]  # fmt: skip


def test_the_last_200_are_kept(webhooks: Hooks) -> None:
    hook, other_hook = webhooks.generic(), webhooks.generic()
    hook.stage.connection.execute(
        "INSERT INTO webhook_deliveries (space_id, webhook_id, received_at, headers, status,"
        " detail) SELECT %s, w, now(), '{}', 'ignored', n::text"
        " FROM generate_series(1, 250) n, unnest(%s::bigint[]) w",
        (hook.stage.space_id, [hook.id, other_hook.id]),
    )
    hook.deliver({"email": "ada@example.com"})
    assert len(hook.deliveries("id")) == KEPT_DELIVERIES
    assert hook.deliveries("detail")[-1] == "The body became purchase."
    assert hook.deliveries("detail")[0] == "52"
    assert len(other_hook.deliveries("id")) == 250


def test_spaces_never_mix(webhooks: Hooks, connection: psycopg.Connection) -> None:
    """Webhooks of two Spaces accept the same body."""
    twin = make_stage(connection)
    own_hook, other_hook = webhooks.make("shopify"), webhooks.make("shopify", "theirs", twin)
    receipts = [int(hook.deliver(ORDER).json()["receipt_id"]) for hook in (own_hook, other_hook)]
    for hook, receipt in zip((own_hook, other_hook), receipts, strict=True):
        hook.queue().process()
        assert hook.queue().values("events", "id") == [receipt]
        assert hook.deliveries("receipt_id") == [receipt]
    swapped_hook = Hook(
        own_hook.stage, own_hook.base_url, "shopify", own_hook.id, own_hook.token, other_hook.secret
    )
    assert swapped_hook.deliver(ORDER).status_code == 401


def test_it_is_no_operation_of_the_api(server: Running) -> None:
    document = httpx.get(f"{server.base_url}/public-api/v1/openapi.json").json()
    assert not [path for path in document["paths"] if "webhooks" in path]
    assert httpx.post(f"{server.base_url}/public-api/v1/webhooks/x").status_code == 404
    assert httpx.post(f"{server.base_url}/webhooks").status_code == 404


def test_strangers_push_no_believed_delivery_out(webhooks: Hooks) -> None:
    """Anyone who knows the URL can post. Unsigned deliveries are kept separately, and fewer of them."""
    hook = webhooks.make("shopify")
    hook.deliver(ORDER)
    for _ in range(25):
        assert hook.post(b"{}", {}).status_code == 401
    believed_flags = hook.deliveries("believed")
    assert (believed_flags.count(True), believed_flags.count(False)) == (1, 20)


def test_a_stranger_is_counted_before_anything_is_stored(
    limited_server: Running, webhooks: Hooks, connection: psycopg.Connection
) -> None:
    shopify_hook = webhooks.make("shopify")
    connection.execute(
        "UPDATE space_limits SET per_minute = 0 WHERE space_id = %s AND bucket = 'track'",
        (shopify_hook.stage.space_id,),
    )
    hook = Hook(
        shopify_hook.stage, limited_server.base_url, "shopify", shopify_hook.id, shopify_hook.token, None
    )
    assert hook.post(b"{}", {}).status_code == 429
    assert hook.deliveries("id") == []
