"""Suggestions for a misspelled name from a closed list.

A name is suggested if it differs only in case and punctuation, in one letter (added, missing, wrong, or
swapped), or if one begins with the other. Lookup tables are built once, for the first wrong name, so a
request with a thousand of them stays cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache

LONGEST = 40
"""Maximum characters of a word to look up; a longer one matches no name."""
MAX_SUGGESTIONS = 3
_SHORTEST_TYPO = 4
_SHORTEST_BEGINNING = 3
_LIKENESS = 0.6
"""difflib's ratio."""


class _Tables:
    """Where to look up the letters of a word, its typos, and what a name begins with."""

    def __init__(self, names: Iterable[str]) -> None:
        self.by_letters: dict[str, str] = {}
        self.by_typo: dict[str, list[str]] = {}
        self.by_beginning: dict[str, list[str]] = {}
        for name in names:
            letters = _letters(name)
            self.by_letters.setdefault(letters, name)
            for typo in {letters, *_shortened(letters)}:
                self.by_typo.setdefault(typo, []).append(name)
            for beginning in _beginnings(letters):
                self.by_beginning.setdefault(beginning, []).append(name)


class Names:
    """A closed list of names, and its description if that is shorter."""

    def __init__(self, names: Iterable[str], written: str = "") -> None:
        self._names = tuple(names)
        self._written = written or ", ".join(self._names)

    @cached_property
    def _tables(self) -> _Tables:
        return _Tables(self._names)

    def near(self, word: str) -> tuple[str, ...]:
        """Return similar names, nearest first, at most MOST."""
        return self._near(word) if len(word) <= LONGEST else ()  # a long word isn't cached either

    @lru_cache(maxsize=4096)  # noqa: B019 - lists of names live as long as the process
    def _near(self, word: str) -> tuple[str, ...]:
        letters = _letters(word)
        if not any(letter.isalpha() for letter in letters):
            return ()
        exact_match = self._tables.by_letters.get(letters)
        return (exact_match,) if exact_match is not None else tuple(self._similar(letters))[:MAX_SUGGESTIONS]

    def nearest(self, word: str) -> tuple[str, ...]:
        """Return similar names or, without any, the most alike. Slower than `near`: use it only for few
        values per request.
        """
        near_names = self.near(word)
        if near_names or len(word) > LONGEST:
            return near_names
        similar_letters = get_close_matches(
            _letters(word), self._tables.by_letters, MAX_SUGGESTIONS, _LIKENESS
        )
        return tuple(self._tables.by_letters[letters] for letters in similar_letters)

    def question(self, word: str, near: Sequence[str] | None = None) -> str:
        near = self.near(word) if near is None else near
        names_in_words = " or ".join(filter(None, (", ".join(near[:-1]), *near[-1:])))
        return f"did you mean {names_in_words}?" if near else ""

    def refusal(self, word: str, near: Sequence[str] | None = None) -> str:
        """Return the rest of the sentence "The <field> …" for an unknown word; `near` are the suggestions, if
        already known.
        """
        rule = f"must be one of {self._written}."
        question = self.question(word, near)
        return f"is not known: {question} It {rule}" if question else rule

    def _similar(self, letters: str) -> Iterator[str]:
        similar: dict[str, None] = {}
        if len(letters) >= _SHORTEST_TYPO:
            for typo in (letters, *_shortened(letters)):
                similar |= dict.fromkeys(self._tables.by_typo.get(typo, ()))
        similar |= dict.fromkeys(self._tables.by_beginning.get(letters, ()))
        for beginning in _beginnings(letters):
            if (name := self._tables.by_letters.get(beginning)) is not None:
                similar[name] = None
        # Another number is another name, not a misspelling.
        digits = _digits(letters)
        return (name for name in similar if _digits(name) == digits)


def _letters(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum())


def _digits(word: str) -> str:
    return "".join(letter for letter in word if letter.isdigit())


def _shortened(letters: str) -> Iterator[str]:
    """Yield the word without each of its letters. Two words one typo apart share a result, or one is among
    the other's.
    """
    return (letters[:index] + letters[index + 1 :] for index in range(len(letters)))


def _beginnings(letters: str) -> Iterator[str]:
    return (letters[:length] for length in range(_SHORTEST_BEGINNING, len(letters)))
