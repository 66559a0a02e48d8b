"""Hostile deliveries: every one is answered, and nothing breaks."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.intake.webhooks.models import Status
from tests.support.campaigns import campaign_size, pick_share
from tests.support.webhook_samples import SAMPLES
from tests.support.webhook_samples.shopify import REFUND
from tests.support.webhook_samples.stripe import INVOICE, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import Hooks, read

EXAMPLES = campaign_size("HEADWATER_WEBHOOK_BODIES", 5, 2000)
BODIES = {
    "nothing": b"",
    "no JSON": b"hello",
    "a form": b"email=ada%40example.com&webhook_id=1",
    "null": b"null",
    "a number": b"12",
    "text": b'"ada@example.com"',
    "a list": b"[]",
    "NaN": b'{"email": "ada@example.com", "amount": NaN}',
    "a number beyond all bounds": b'{"email": "ada@example.com", "amount": 1e9999999999999999999}',
    "many digits": b'{"email": "ada@example.com", "amount": ' + b"9" * 5000 + b"}",
    "a large exponent": b'{"email": "ada@example.com", "amount": 1e400}',
    "deep": b'{"email": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "NUL": b'{"email": "ada@example.com", "amount": 1, "x": "\\u0000"}',
    "NUL in the address": b'{"email": "ada\\u0000@example.com"}',
    "a NUL byte": b'{"email": "ada@example.com"}\0',
    "half a pair": b'{"email": "\\ud800ada@example.com"}',
    "no UTF-8": b'{"email": "ada@example.com", "x": "\xff"}',
    "UTF-16": '{"email": "ada@example.com"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"email": "ada@example.com"}',
    "a key twice": b'{"email": "x", "email": "ada@example.com"}',
    "huge": b'{"email": "' + b"a" * 1_000_000 + b'"}',
    "many keys": json.dumps({f"k{n}": n for n in range(50_000)}).encode(),
}


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind in SAMPLES for name in pick_share(BODIES, kind)
])  # fmt: skip
def test_it_works(webhooks: Hooks, kind: str, name: str) -> None:
    hook = _hook(webhooks, kind)
    answer = hook.deliver(BODIES[name])
    assert answer.status_code in (200, 422), answer.text
    assert isinstance(answer.json()["message"], str)
    hook.queue().process()
    assert hook.queue().values("rejected", "id") == []
    assert len(hook.deliveries("status")) == 1


@pytest.mark.parametrize(
    ("kind", "body", "headers"),
    [
        ("woocommerce", {**WOO, "created_via": ["checkout"]}, {}),
        ("stripe", stripe("invoice.paid", {**INVOICE, "billing_reason": {}}), {}),
        (
            "shopify",
            {**REFUND, "transactions": [{"kind": [], "amount": "1"}]},
            {"X-Shopify-Topic": "refunds/create"},
        ),
        ("shopify", {"id": 1, "order_id": 2, "kind": {}}, {"X-Shopify-Topic": "order_transactions/create"}),
        ("shopify", [], {"X-Shopify-Topic": "refunds/create"}),
    ],
)
def test_a_list_or_an_object_where_text_is_documented(kind: str, body: Any, headers: dict[str, str]) -> None:
    """It was answered with 500, after which a shop stops sending."""
    assert read(kind, body, headers=headers).status in (Status.ACCEPTED, Status.IGNORED)


WEIRD = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(allow_nan=False),
    st.text(max_size=300), st.just("\0"), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), st.just("9" * 5000),
    st.just("http://["), st.just({"data": [{}]}),
)  # fmt: skip


def _hook(webhooks: Hooks, kind: str) -> Any:
    return webhooks.generic() if kind == "generic" else webhooks.make(kind)


def _replace_at(value: Any, path: list[int], strange_value: Any) -> Any:
    """Return the value with something else at one position."""
    if not path or not isinstance(value, dict | list) or not value:
        return strange_value
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    changed_value = dict(value) if isinstance(value, dict) else list(value)
    changed_value[key] = _replace_at(value[key], path[1:], strange_value)  # type: ignore[index]
    return changed_value


@pytest.mark.parametrize("kind", SAMPLES)
@settings(max_examples=EXAMPLES, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(path=st.lists(st.integers(0, 40), min_size=1, max_size=4), strange_value=WEIRD)
def test_anything_anywhere(webhooks: Hooks, kind: str, path: list[int], strange_value: Any) -> None:
    hook = _hook(webhooks, kind)
    answer = hook.deliver(_replace_at(SAMPLES[kind].body, path, strange_value))
    assert answer.status_code in (200, 422), answer.text
    hook.queue().process()
    assert hook.queue().values("rejected", "id") == []


@pytest.mark.parametrize("currency", ["a\0b", "euros", "1", "€", "XX"])
def test_a_refund_in_no_currency(webhooks: Hooks, currency: str) -> None:
    hook = webhooks.make("woocommerce")
    answer = hook.deliver({**SAMPLES["woocommerce"].body, "currency": currency})
    assert answer.status_code == 200, answer.text
    hook.queue().process()
    assert hook.queue().values("rejected", "id") == []
    assert len(hook.queue().values("events", "id")) == 1


@pytest.mark.parametrize("value", ["", "t=", "t=1,v1=", ",,,", "é".encode(), b"\xff" * 100, "=" * 9])
def test_signatures(webhooks: Hooks, value: Any) -> None:
    for sample in SAMPLES.values():
        hook = webhooks.make(sample.type, **({"event": "purchase"} if sample.type == "generic" else {}))
        headers = {sample.signature: value}
        assert httpx.post(hook.url, content=b"{}", headers=headers).status_code == 401
