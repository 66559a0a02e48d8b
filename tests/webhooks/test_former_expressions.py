"""Mappings that 0.1.0 stored in its own language mean in JMESPath what they meant."""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headwater.database
from headwater.cli import main
from headwater.webhooks.expressions import parse
from headwater.webhooks.former_expressions import modernise, translate
from headwater.webhooks.models import MappingInput
from tests.models import path_expressions
from tests.support.clusters import CLUSTER_URL
from tests.support.webhooks import Hooks

MIGRATION = (
    Path(headwater.database.__file__).parent / "migrations" / "0021_webhook_language.sql"
).read_text()

EXAMPLES = [
    ("a.b | c", "not_blank(a.b, c)"),
    ("total > minor(currency)", "from_minor_units(total, currency)"),
    ("notes[name=trk_token].value", "notes[?name=='trk_token'] | [0].value"),
    ("lines[*].price > sum > negative", "negative(total((lines[*].price || `null`)))"),
    ("page > within(site) > host", "url_host(absolute_url(page, site))"),
    ("page > parameter(utm_source)", "url_parameter(page, 'utm_source')"),
    ("$header.X-Id", "header('X-Id')"),
    ('"it\'s"', '`"it\'s"`'),
    ("12.50", "number('12.50')"),
    ('a["odd name"]', 'a."odd name"'),
]


@pytest.mark.parametrize(("former", "modern"), EXAMPLES)
def test_it_works(former: str, modern: str) -> None:
    assert translate(former) == modern


MEMBERS = ["a", "b", "c", "é", "odd-name", "k'", 'd["e f"]', "$header", "null", "0"]
WANTED = ["x", "5", "1.50", "1E+2", "True", "False", "None", "it's", "a`b", "a\\", "", " x", "-0"]
TEXTS = st.sampled_from(["x", "5", "1.50", "usd", "JPY", "  ", "", "/p?x=1", "http://[", "2.0",
                         "https://www.s.example/?utm_source=google&x=2", "True",
                         "None"])  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-10, 10), TEXTS,
    st.sampled_from([5, Decimal("1.50"), Decimal("1E+2"), Decimal("1e400"), 10**30, 0, 1]),
)  # fmt: skip
KEYS = st.sampled_from(["a", "b", "c", "é", "odd-name", "k'", "e f", "null", "0"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=30,
)
STEPS = st.one_of(
    st.sampled_from([f".{each}" for each in MEMBERS]),
    st.sampled_from(["[0]", "[1]", "[007]", "[*]", "[*]", '["e f"]']),
    st.builds("[{}={}]".format, st.sampled_from(["a", "b", "é", "k'"]), st.sampled_from(WANTED)),
)
PATHS = st.one_of(
    st.builds(lambda first, rest: first + "".join(rest), st.sampled_from(MEMBERS),
              st.lists(STEPS, max_size=4)),
    st.just("$header.X-Id"),
)  # fmt: skip
SOURCES = PATHS | st.sampled_from(['"text"', '" "', '"a | b > c"', '"\\u00e9`\\n"', "12.50", "-3",
                                   "true", "false"])  # fmt: skip
CONVERSIONS = st.one_of(
    st.sampled_from(["cents", "negative", "sum", "milliseconds", "source", "host",
                     "parameter(utm_source)", "parameter( X )", "parameter(it's)"]),
    st.builds("{}({})".format, st.sampled_from(["minor", "minus", "within"]), PATHS),
)  # fmt: skip
ALTERNATIVES = st.builds(
    lambda source, conversions: " > ".join([source, *conversions]),
    SOURCES, st.lists(CONVERSIONS, max_size=3),
)  # fmt: skip
EXPRESSIONS = st.lists(ALTERNATIVES, min_size=1, max_size=3).map(" | ".join)


def worth(find: Any, text: str, document: MappingInput) -> Any:
    """The value of an expression and how it is spelt, or that it does not fit."""
    try:
        value = find(text).find(document)
    except ValueError:
        return "ValueError"
    return (value, str(value))


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, st.lists(JSON, min_size=1, max_size=5))
@example("a > sum", [{"a": []}])
@example("a[*].b > sum", [{"a": []}])
@example("a[*].b[*].c", [{"a": [{"b": []}, {"b": [{"c": 1}]}]}])
@example("a[b=None].c", [{"a": [5, {"b": None, "c": 1}]}, {"a": [{"c": 1}, {"b": "None", "c": 2}]}])
@example("a[b=1].c", [{"a": [{"b": True, "c": 1}, {"b": 1, "c": 2}]}])
@example("a | b > cents", [{"a": "x", "b": "no number"}, {"a": " ", "b": 5}, {"a": False}])
def test_whatever_it_was_worth(text: str, bodies: list[Any]) -> None:
    try:
        path_expressions.parse(text)
    except ValueError:
        return
    for body in bodies:
        document = MappingInput(body, {"x-id": "7"})
        former = worth(path_expressions.parse, text, document)
        assert worth(lambda one: parse(translate(one)), text, document) == former


