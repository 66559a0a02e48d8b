"""A person with thousands of identifiers: a text is searched for the few that it may mention."""

from __future__ import annotations

import random

from headwater.privacy.redaction import PayloadMatcher

TOKENS = [("trk_token", f"token-{number:05}") for number in range(5_000)]
PERSON = [*TOKENS, ("fingerprint", "4f1a|10.0.0.1"), ("tracking_id", "a1"), ("email", "Ada@example.com")]


class CountedText(str):
    """A text that counts the searches in it."""

    __slots__ = ("searches",)

    def __contains__(self, fragment: str) -> bool:
        self.searches = getattr(self, "searches", 0) + 1
        return super().__contains__(fragment)


def test_it_works() -> None:
    person = PayloadMatcher(PERSON)
    for text in (
        "token-04999", "x token-00000", '{"email": "ADA@example.com"}', "a1", "10.0.0.1 with 4f1a",
        r'{"token": "token-0\u0031234"}',
    ):  # fmt: skip
        assert person.is_in(text), text
    for text in ("", "token", "token-05000", "4f1a", "ada@example.co", "b1"):
        assert not person.is_in(text), text


def test_all_identifiers_are_found_that_a_plain_search_finds() -> None:
    rng = random.Random(7)
    for _ in range(300):
        values = {"".join(rng.choices("abc", k=rng.randrange(1, 12))) for _ in range(rng.randrange(90, 130))}
        text = "".join(rng.choices("abcd", k=rng.randrange(30)))
        person = PayloadMatcher([("trk_token", value) for value in values])
        assert person.is_in(text) == any(value in text for value in values), (text, values)


def test_few_identifiers_are_searched_for() -> None:
    text = CountedText("a body that mentions nobody, but a token: token-05000. " * 50)
    assert not PayloadMatcher(TOKENS)._is_mentioned(text)
    assert getattr(text, "searches", 0) < 10
