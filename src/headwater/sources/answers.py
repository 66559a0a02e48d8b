"""Answers to the question how somebody heard of a business, to a source: the self-reported source.
By a data file of phrases in ten languages, and a Space's own. Pure, offline.

    Googled you after a freind's podcast
    │                   │        └─ podcast, level 1
    │                   └─ friend with two letters swapped, level 1 ──▶ word_of_mouth: of the lowest
    └─ google, level 2: only led there                                  level, and the first
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from headwater.sources.catalogue import LISTED_SOURCES

OTHER = "other"
"""The source of an answer that names none."""
BESIDES = (
    "facebook",
    "google",
    "linkedin",
    "tiktok",
    "youtube",
    "instagram",
    "bing",
    "yahoo",
    "pinterest",
    "reddit",
    "snapchat",
    "telegram",
    "twitch",
    "x",
    "quora",
    "duckduckgo",
    "messenger",
    "brave",
    "threads",
    "discord",
    "whatsapp",
    "line",
    "app_store",
    "word_of_mouth",
    "podcast",
    "tv",
    "radio",
    "press",
    "event",
    "outdoor",
    "print",
    "influencer",
    "store",
    "customer",
    "search",
    "social",
    "ads",
    "ai",
    "web",
    OTHER,
)
"""What people name besides the listed sources: platforms, of which an answer seldom says whether
they were paid, and what leaves no click."""
SELF_REPORTED = (*LISTED_SOURCES, *BESIDES)
"""The self-reported sources."""

LONGEST_PHRASE = 5
"""The most words of a phrase."""
LONGEST_WORD = 32
"""The letters of a word beyond which it is cut: no name is as long."""
MOST_WORDS = 100
"""The first words of an answer that are read."""
_LEAST_MISSPELT = 5
"""The letters from which a word may have one amiss; from twice as many, less one, two."""
_OWN_LEVEL = 0

_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[^\W_{_ASIAN}]+")
_ASIAN_TEXT = re.compile(rf"[{_ASIAN}]")
_LINE = re.compile(r"(\d) (\w+): (.+)")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "œ": "oe", "æ": "ae", "\u0131": "i"})


class _Sense(NamedTuple):
    """The meaning of a phrase."""

    level: int
    source: str


class _PhraseAt(NamedTuple):
    """A phrase in an answer; the least one counts."""

    level: int
    at: int
    """Where it begins."""
    source: str


def plain(text: str) -> str:
    """A text without case and accents, in which the same letters are the same characters."""
    # A letter's variant, such as a mathematical A, becomes the letter first: it may have a case.
    letters = unicodedata.normalize("NFKD", text).casefold()
    parts = unicodedata.normalize("NFKD", letters).translate(_LETTERS)
    return "".join(part for part in parts if not unicodedata.combining(part))


def accented(text: str) -> str:
    """A text without case, each letter one character."""
    return unicodedata.normalize("NFC", text.casefold())


def words_of(text: str) -> str:
    """The words of a phrase as a Space's own are stored and looked for."""
    folded = plain(text)
    if _ASIAN_TEXT.search(folded):
        return "".join(folded.split())
    return " ".join(_WORD.findall(folded)[:LONGEST_PHRASE])


class Phrases:
    """Phrases by the way in which they are looked for."""

    def __init__(self) -> None:
        self.exact: dict[str, _Sense] = {}
        self.accented: dict[str, _Sense] = {}
        self.whole: dict[str, _Sense] = {}
        self.beginnings: dict[str, _Sense] = {}
        self.ends: dict[str, _Sense] = {}
        self.parts: dict[str, _Sense] = {}
        """Of a script without blanks between words."""
        self.near: dict[str, _Sense] = {}
        """Single words with a gap for a letter or without it, long ones without up to two."""

    def add(self, phrase: str, sense: _Sense) -> None:
        """Add a phrase as the data file writes it."""
        key = words_of(phrase)
        if phrase[0] == "!":
            self.accented[accented(phrase[1:])] = sense
        elif phrase[0] == "=":
            self.whole[key] = sense
        elif _ASIAN_TEXT.search(key):
            self.parts[key] = sense
        elif phrase[0] == "*":
            self.ends[key] = sense
        else:
            self._add_words(key, sense, begins=phrase[-1] == "*")

    def _add_words(self, key: str, sense: _Sense, *, begins: bool) -> None:
        self.exact.setdefault(key, sense)
        if begins and " " not in key:
            self.beginnings[key] = sense
        for near in _with_gap(key):
            self.near.setdefault(near, sense)


def _with_gap(word: str) -> set[str]:
    """A single word with a gap for one of its letters, and without each of them."""
    if not _LEAST_MISSPELT <= len(word) <= LONGEST_WORD or " " in word:
        return set()
    gaps = {word[:at] + gap + word[at + 1 :] for at in range(len(word)) for gap in ("", "_")}
    return gaps | (_without_two(word) if _is_long(word) else set())


def _without_two(word: str) -> set[str]:
    """The word without up to two of its letters."""
    shorter = {word[:at] + word[at + 1 :] for at in range(len(word))} | {word}
    return shorter | {each[:at] + each[at + 1 :] for each in shorter for at in range(len(each))}


def _is_long(word: str) -> bool:
    return 2 * _LEAST_MISSPELT - 1 <= len(word) <= LONGEST_WORD


