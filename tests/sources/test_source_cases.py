"""Where visits come from: a table of cases that includes every listed source and every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.sources.catalogue import SOURCES
from headwater.sources.classify import classify
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import NothingReason, Source
from tests.support.source_rules import RULES

PAGE = "https://shop.example/landing"
TABLE = Path(__file__).parent.parent / "data" / "sources.txt"
CASES = [
    tuple(line.split(" "))
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and line[0] != "#"
]


def answer(query: str, referrer: str) -> tuple[str, str]:
    url = PAGE if query == "-" else f"{PAGE}?{query}"
    outcome = classify(Landing(url, None if referrer == "-" else referrer))
    if isinstance(outcome, Source):
        return outcome.name, outcome.rule
    return "-", outcome.reason


def test_it_works() -> None:
    assert answer("gclid=1", "https://www.google.com/") == ("google_ads", "gclid")


@pytest.mark.parametrize(
    ("source", "rule", "query", "referrer"), CASES, ids=[" ".join(case[2:]) for case in CASES]
)
def test_case(source: str, rule: str, query: str, referrer: str) -> None:
    assert answer(query, referrer) == (source, rule)


def test_at_least_400_different_cases() -> None:
    assert len(set(CASES)) == len(CASES) >= 400


def test_every_source_is_reached() -> None:
    assert {case[0] for case in CASES} == {*SOURCES, "-"}


def test_every_rule_and_reason_is_reached() -> None:
    # Only events fall back or have a type, and only a Space adds its own names and hosts.
    other_reasons = {"fallback", "excluded_host", "own_utm_source", "own_utm_source_paid", "paid_type"}
    other_reasons |= {"own_network", "own_network_paid", "declared_network", "declared_network_paid"}
    all_reasons = {case[1] for case in CASES} | other_reasons
    assert {*RULES, *NothingReason} - all_reasons == set()
