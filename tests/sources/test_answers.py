"""What people answer when they are asked how they heard of the business, to a source."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.sources.answers import BESIDES, OTHER, SELF_REPORTED, AnswerRules, words_of
from headwater.sources.catalogue import SOURCES
from tests.support.sizes import ROOT

ANSWERS = Path(__file__).parent.parent / "data" / "answers.txt"
SHIPPED = AnswerRules({})
LEAST_RIGHT = 0.95
LANGUAGES = 10


def labelled() -> dict[str, list[tuple[str, str]]]:
    """The labelled answers by language, each with its source."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        source, bar, answer = line.partition("|")
        if bar:
            found[list(found)[-1]].append((source, answer))
        elif line and line.count(" ") == 1:
            found[line.removeprefix("# ")] = []
    return found


def test_it_works() -> None:
    assert SHIPPED.source_of("Googled you after a freind's podcast") == "word_of_mouth"
    assert SHIPPED.source_of("im Podcast gehört") == "podcast"
    assert SHIPPED.source_of("Facebook-Werbung") == "facebook_ads"
    assert SHIPPED.source_of("no idea") == OTHER


def test_the_examples_of_the_documentation() -> None:
    page = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")
    examples = re.findall(r'^"(.+)" +(\w+)   ', page, re.MULTILINE)
    assert len(examples) == 4
    assert [SHIPPED.source_of(answer) for answer, _ in examples] == [name for _, name in examples]


def test_labelled_answers() -> None:
    answers = labelled()
    assert len(answers) == LANGUAGES
    assert min(map(len, answers.values())) >= 100
    wrong: Counter[str] = Counter()
    for language, pairs in answers.items():
        wrong[language] = sum(SHIPPED.source_of(answer) != source for source, answer in pairs)
    total = sum(map(len, answers.values()))
    assert total >= 1_000
    assert wrong.total() <= (1 - LEAST_RIGHT) * total, wrong
    for language, pairs in answers.items():
        assert wrong[language] <= (1 - LEAST_RIGHT) * len(pairs), language


def test_labels_and_answers_are_of_the_list() -> None:
    labels = {source for pairs in labelled().values() for source, _ in pairs}
    assert labels <= set(SELF_REPORTED)
    assert len(set(SELF_REPORTED)) == len(SELF_REPORTED)
    assert not set(BESIDES) & set(SOURCES)


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("FACEBOOK", "facebook"), ("\uff46\uff42", "facebook"), ("faecbook", "facebook"),
        ("facebbook", "facebook"), ("facebok", "facebook"), ("facezook", "facebook"),
        ("fzcezook", OTHER), ("télévision", "tv"), ("televiison", "tv"), ("vän", "word_of_mouth"),
        ("van", OTHER), ("x", "x"), ("a x b", OTHER), ("Instagramkonto", "instagram"),
        ("Facebookannons", "facebook_ads"), ("twitter ad", "x_ads"), ("podcast ad", "podcast"),
        ("オンライン広告", "ads"), ("LINE", "line"), ("online", "web"), ("", OTHER), ("!!", OTHER),
    ],
)  # fmt: skip
def test_how_phrases_are_looked_for(answer: str, source: str) -> None:
    assert SHIPPED.source_of(answer) == source


def test_phrases_of_a_space_come_first() -> None:
    rules = AnswerRules({words_of(phrase): source for phrase, source in (
        ("OMR Podcast", "event"), ("podcast", "radio"), ("Über uns", "press"), ("展示会", "store"),
    )})  # fmt: skip
    assert rules.source_of("heard it on the omr podcast!") == "event", "the longest of them"
    assert rules.source_of("the podcast of somebody") == "radio"
    assert rules.source_of("podcasts") == "podcast", "whole words"
    assert rules.source_of("UBER   UNS") == "press"
    assert rules.source_of("東京の展示会で") == "store"
    assert rules.source_of("facebook") == "facebook"


@given(st.text(max_size=512))
def test_any_text_has_a_source(answer: str) -> None:
    assert SHIPPED.source_of(answer) in SELF_REPORTED
    assert AnswerRules({"a": "tv"}).source_of(answer) in SELF_REPORTED


@given(st.text(max_size=60))
@example("\N{MATHEMATICAL BOLD CAPITAL A}")
def test_a_phrase_is_found_in_itself(text: str) -> None:
    phrase = words_of(text)
    assert words_of(phrase) == phrase
    if phrase:
        assert AnswerRules({phrase: "tv"}).source_of(text) == "tv" or len(text.split()) > 5
