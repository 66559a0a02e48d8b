"""What of an answer is kept."""

from __future__ import annotations

import time

import pytest

from headwater.forwarding.redacting import MOST_ANSWER, shown, shown_answer

HASH = "a1" * 32


def test_it_works() -> None:
    assert shown_answer(b'{"events_received":2}', ["token"]) == '{"events_received":2}'
    assert shown_answer(b"", []) is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("bad e-mail anna.b+c@example.com given", "bad e-mail … given"),
        ('{"em":"a@b.de","x":1}', '{"em":"…","x":1}'),
        ("a%40b.de", "…"),
        (r'"a\u0040b.de"', '"…"'),
        (f"user {HASH} and {HASH.upper()}", "user … and …"),
        (f"{HASH}ab", f"{HASH}ab"),
        ("token=geheim/1&x", "token=…&x"),
        ("token=geheim%2F1", "token=…"),
        ("say \"two\" 'lines\\n'", "say \"two\" 'lines\\n'"),
        ("nul\0 byte", "nul byte"),
    ],
)
def test_what_is_left_out(text: str, kept: str) -> None:
    assert shown(text, ["geheim/1", "x"], 500) == kept


def test_it_is_cut_after_it_was_cleaned() -> None:
    text = "x" * (MOST_ANSWER - 3) + "geheim-und-lang"
    answer = shown_answer(text.encode(), ["geheim-und-lang"])
    assert answer == "x" * (MOST_ANSWER - 3) + "…"


@pytest.mark.parametrize("text", ["a" * 65_536, "@" * 65_536, "a@" * 32_768, "0" * 65_536])
def test_any_text_takes_little_time(text: str) -> None:
    began = time.perf_counter()
    shown(text, ["secret"], 500)
    assert time.perf_counter() - began < 0.5
