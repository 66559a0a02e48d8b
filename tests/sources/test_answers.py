"""Answers to "how did you hear about us?", mapped to a source."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.sources.answers import OTHER, OTHER_SOURCES, SELF_REPORTED, AnswerRules, normalize_phrase
from headwater.sources.catalogue import SOURCES
from tests.support.sizes import ROOT

ANSWERS = Path(__file__).parent.parent / "data" / "answers.txt"
SHIPPED = AnswerRules({})
LEAST_RIGHT = 0.95
LANGUAGES = 10


def labelled_answers() -> dict[str, list[tuple[str, str]]]:
    """Return the labelled answers by language, each with its source."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        source, bar, answer = line.partition("|")
        if bar:
            sections[list(sections)[-1]].append((source, answer))
        elif line and line.count(" ") == 1:
            sections[line.removeprefix("# ")] = []
    return sections


def test_it_works() -> None:
    assert SHIPPED.classify("Googled you after a freind's podcast") == "word_of_mouth"
    assert SHIPPED.classify("im Podcast gehört") == "podcast"
    assert SHIPPED.classify("Facebook-Werbung") == "facebook_ads"
    assert SHIPPED.classify("no idea") == OTHER


def test_the_examples_of_the_documentation() -> None:
    page = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")
    examples = re.findall(r'^"(.+)" +(\w+)   ', page, re.MULTILINE)
    assert len(examples) == 4
    assert [SHIPPED.classify(answer) for answer, _ in examples] == [name for _, name in examples]


def test_labelled_answers() -> None:
    answers = labelled_answers()
    assert len(answers) == LANGUAGES
    assert min(map(len, answers.values())) >= 100
    wrong: Counter[str] = Counter()
    for language, pairs in answers.items():
        wrong[language] = sum(SHIPPED.classify(answer) != source for source, answer in pairs)
    total = sum(map(len, answers.values()))
    assert total >= 1_000
    assert wrong.total() <= (1 - LEAST_RIGHT) * total, wrong
    for language, pairs in answers.items():
        assert wrong[language] <= (1 - LEAST_RIGHT) * len(pairs), language


def test_labels_and_answers_are_of_the_list() -> None:
    labels = {source for pairs in labelled_answers().values() for source, _ in pairs}
    assert labels <= set(SELF_REPORTED)
    assert len(set(SELF_REPORTED)) == len(SELF_REPORTED)
    assert not set(OTHER_SOURCES) & set(SOURCES)


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
    assert SHIPPED.classify(answer) == source


def test_phrases_of_a_space_come_first() -> None:
    rules = AnswerRules({normalize_phrase(phrase): source for phrase, source in (
        ("OMR Podcast", "event"), ("podcast", "radio"), ("Über uns", "press"), ("展示会", "store"),
    )})  # fmt: skip
    assert rules.classify("heard it on the omr podcast!") == "event", "the longest of them"
    assert rules.classify("the podcast of somebody") == "radio"
    assert rules.classify("podcasts") == "podcast", "whole words"
    assert rules.classify("UBER   UNS") == "press"
    assert rules.classify("東京の展示会で") == "store"
    assert rules.classify("facebook") == "facebook"


@given(st.text(max_size=512))
def test_any_text_has_a_source(answer: str) -> None:
    assert SHIPPED.classify(answer) in SELF_REPORTED
    assert AnswerRules({"a": "tv"}).classify(answer) in SELF_REPORTED


@given(st.text(max_size=60))
@example("\N{MATHEMATICAL BOLD CAPITAL A}")
def test_a_phrase_is_found_in_itself(text: str) -> None:
    phrase = normalize_phrase(text)
    assert normalize_phrase(phrase) == phrase
    if phrase:
        assert AnswerRules({phrase: "tv"}).classify(text) == "tv" or len(text.split()) > 5
