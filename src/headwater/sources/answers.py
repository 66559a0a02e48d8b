"""Classify answers to "How did you hear about us?" as self-reported sources. Pure.

Uses a data file of phrases in ten languages, and a Space's own phrases.

    Googled you after a freind's podcast
    │                   │        └─ podcast, level 1
    │                   └─ friend with two letters swapped, level 1 ──▶ word_of_mouth: lowest level,
    └─ google, level 2: only led there                                  then first in the text
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from headwater.sources.catalogue import LISTED_SOURCES

OTHER = "other"
"""For answers without a source."""
OTHER_SOURCES = (
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
"""Answers besides the listed sources: platforms without paid or organic, and sources without clicks."""
SELF_REPORTED = (*LISTED_SOURCES, *OTHER_SOURCES)

MAX_PHRASE_WORDS = 5
MAX_WORD_LENGTH = 32
"""Longer words are cut."""
MAX_WORDS = 100
"""Further words of an answer are ignored."""
_MIN_MISSPELT_LENGTH = 5
"""Words this long may have one wrong letter; words of at least twice this minus one, two."""

_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[^\W_{_ASIAN}]+")
_ASIAN_TEXT = re.compile(rf"[{_ASIAN}]")
_LINE = re.compile(r"(\d) (\w+): (.+)")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "œ": "oe", "æ": "ae", "\u0131": "i"})


class _Sense(NamedTuple):
    level: int
    source: str


class _PhraseAt(NamedTuple):
    level: int
    position: int
    source: str


def fold_accents(text: str) -> str:
    """Remove case and accents, and unify character variants."""
    # First resolve variants, such as a mathematical A, which have no case.
    letters = unicodedata.normalize("NFKD", text).casefold()
    parts = unicodedata.normalize("NFKD", letters).translate(_LETTERS)
    return "".join(character for character in parts if not unicodedata.combining(character))


def fold_case(text: str) -> str:
    """Remove case, and compose each letter into one character."""
    return unicodedata.normalize("NFC", text.casefold())


def normalize_phrase(text: str) -> str:
    """Return words in the form for storing and matching."""
    folded = fold_accents(text)
    if _ASIAN_TEXT.search(folded):
        return "".join(folded.split())
    return " ".join(_WORD.findall(folded)[:MAX_PHRASE_WORDS])


class Phrases:
    def __init__(self) -> None:
        self.exact_senses: dict[str, _Sense] = {}
        self.accented: dict[str, _Sense] = {}
        self.full_answers: dict[str, _Sense] = {}
        self.beginnings: dict[str, _Sense] = {}
        self.ends: dict[str, _Sense] = {}
        self.parts: dict[str, _Sense] = {}
        """For scripts without blanks between words."""
        self.near: dict[str, _Sense] = {}
        """Single words with one letter, or two in long words, removed or replaced by a gap."""

    def add(self, phrase: str, sense: _Sense) -> None:
        key = normalize_phrase(phrase)
        if phrase[0] == "!":
            self.accented[fold_case(phrase[1:])] = sense
        elif phrase[0] == "=":
            self.full_answers[key] = sense
        elif _ASIAN_TEXT.search(key):
            self.parts[key] = sense
        elif phrase[0] == "*":
            self.ends[key] = sense
        else:
            self._add_words(key, sense, begins=phrase[-1] == "*")

    def _add_words(self, key: str, sense: _Sense, *, begins: bool) -> None:
        self.exact_senses.setdefault(key, sense)
        if begins and " " not in key:
            self.beginnings[key] = sense
        for misspelling in _add_gaps(key):
            self.near.setdefault(misspelling, sense)


def _add_gaps(word: str) -> set[str]:
    """Return a word with each letter removed or replaced by a gap; a long one also with two removed."""
    if not _MIN_MISSPELT_LENGTH <= len(word) <= MAX_WORD_LENGTH or " " in word:
        return set()
    gaps = {word[:i] + gap + word[i + 1 :] for i in range(len(word)) for gap in ("", "_")}
    return gaps | (_remove_two(word) if _is_long(word) else set())


def _remove_two(word: str) -> set[str]:
    shorter = {word[:i] + word[i + 1 :] for i in range(len(word))} | {word}
    return shorter | {text[:i] + text[i + 1 :] for text in shorter for i in range(len(text))}


def _is_long(word: str) -> bool:
    return 2 * _MIN_MISSPELT_LENGTH - 1 <= len(word) <= MAX_WORD_LENGTH


@cache
def _shipped() -> Phrases:
    """Read the built-in phrases. Most processes meet no answer."""
    phrases = Phrases()
    text = files("headwater.sources").joinpath("answers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        matches = _LINE.fullmatch(line)
        if matches is not None:
            level, source, phrase_list = matches.groups()
            for phrase in phrase_list.split(", "):
                phrases.add(phrase, _Sense(int(level), source))
    return phrases


_PAID = frozenset(source.removesuffix("_ads") for source in LISTED_SOURCES if source.endswith("_ads"))


class AnswerRules:
    """Classifies answers by a Space's own phrases, then by the built-in ones."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def classify(self, answer: str) -> str:
        """Return OTHER without a match."""
        return self._classify_by_own(answer) or _classify_by_shipped(answer)

    def _classify_by_own(self, answer: str) -> str | None:
        folded = fold_accents(answer)
        spaced_answer = f" {' '.join(_WORD.findall(folded))} "
        joined_answer = "".join(folded.split())
        matches = [
            phrase
            for phrase in self._names
            if (phrase in joined_answer if _ASIAN_TEXT.search(phrase) else f" {phrase} " in spaced_answer)
        ]
        longest = max(matches, key=lambda phrase: (len(phrase), phrase), default=None)
        return None if longest is None else self._names[longest]