def _read_phrases() -> Phrases:
    phrases = Phrases()
    text = files("headwater.sources").joinpath("answers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        matches = _LINE.fullmatch(line)
        if matches is not None:
            level, source, listed = matches.groups()
            for phrase in listed.split(", "):
                phrases.add(phrase, _Sense(int(level), source))
    return phrases


_SHIPPED = _read_phrases()
_PAID = frozenset(source.removesuffix("_ads") for source in LISTED_SOURCES if source.endswith("_ads"))


class AnswerRules:
    """The phrases that a Space has of its own, which come before those that ship with Headwater."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def source_of(self, answer: str) -> str:
        """The self-reported source of an answer; OTHER where it names none."""
        if self._names and (own := self._own(answer)) is not None:
            return own
        return _shipped_source(answer)

    def _own(self, answer: str) -> str | None:
        """The source of the longest own phrase that the answer has."""
        folded = plain(answer)
        spaced = f" {' '.join(_WORD.findall(folded))} "
        joined = "".join(folded.split())
        matches = [
            phrase
            for phrase in self._names
            if (phrase in joined if _ASIAN_TEXT.search(phrase) else f" {phrase} " in spaced)
        ]
        longest = max(matches, key=lambda phrase: (len(phrase), phrase), default=None)
        return None if longest is None else self._names[longest]


@lru_cache(maxsize=4096)
def _shipped_source(answer: str) -> str:
    """The source of an answer by the phrases that ship with Headwater. Most answers are one of a
    few, as they are chosen from a list.
    """
    whole = _SHIPPED.whole.get(words_of(answer))
    if whole is not None:
        return whole.source
    matches = [*_in_words(answer), *_in_parts(plain(answer))]
    if not matches:
        return OTHER
    source = min(matches).source
    if source in _PAID and any(each.source == "ads" for each in matches):
        return f"{source}_ads"
    return source


def _in_words(answer: str) -> Iterator[_PhraseAt]:
    """Yield the phrases among the words of an answer; of those that begin with the same word the
    longest.
    """
    folded = plain(answer)
    spans = [(each.start(), each[0][:LONGEST_WORD]) for each in _WORD.finditer(folded)][:MOST_WORDS]
    words = [word for _, word in spans]
    place = 0
    while place < len(words):
        length, sense = _phrase_at(words, place)
        if sense is not None:
            yield _PhraseAt(sense.level, spans[place][0], sense.source)
            suffix = _longest(_SHIPPED.ends, _ends_of(words[place]))
            if suffix is not None:  # a word of two: Facebookannons
                yield _PhraseAt(suffix.level, spans[place][0] + 1, suffix.source)
        place += length
    for each in _WORD.findall(accented(answer))[:MOST_WORDS]:
        sense = _SHIPPED.accented.get(each)
        if sense is not None:
            yield _PhraseAt(sense.level, 0, sense.source)


def _phrase_at(words: Sequence[str], place: int) -> tuple[int, _Sense | None]:
    """The number of words of the phrase that begins at a place, and what it stands for."""
    for length in range(min(LONGEST_PHRASE, len(words) - place), 0, -1):
        sense = _SHIPPED.exact.get(" ".join(words[place : place + length]))
        if sense is not None:
            return length, sense
    word = words[place]
    begun = _longest(_SHIPPED.beginnings, (word[:end] for end in range(len(word), 2, -1)))
    return 1, begun or _longest(_SHIPPED.ends, _ends_of(word)) or _misspelt(word)


def _ends_of(word: str) -> Iterator[str]:
    return (word[start:] for start in range(len(word) - 3))


def _longest(senses: Mapping[str, _Sense], texts: Iterator[str]) -> _Sense | None:
    return next((senses[text] for text in texts if text in senses), None)


def _misspelt(word: str) -> _Sense | None:
    """The meaning of a word that is a name but for a letter, or for two of a long one: missing,
    another, too many, or two in the wrong order.
    """
    if not _LEAST_MISSPELT <= len(word) <= LONGEST_WORD:
        return None
    places = range(len(word))
    near = {word} | {word[:at] + "_" + word[at + 1 :] for at in places}
    near |= _without_two(word) if _is_long(word) else set()
    exact = {word[:at] + word[at + 1 :] for at in places}
    exact |= {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in places[:-1]}
    matches = [_SHIPPED.near[key] for key in near & _SHIPPED.near.keys()]
    matches += [_SHIPPED.exact[key] for key in exact & _SHIPPED.exact.keys() if len(key) >= _LEAST_MISSPELT]
    return min(matches) if matches else None


def _in_parts(folded: str) -> Iterator[_PhraseAt]:
    """Yield the phrases of scripts without blanks, the longest of each place."""
    if not _ASIAN_TEXT.search(folded):
        return
    text = folded[: MOST_WORDS * 5]
    at = 0
    while at < len(text):
        for length in range(min(_LONGEST_PART, len(text) - at), 0, -1):
            sense = _SHIPPED.parts.get(text[at : at + length])
            if sense is not None:
                yield _PhraseAt(sense.level, at, sense.source)
                at += length - 1
                break
        at += 1


_LONGEST_PART = max(map(len, _SHIPPED.parts))


@lru_cache(maxsize=64)
def answer_rules(names: tuple[tuple[str, str], ...]) -> AnswerRules:
    """Rules from a cache, as most Spaces have the same: none of their own."""
    return AnswerRules(dict(names))
