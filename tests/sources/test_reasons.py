"""Rules in words, with the deciding value, and what was checked for a direct visit."""

from __future__ import annotations

import pytest

from headwater.sources.exclusions import Exclusions
from headwater.sources.outcomes import NothingReason
from headwater.sources.reasons import explain_rule, list_findings
from tests.support.source_rules import RULES

PAGE = "https://shop.example/"


def clues(rule: str, query: str = "", referrer: str | None = None) -> list[str]:
    return [clue.text for clue in explain_rule(rule, f"{PAGE}?{query}", referrer).clues]


def test_it_works() -> None:
    reason = explain_rule("gclid", f"{PAGE}?utm_source=x&gclid=aB%2F1&ref=z", "www.google.com")
    assert reason.words == "only ads of Google add gclid to a link"
    assert [clue.text for clue in reason.clues] == ["gclid=aB/1"]


@pytest.mark.parametrize(
    ("rule", "query", "referrer", "expected"),
    [
        ("utm_source_paid", "utm_medium=cpc&utm_source=fb", None,
         ["utm_source=fb", "utm_medium=cpc"]),
        ("utm_source", "UTM_Source=news+letter", None, ["utm_source=news letter"]),
        ("referrer", "", "www.google.com", ["referrer google.com"]),
        ("referrer", "", "https://l.facebook.com/x?y", ["referrer l.facebook.com"]),
        ("referrer_paid", "utm_medium=cpc", "t.co", ["utm_medium=cpc", "referrer t.co"]),
        ("other_site", "gclid=1", "blog.example", ["referrer blog.example"]),
        ("trk_source", "trk_source=email", None, ["trk_source=email"]),
        ("trk_source_alias", "", None, ["trk_source"]),
        ("campaign", "utm_campaign=x&utm_source=unknown", None, ["utm_source=unknown"]),
        ("fbclid", "fbclid=7", None, ["fbclid=7"]),
        ("direct", "gclid=1", None, []),
        (NothingReason.PAYMENT_PROVIDER, "", "paypal.com", ["referrer paypal.com"]),
        ("a former rule", "", None, []),
    ],
)  # fmt: skip
def test_the_clues_of_a_rule(rule: str, query: str, referrer: str | None, expected: list[str]) -> None:
    assert clues(rule, query, referrer) == expected


@pytest.mark.parametrize("rule", sorted({*RULES, *NothingReason}))
def test_every_rule_has_words(rule: str) -> None:
    assert explain_rule(rule, None, None).words != f"the rule {rule}"


def test_a_direct_visit_to_a_bare_address() -> None:
    address, referrer = list_findings(PAGE, None)
    assert "no parameter that names a source" in address
    assert referrer.startswith("There is no referrer")


def test_a_direct_visit_with_parameters_that_say_nothing() -> None:
    query = "&".join(f"p{number}=1" for number in range(10))
    _, unread, _ = list_findings(f"{PAGE}?{query}#x=1", None)
    assert unread == "It has p0, p1, p2, p3, p4, p5, p6, p7 and 3 more, which no rule reads."


def test_a_direct_visit_by_a_link_that_was_passed_on() -> None:
    address, _ = list_findings(f"{PAGE}?gclid=1", None)
    assert "gclid" in address
    assert "shared" in address


def test_hosts_that_are_no_source() -> None:
    exclusions = Exclusions(own_hosts=["mine.example"], extra_hosts=["partner.example"])

    def referrer(host: str) -> str:
        return list_findings(PAGE, host, exclusions)[-1]

    assert referrer("shop.example").endswith("one of the business's own pages.")
    assert referrer("www.mine.example").endswith("one of the business's own pages.")
    assert referrer("pay.partner.example").endswith("a host that the Space excludes.")
    assert referrer("www.paypal.com").endswith("a payment provider.")
    assert referrer("blog.example").endswith("not a listed source.")


def test_no_address_at_all() -> None:
    assert list_findings(None, "\0")[0].startswith("There is no page URL")
    assert explain_rule("gclid", None, None).clues == ()
