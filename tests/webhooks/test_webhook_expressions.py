"""Expressions: JMESPath with our functions on exact numbers, and errors for invalid ones."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.http.errors import Invalid
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.functions import FUNCTIONS
from headwater.intake.webhooks.models import MappingInput, WebhookSettings
from headwater.intake.webhooks.settings_input import read_settings
from headwater.intake.webhooks.values import EXPRESSION
from tests.support.campaigns import campaign_size

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
DOCUMENT = MappingInput(BODY, {"x-id": "h1"})

FOUND = [
    ("a.b.c", "deep"),
    ("a.b", {"c": "deep"}),
    ("a.x", None),
    ("a.b.c.d", None),
    ('a."odd name"', 1),
    ('a."dotted.name"', 2),
    ("list[0].v", 1),
    ("list[9].v", None),
    ("list[?k=='y'] | [0].v", 2),
    ("list[?k=='z'] | [0].v", None),
    ("list[*].v", [1, 2]),
    ("a[0]", None),
    ("a[*].x", None),
    ("zero", 0),
    ("no", False),
    ("blank", None),
    ("null", None),
    ("not_blank(missing, a.b.c)", "deep"),
    ("not_blank(blank, null, zero, price)", 0),
    ("not_blank(no, price)", False),
    ("not_blank(price, from_minor_units(url))", "1234"),
    ("missing || a.b.c", "deep"),
    ("no || price", "1234"),
    ("'a | constant > here'", "a | constant > here"),
    ("`12.5`", Decimal("12.5")),
    ("`true`", True),
    ('`[0.1, {"a": 0.2}]`', [Decimal("0.1"), {"a": Decimal("0.2")}]),
    ("truth", None),
    ("header('x-id')", "h1"),
    ("header('X-Id')", "h1"),
    ("list[*].not_null(header('x-id'))", ["h1", "h1", "h1"]),
    ("header", "in the body"),
    ("from_minor_units(cents)", Decimal("19.99")),
    ("from_minor_units(cents, eur)", Decimal("19.99")),
    ("from_minor_units(cents, yen)", 1999),
    ("from_minor_units(cents, dinar)", Decimal("1.999")),
    ("from_minor_units(cents, missing)", Decimal("19.99")),
    ("subtract(cents, price)", 765),
    ("from_minor_units(subtract(cents, missing))", Decimal("19.99")),
    ("negative(price)", -1234),
    ("negative(`-5`)", -5),
    ("number(price)", 1234),
    ("number('0.1234567890123456789')", Decimal("0.1234567890123456789")),
    ("total(amounts[*].n)", Decimal("3.50")),
    ("total(`[]`)", None),
    ("sum(amounts[*].to_number(n))", Decimal("3.50")),
    ("from_milliseconds(ms)", Decimal("1778680800.5")),
    ("join_words(a.b.c, blank, missing, price)", "deep 1234"),
    ("join_words(blank)", None),
    ("join('-', [a.b.c, missing, price][?@])", "deep-1234"),
    ("url_parameter(url, 'utm_source')", "x"),
    ("url_parameter(url, 'utm_medium')", "cpc"),
    ("url_parameter(url, 'q')", "a b"),
    ("url_parameter(url, 'empty')", None),
    ("not_blank(url_parameter(url, 'empty'), a.b.c)", "deep"),
    ("url_parameter(bad, 'q')", None),
    ("absolute_url(path, base)", "https://shop.example/p?utm_source=newsletter"),
    ("absolute_url(path, missing)", "/p?utm_source=newsletter"),
    ("url_host(absolute_url(url, base))", "shop.example"),
    ("url_host(path)", None),
    ("url_host(bad)", None),
    ("from_minor_units(missing)", None),
    ("total(missing)", None),
    ("url_source('https://s.example/?gclid=1')", "google_ads"),
    ("url_source('https://s.example/')", None),
]


@pytest.mark.parametrize(("text", "value"), FOUND)
def test_it_works(text: str, value: Any) -> None:
    assert parse(text).find(DOCUMENT) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read: it is empty"),
        (" ", "cannot be read: it ends too early"),
        ("| a", "cannot be read at character 1, “| a”"),
        ("a |", "ends too early"),
        ("a b", "cannot be read at character 3, “b”"),
        ("a.b.12", "cannot be read at character 5, “12”"),
        ("a[*", "ends too early"),
        ("a = b", "cannot be read at character 3, “= b”"),
        ("data.object.amount # cents, as Stripe sends it", "at character 20, “# cents, as Stripe s…”"),
        ("$header.x", "cannot be read at character 1"),
        ("'open", "cannot be read at character 1, “'open”"),
        ("`text`", "put text in single quotes"),
        ("nonsense(a)", "has the unknown function nonsense(); the functions are abs, absolute_url"),
        ("from_minor_units()", "from_minor_units() takes any value, optionally any value"),
        ("negative(a, b)", "gives negative() 2 arguments; negative() takes any value"),
        ("join(' ')", "gives join() 1 arguments; join() takes text, a list of texts"),
        ("not_blank()", "gives not_blank() 0 arguments"),
        ("map(a, b)", "must have an expression after & in map()"),
        ("length(&a)", "must have text, a list or an object in length()"),
        ("&a", "has a & where no function takes an expression"),
        ("[&a]", "has a & where no function takes an expression"),
        ("a[::0]", "steps of 0"),
        ("`0.12345678901234567`", "more than 15 digits"),
        ("`NaN`", "number"),
        ("header(a)", "must have the header's name in single quotes in header()"),
        ("header('Authorization')", "must not read authorization"),
        ("from_minor_units(a, header('cookie'))", "must not read cookie"),
    ],
)
def test_bad_expressions_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as error_info:
        parse(text)
    assert message in str(error_info.value)


@pytest.mark.parametrize(
    "text",
    ["from_minor_units(a)", "from_minor_units(no)", "total(list)", "from_minor_units(url)",
     "from_minor_units('NaN')", "from_minor_units('1e5')", "url_source(a)",
     "absolute_url(bad, base)", "absolute_url('x', bad)"],
)  # fmt: skip
def test_a_value_that_does_not_fit(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse(text).find(DOCUMENT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("join(' ', [price, zero])", "join() takes text, a list of texts."),
        ("sum(amounts[*].n)", "sum() takes a list of numbers."),
        ("length(zero)", "length() takes text, a list or an object."),
        ("sort_by(amounts, &n)", "sort_by() compares by numbers or by texts."),
        ("abs(price)", "abs() takes a number."),
        ("url_parameter(url, missing)", "url_parameter() takes any value, text."),
    ],
)
def test_a_function_of_the_wrong_values(text: str, message: str) -> None:
    """The reason doesn't quote the body, which may contain a person's address."""
    with pytest.raises(ValueError, match="cannot be evaluated") as error_info:
        parse(text).find(DOCUMENT)
    assert str(error_info.value) == f"cannot be evaluated: {message}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)
PATHS = st.sampled_from(["a", "b.c", "a[0]", "b[*].a", "a[?a=='b'] | [0]", "a[?b > `1`]", "*.a[]"])
CALLS = st.recursive(
    PATHS,
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(sorted(
            name for name, function in FUNCTIONS.items()
            if len(function.takes) == 1 and not function.reads_headers
        )), inner),
        st.builds("{}({}, {})".format, st.sampled_from(sorted(
            name for name, function in FUNCTIONS.items()
            if len(function.takes) == 2 and EXPRESSION not in function.takes
        )), inner, inner),
        st.builds("{}({}, &{})".format, st.sampled_from(["sort_by", "max_by", "min_by"]), inner,
                  inner),
        st.builds("map(&{}, {})".format, inner, inner),
    ),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=campaign_size("HEADWATER_EXPRESSIONS", 200, 20_000), deadline=None)
@given(JSON, CALLS)
def test_any_body_gives_a_value_or_an_error(body: Any, text: str) -> None:
    """The result is a value or a ValueError, and never another exception."""
    with contextlib.suppress(ValueError):
        parse(text).find(MappingInput(body, {}))


@settings(max_examples=campaign_size("HEADWATER_EXPRESSIONS", 200, 20_000), deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="ab.[]{}*|&()'`\"\\?@:,-0= !<>", max_size=30))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse(text).find(DOCUMENT)


def test_settings() -> None:
    settings = read_settings("generic", {
        "event": "purchase", "event.order.paid": "custom_event_7", "event.other": "",
        "topic": "kind", "signature_header": "X-Sig", "map.email": "user.mail",
        "map.amount@order.paid": "from_minor_units(total)", "map.phone": "",
    })  # fmt: skip
    assert settings == WebhookSettings(
        "x-sig", "kind", {"*": "purchase", "order.paid": "custom_event_7", "other": ""},
        {"email": "user.mail", "amount@order.paid": "from_minor_units(total)", "phone": ""},
    )  # fmt: skip
    assert read_settings("generic", {"map.email": "m"}, settings).events == settings.events


@pytest.mark.parametrize(
    ("kind", "key", "value", "message"),
    [
        ("generic", "event", "nonsense", "not a standard event name"),
        ("stripe", "event", "purchase", "use event.<topic>"),
        ("stripe", "event.x", "custom_event_51", "not a standard event name"),
        ("stripe", "topic", "type", "generic webhooks only"),
        ("stripe", "map.shoe_size", "a", "not an event field"),
        ("stripe", "map.event_name", "a", "not an event field"),
        ("stripe", "map.email", "a >", "cannot be read"),
        ("stripe", "map.email@", "a", "name a topic"),
        ("stripe", "mapping", "a", "unknown setting"),
        ("generic", "signature_header", "Authorization", "must not be"),
        ("generic", "signature_header", "a b", "name of a header"),
        ("generic", "topic", "| x", "cannot be read"),
        ("generic", "map.email", "header('cookie')", "must not read cookie"),
        ("generic", "test_orders", "yes", "count or ignore"),
    ],
)
def test_settings_that_cannot_be_used(kind: str, key: str, value: str, message: str) -> None:
    with pytest.raises(Invalid) as error_info:
        read_settings(kind, {key: value})
    assert message in error_info.value.errors[key][0]


def test_settings_have_a_limit() -> None:
    pairs = {f"event.topic{number}": "purchase" for number in range(200)}
    assert len(read_settings("stripe", pairs).events) == 200
    with pytest.raises(Invalid, match="at most 200 settings"):
        read_settings("stripe", {"map.email": "email"}, read_settings("stripe", pairs))
    with pytest.raises(Invalid, match="at most 200 characters"):
        read_settings("stripe", {f"event.{'x' * 201}": "purchase"})


def test_a_generic_webhook_says_what_it_is_for() -> None:
    with pytest.raises(Invalid, match="needs event=NAME"):
        read_settings("generic", {"map.email": "email"})