@lru_cache(maxsize=4096)
def _classify_by_shipped(answer: str) -> str:
    """Classify by the built-in phrases. Cached because most answers are chosen from a list."""
    full_answer = _shipped().full_answers.get(normalize_phrase(answer))
    if full_answer is not None:
        return full_answer.source
    matches = [*_find_in_words(answer), *_find_in_asian_text(fold_accents(answer))]
    if not matches:
        return OTHER
    source = min(matches).source
    if source in _PAID and any(match.source == "ads" for match in matches):
        return f"{source}_ads"
    return source


def _find_in_words(answer: str) -> Iterator[_PhraseAt]:
    """Yield the longest phrase at each word."""
    folded = fold_accents(answer)
    matches = [(match.start(), match[0][:MAX_WORD_LENGTH]) for match in _WORD.finditer(folded)][:MAX_WORDS]
    words = [word for _, word in matches]
    index = 0
    while index < len(words):
        length, sense = _find_phrase(words, index)
        if sense is not None:
            yield _PhraseAt(sense.level, matches[index][0], sense.source)
            suffix = _find_longest(_shipped().ends, _list_ends(words[index]))
            if suffix is not None:  # a compound word: Facebookannons
                yield _PhraseAt(suffix.level, matches[index][0] + 1, suffix.source)
        index += length
    for word in _WORD.findall(fold_case(answer))[:MAX_WORDS]:
        sense = _shipped().accented.get(word)
        if sense is not None:
            yield _PhraseAt(sense.level, 0, sense.source)


def _find_phrase(words: Sequence[str], index: int) -> tuple[int, _Sense | None]:
    """Return the number of words and the phrase's meaning."""
    for length in range(min(MAX_PHRASE_WORDS, len(words) - index), 0, -1):
        sense = _shipped().exact_senses.get(" ".join(words[index : index + length]))
        if sense is not None:
            return length, sense
    word = words[index]
    prefix = _find_longest(_shipped().beginnings, (word[:end] for end in range(len(word), 2, -1)))
    return 1, prefix or _find_longest(_shipped().ends, _list_ends(word)) or _find_misspelt(word)


def _list_ends(word: str) -> Iterator[str]:
    return (word[start:] for start in range(len(word) - 3))


def _find_longest(senses: Mapping[str, _Sense], texts: Iterator[str]) -> _Sense | None:
    return next((senses[text] for text in texts if text in senses), None)


def _find_misspelt(word: str) -> _Sense | None:
    """Allow one letter missing, wrong, added or swapped, or two in a long word."""
    if not _MIN_MISSPELT_LENGTH <= len(word) <= MAX_WORD_LENGTH:
        return None
    indexes = range(len(word))
    near_keys = {word} | {word[:i] + "_" + word[i + 1 :] for i in indexes}
    near_keys |= _remove_two(word) if _is_long(word) else set()
    exact_keys = {word[:i] + word[i + 1 :] for i in indexes}
    exact_keys |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in indexes[:-1]}
    shipped_words = _shipped()
    matches = [shipped_words.near[key] for key in near_keys & shipped_words.near.keys()]
    matches += [
        shipped_words.exact_senses[key]
        for key in exact_keys & shipped_words.exact_senses.keys()
        if len(key) >= _MIN_MISSPELT_LENGTH
    ]
    return min(matches) if matches else None


def _find_in_asian_text(folded: str) -> Iterator[_PhraseAt]:
    """Match scripts without blanks, the longest phrase at each position."""
    if not _ASIAN_TEXT.search(folded):
        return
    text = folded[: MAX_WORDS * 5]
    parts = _shipped().parts
    longest = max(map(len, parts))
    position = 0
    while position < len(text):
        for length in range(min(longest, len(text) - position), 0, -1):
            sense = parts.get(text[position : position + length])
            if sense is not None:
                yield _PhraseAt(sense.level, position, sense.source)
                position += length - 1
                break
        position += 1


@lru_cache(maxsize=64)
def make_answer_rules(names: tuple[tuple[str, str], ...]) -> AnswerRules:
    """Return cached rules: most Spaces have no phrases of their own."""
    return AnswerRules(dict(names))
