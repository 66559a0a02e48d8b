"""The mapping to OWASP ASVS is complete, its evidence exists, and the page matches it."""

from __future__ import annotations

from collections import Counter

from scripts.write_asvs import BEGINNING, PAGE, VERDICTS, read_requirements, write_result

from tests.support.sizes import ROOT

SECTIONS = {
    1: "1:2 2:9 3:11 4:3 5:2", 2: "1:3 2:3 3:4 4:1", 3: "2:2 3:4 4:6 5:5 7:2", 4: "1:3 2:1 3:2 4:4",
    5: "1:1 2:3 3:2 4:3", 6: "1:3 2:12 3:4 4:4 5:5 6:3 8:4", 7: "1:3 2:4 3:2 4:5 5:2 6:2",
    8: "1:2 2:3 3:1 4:1",
    9: "1:3 2:4", 10: "1:2 2:2 3:4 4:11 5:5 6:2 7:3", 11: "1:2 2:3 3:3 4:4 5:1 6:1", 12: "1:3 2:2 3:4",
    13: "1:1 2:5 3:2 4:5", 14: "1:2 2:4 3:3", 15: "1:3 2:3 3:7", 16: "1:1 2:5 3:4 4:3 5:3", 17: "1:1 2:4 3:2",
}  # fmt: skip
"""The number of level 1 and 2 requirements in each section of version 5.0.0. They are the first ones of each
section.
"""
LEVELS = {1: 70, 2: 183}
REQUIREMENTS = read_requirements()


def test_it_works() -> None:
    """The page matches the table."""
    head, beginning, result = PAGE.read_text().partition(BEGINNING)
    assert beginning + result == write_result(REQUIREMENTS), "run python -m scripts.write_asvs"
    assert head.startswith("# ")


def test_every_requirement_once() -> None:
    expected = [
        f"V{chapter}.{section}.{number}"
        for chapter, sections in SECTIONS.items()
        for section, count in (text.split(":") for text in sections.split())
        for number in range(1, int(count) + 1)
    ]
    assert [requirement.id for requirement in REQUIREMENTS] == expected
    assert Counter(requirement.level for requirement in REQUIREMENTS) == LEVELS


def test_verdicts_have_reasons() -> None:
    assert [
        requirement.id
        for requirement in REQUIREMENTS
        if requirement.verdict not in VERDICTS or not requirement.note.endswith(".")
    ] == []
    bare = [
        requirement.id
        for requirement in REQUIREMENTS
        if not requirement.evidence and requirement.verdict in {"met", "partly"}
    ]
    assert bare == []


def test_the_evidence_exists() -> None:
    evidence = {path for requirement in REQUIREMENTS for path in requirement.evidence}
    assert {path for path in evidence if not (ROOT / path.partition("#")[0]).exists()} == set()