CHARACTERS = st.text(alphabet="ab.[]*=|>()\"'\\ $0-1`é@&", max_size=25)


@settings(max_examples=400, deadline=None)
@given(CHARACTERS | EXPRESSIONS | st.text(max_size=20))
def test_what_was_stored_can_always_be_translated(text: str) -> None:
    """What was accepted translates to what can be read; of the rest, nothing breaks."""
    try:
        path_expressions.parse(text)
    except ValueError:
        with contextlib.suppress(ValueError):
            parse(translate(text))
    else:
        parse(translate(text))


@pytest.mark.parametrize(
    ("text", "modern"),
    [
        ("total > cents", "from_minor_units(total)"),
        ("a | b", "not_blank(a, b)"),
        ("a |$header.x", "not_blank(a, header('x'))"),
        ("a[*].b | [0]", None),
        ("a[?b > c] | [0]", None),
        ("a > `5`", None),
        ("a || b", None),
        ("cents", None),
    ],
)
def test_what_can_only_be_meant_so(text: str, modern: str | None) -> None:
    assert modernise(text) == modern


# -------------------------------------------------------------------------------- stored mappings


def language(connection: psycopg.Connection, webhook_id: int) -> Any:
    return connection.execute(
        "SELECT language, topic, mapping FROM webhooks WHERE id = %s", (webhook_id,)
    ).fetchone()


def as_stored_by_0_1_0(connection: psycopg.Connection, webhook_id: int) -> None:
    """Give a webhook the columns of one that an upgrade meets, by the upgrade itself."""
    with connection.transaction():
        connection.execute("ALTER TABLE webhooks DROP COLUMN language")
        connection.execute(
            "UPDATE webhooks SET topic = 'kind | type', mapping = jsonb_build_object('email',"
            " 'mail | user.mail', 'amount', 'total > cents', 'phone', '') WHERE id = %s",
            (webhook_id,),
        )
        connection.execute(MIGRATION)  # type: ignore[arg-type]  # our own file
        connection.execute("UPDATE webhooks SET language = 'jmespath' WHERE id <> %s",
                           (webhook_id,))  # fmt: skip


@pytest.mark.skipif(
    CLUSTER_URL is not None,
    reason="the migration is older than clusters, which take a column's constraint by itself alone",
)
def test_an_upgrade_keeps_what_is_stored(
    webhooks: Hooks, connection: psycopg.Connection, database_url: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    hook = webhooks.generic(event__sold="purchase", topic="kind")
    as_stored_by_0_1_0(connection, hook.id)
    assert language(connection, hook.id)[0] == "paths"
    body = {"type": "sold", "user": {"mail": "ada@example.com"}, "total": 1999}
    assert hook.deliver(body).json()["status"] == "accepted"
    hook.queue().process()
    assert hook.queue().values("events", "amount") == [Decimal("19.99")]
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    space = ["--space", str(hook.stage.space_id)]
    assert main(["webhook", "set", *space, str(hook.id), "map.url=page"]) == 0
    assert "from_minor_units(total)" in capsys.readouterr().out
    assert language(connection, hook.id) == (
        "jmespath", "not_blank(kind, type)",
        {"email": "not_blank(mail, user.mail)", "amount": "from_minor_units(total)",
         "phone": "", "url": "page"},
    )  # fmt: skip
    hook.deliver({**body, "total": 5})
    hook.queue().process()
    assert sorted(hook.queue().values("events", "amount")) == [Decimal("0.05"), Decimal("19.99")]


def test_a_new_webhook_speaks_jmespath(webhooks: Hooks, connection: psycopg.Connection) -> None:
    hook = webhooks.generic(map__phone="a.b | [0]")
    assert language(connection, hook.id)[0] == "jmespath"
    assert re.search("ADD COLUMN language", MIGRATION)
