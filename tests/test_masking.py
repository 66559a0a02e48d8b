"""Masking removes personal data and secrets from texts of other services."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.logs import MASKED
from headwater.base.masking import LONGEST_ANSWER, Mask, mask_fields

HASH = "a1" * 32
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "quoted"]), inner, max_size=3)
    ),
)


def test_it_works() -> None:
    mask = Mask(["Jane", "+491701234567"], frozenset({"quoted"}))
    body = b'{"code":7,"quoted":{"email":"x"},"message":"Jane of 491701234567 is unknown"}'
    assert mask.answer(body) == ('{"code":7,"quoted":"[masked]","message":"[masked] of [masked] is unknown"}')
    assert Mask().answer(b'{"events_received":2}') == '{"events_received":2}'
    assert Mask().answer(b"") is None


@pytest.mark.parametrize(
    ("text", "masked_text"),
    [
        ("bad e-mail anna.b+c@example.com given", f"bad e-mail {MASKED} given"),
        ('{"em":"a@b.de","x":1}', f'{{"em":"{MASKED}","x":1}}'),
        ("a%40b.de", MASKED),
        (r'"a\u0040b.de"', f'"{MASKED}"'),
        (f"user {HASH} and {HASH.upper()}", f"user {MASKED} and {MASKED}"),
        (f"{HASH}ab", f"{HASH}ab"),
        ("from 203.0.113.9 and 2001:db8::1", f"from {MASKED} and {MASKED}"),
        ("call +49 170 1234567 or +1 (650) 555-1212.", f"call {MASKED} or {MASKED}."),
        ("at 2026-11-20T10:15:30+01:00, +5 more", "at 2026-11-20T10:15:30+01:00, +5 more"),
        ("code=geheim/1&x", f"code={MASKED}&x"),
        ("code=geheim%2F1", f"code={MASKED}"),
        ("Al, al and All are no Alfred", f"{MASKED}, {MASKED} and All are no Alfred"),
        ("x is y", "x is y"),
        ("say \"two\" 'lines\\n'", "say \"two\" 'lines\\n'"),
        ("nul\0 byte", "nul byte"),
    ],
)
def test_texts(text: str, masked_text: str) -> None:
    assert Mask(["geheim/1", "x", "Al"]).text(text) == masked_text


def test_numbers_and_names_of_members_are_masked() -> None:
    mask = Mask(["+491701234567", "Jane"])
    assert mask.answer(b'{"Jane":[491701234567,5,true]}') == '{"[masked]":["[masked]",5,true]}'
    assert mask.answer(b'{"access_token":"abc","secret":5}') == ('{"access_token":"[masked]","secret":5}')


def test_a_longer_value_is_masked_whole() -> None:
    values = ["shop.example", "https://shop.example/thanks?id=12345678"]
    assert Mask(values).text("at https://shop.example/thanks?id=12345678!") == f"at {MASKED}!"


def test_other_texts_are_masked() -> None:
    assert Mask().answer(b"<html>\xff busy \0</html>") == "<html>\ufffd busy </html>"
    assert Mask(quotes=frozenset({"event"})).answer(b"<html>busy</html>") is None
    assert Mask(quotes=frozenset({"a"})).answer(b"[" * 50_000) is None


def test_the_beginning_is_kept_and_no_half_value_at_its_end() -> None:
    mask = Mask(["geheim-und-lang"])
    for body in (b"y" * 100_000, msgspec.json.encode(["y" * 9000])):
        assert len(mask.answer(body) or "") <= LONGEST_ANSWER
    for length in range(480, 501):
        assert "gehe" not in mask.text("y" * length + " geheim-und-lang")
    for length in (8180, 8185, 8190):
        assert "gehe" not in (mask.answer(b"y" * length + b" geheim-und-lang") or "")
    shrinking_body = b"geheim-und-lang " * 600
    assert "gehe" not in (mask.answer(shrinking_body) or "")


@given(DOCUMENTS)
def test_nothing_quoted_is_left(document: object) -> None:
    document_with_quotes = {"outer": document, "quoted": "QQ", "list": [{"quoted": ["QQ"]}]}
    mask = Mask(quotes=frozenset({"quoted"}))
    assert "QQ" not in (mask.answer(msgspec.json.encode(document_with_quotes)) or "")


@given(st.text('aBü@+ %"\\/', min_size=2, max_size=12), st.text(max_size=20))
def test_a_value_is_masked_wherever_it_stands(value: str, template: str) -> None:
    body = msgspec.json.encode({"said": f"{template} {value} {template}"})
    masked_text = Mask([value]).answer(body) or ""
    remaining_text = msgspec.json.decode(masked_text)["said"].replace(MASKED, "")
    assert f" {value} " not in remaining_text or value in f"{template} {template}" or not value.strip()


@pytest.mark.parametrize(
    "text", ["a" * 65_536, "@" * 65_536, "a@" * 32_768, "0" * 65_536, "+1" * 32_768, "+1 " * 22_000]
)
def test_any_text_takes_little_time(text: str) -> None:
    start = time.thread_time()
    Mask(["secret"]).text(text)
    assert time.thread_time() - start < 10


def test_many_values_take_little_time() -> None:
    mask = Mask(f"{number:032x}" for number in range(20_000))
    start = time.thread_time()
    mask.answer(msgspec.json.encode([f"{number:032x}" for number in range(2_000)]))
    assert time.thread_time() - start < 10


def test_fields_that_were_sent() -> None:
    fields = {
        "event_id": "k", "page": "https://u:p@shop.example/a?b=c#d", "user": {"em": [HASH]},
        "bad_page": "http://[", "new": 5, "list": ["x"],
    }  # fmt: skip
    assert mask_fields(fields, frozenset({"event_id"}), frozenset({"page", "bad_page"})) == {
        "event_id": "k", "page": "https://shop.example/a", "user": {"em": [MASKED]},
        "bad_page": MASKED, "new": MASKED, "list": [MASKED],
    }  # fmt: skip
