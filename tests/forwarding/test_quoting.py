"""What is kept of an answer."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.forwarding.platforms.quoting import LONGEST_ANSWER, keepable, without_quoted

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "secret_value"]), inner, max_size=3)
    ),
)


def test_it_works() -> None:
    body = b'{"code": 7, "events": [{"quoted": {"email": "x"}, "index": 0}]}'
    kept = '{"code":7,"events":[{"quoted":"[masked]","index":0}]}'
    assert keepable(body, frozenset({"quoted"})) == kept


def test_text_is_kept_of_one_that_quotes_nothing() -> None:
    assert keepable(b"<html>\xff busy \0</html>", frozenset()) == "<html>� busy </html>"
    assert keepable(b"<html>busy</html>", frozenset({"event"})) == ""


def test_addresses_are_not_kept() -> None:
    kept = keepable(b'{"message": "no jane@example.com from 203.0.113.9"}', frozenset())
    assert kept == '{"message":"no [masked] from [masked]"}'


def test_the_beginning_is_kept() -> None:
    assert len(keepable(msgspec.json.encode(["x" * 9000]), frozenset())) <= LONGEST_ANSWER
    assert len(keepable(b"x" * 100_000, frozenset())) <= LONGEST_ANSWER


def test_depth_without_end() -> None:
    assert keepable(b"[" * 50_000, frozenset({"a"})) == ""


@given(DOCUMENTS)
def test_nothing_quoted_is_left(document: object) -> None:
    marked = {"outer": document, "secret_value": "QQ", "list": [{"secret_value": ["QQ"]}]}
    assert "QQ" not in keepable(msgspec.json.encode(marked), frozenset({"secret_value"}))


def test_words_without_the_value_they_are_about() -> None:
    assert without_quoted("'Jane' is no hash", "Jane") == "'[masked]' is no hash"
    assert without_quoted("ab is no hash", "ab") == "ab is no hash"
    assert without_quoted("must be given", None) == "must be given"
    assert without_quoted(None, "Jane") == ""
    assert without_quoted("12345 is too long", 12345) == "[masked] is too long"
