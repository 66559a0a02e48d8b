"""The mapping language: paths, alternatives, constants, conversions."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.http.errors import Invalid
from headwater.webhooks.expressions import parse
from headwater.webhooks.models import Document, Settings
from headwater.webhooks.options import read_settings

BODY = {
    "a": {"b": {"c": "deep"}, "odd name": 1, "dotted.name": 2},
    "list": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, "text"],
    "amounts": [{"n": "1.50"}, {"n": 2}, {}],
    "zero": 0,
    "no": False,
    "blank": "  ",
    "null": None,
    "price": "1234",
    "cents": 1999,
    "ms": 1778680800500,
    "eur": "eur",
    "yen": "JPY",
    "dinar": "KWD",
    "url": "https://www.shop.example/p?utm_source=x&UTM_Medium=cpc&gclid=1&q=a%20b&empty=",
    "path": "/p?utm_source=newsletter",
    "base": "https://shop.example/orders/1",
    "bad": "http://[",
    "header": "in the body",
}
DOCUMENT = Document(BODY, {"x-id": "h1"})

FOUND = [
    ("a.b.c", "deep"),
    ("a.b", {"c": "deep"}),
    ("a.x", None),
    ("a.b.c.d", None),
    ('a["odd name"]', 1),
    ('a["dotted.name"]', 2),
    ("list[0].v", 1),
    ("list[9].v", None),
    ("list[k=y].v", 2),
    ("list[k=z].v", None),
    ("list[*].v", [1, 2]),
    ("a[0]", None),
    ("a[*].x", None),
    ("zero", 0),
    ("no", False),
    ("blank", None),
    ("null", None),
    ("missing | a.b.c", "deep"),
    ("blank|null | zero | price", 0),
    ('"a | constant > here"', "a | constant > here"),
    ("12.5", Decimal("12.5")),
    ("true", True),
    ("truth", None),
    ("$header.x-id", "h1"),
    ("$header.X-Id", "h1"),
    ("header", "in the body"),
    ("cents > cents", Decimal("19.99")),
    ("cents > minor(eur)", Decimal("19.99")),
    ("cents > minor(yen)", 1999),
    ("cents > minor(dinar)", Decimal("1.999")),
    ("cents > minor(missing)", Decimal("19.99")),
    ("cents > minus(price)", 765),
    ("cents > minus(missing) > cents", Decimal("19.99")),
    ("price > negative", -1234),
    ("-5 > negative", -5),
    ("amounts[*].n > sum", Decimal("3.50")),
    ("ms > milliseconds", Decimal("1778680800.5")),
    ("url > parameter(utm_source)", "x"),
    ("url > parameter(utm_medium)", "cpc"),
    ("url > parameter(q)", "a b"),
    ("url > parameter(empty)", None),
    ("url > parameter(empty) | a.b.c", "deep"),
    ("bad > parameter(q)", None),
    ("path > within(base)", "https://shop.example/p?utm_source=newsletter"),
    ("path > within(missing)", "/p?utm_source=newsletter"),
    ("url > within(base) > host", "shop.example"),
    ("path > host", None),
    ("bad > host", None),
    ("missing > cents", None),
    ('"https://s.example/?gclid=1" > source', "google_ads"),
    ('"https://s.example/" > source', None),
]


@pytest.mark.parametrize(("text", "found"), FOUND)
def test_it_works(text: str, found: Any) -> None:
    assert parse(text).find(DOCUMENT) == found


@pytest.mark.parametrize(
    "text",
    [
        "", "|", "a |", "a ||b", "a >", "a > nonsense", "a > minor", "a > cents(b)", "a.", "a[",
        "a[*", "a b", '"open', "a > minor(b c)", "a > minor(| b)", "$header", "$header.a.b",
        "$header.Authorization", "a > minor($header.cookie)", "a" * 2001, "a.b > ", "[x]",
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["a > cents", "no > cents", "list > sum", "url > cents", '"NaN" > cents', '"1e5" > cents',
     "a > source", "bad > within(base)", '"x" > within(bad)'],
)  # fmt: skip
def test_a_value_that_does_not_fit(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse(text).find(DOCUMENT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)
STEPS = st.sampled_from(["a", "b", "c", "a[0]", "b[*]", "a[a=b]", 'a["b"]'])
TAILS = st.sampled_from([
    "", " > cents", " > sum", " > negative", " > minor(a.b)", " > minus(b)", " > source",
    " > host", " > parameter(x)", " > within(b)", " > milliseconds",
])  # fmt: skip


@given(JSON, st.lists(STEPS, min_size=1, max_size=3), TAILS, TAILS)
def test_whatever_a_body_holds(body: Any, steps: list[str], first: str, second: str) -> None:
    """Either a value or ValueError comes out, never anything else."""
    with contextlib.suppress(ValueError):
        parse(".".join(steps) + first + second).find(Document(body, {}))


@given(st.text(max_size=30))
def test_whatever_an_operator_types(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse(text).find(DOCUMENT)


def test_settings() -> None:
    settings = read_settings("generic", {
        "event": "purchase", "event.order.paid": "custom_event_7", "event.other": "",
        "topic": "kind", "signature_header": "X-Sig", "map.email": "user.mail",
        "map.amount@order.paid": "total > cents", "map.phone": "",
    })  # fmt: skip
    assert settings == Settings(
        "x-sig", "kind", {"*": "purchase", "order.paid": "custom_event_7", "other": ""},
        {"email": "user.mail", "amount@order.paid": "total > cents", "phone": ""},
    )  # fmt: skip
    assert read_settings("generic", {"map.email": "m"}, settings).events == settings.events


@pytest.mark.parametrize(
    ("kind", "key", "value", "why"),
    [
        ("generic", "event", "nonsense", "no standard event name"),
        ("stripe", "event", "purchase", "use event.<topic>"),
        ("stripe", "event.x", "custom_event_51", "no standard event name"),
        ("stripe", "topic", "type", "generic webhooks only"),
        ("stripe", "map.shoe_size", "a", "no field of an event"),
        ("stripe", "map.event_name", "a", "no field of an event"),
        ("stripe", "map.email", "a >", "cannot be read"),
        ("stripe", "map.email@", "a", "name a topic"),
        ("stripe", "mapping", "a", "no such setting"),
        ("generic", "signature_header", "Authorization", "must not be"),
        ("generic", "signature_header", "a b", "name of a header"),
        ("generic", "topic", "| x", "cannot be read"),
        ("generic", "map.email", "$header.cookie", "must not read cookie"),
    ],
)
def test_settings_that_cannot_be_used(kind: str, key: str, value: str, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_settings(kind, {key: value})
    assert why in caught.value.errors[key][0]


def test_a_generic_webhook_says_what_it_is_for() -> None:
    with pytest.raises(Invalid, match="needs event=NAME"):
        read_settings("generic", {"map.email": "email"})
