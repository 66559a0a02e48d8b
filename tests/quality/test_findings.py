"""Findings: their texts, guesses of sources, and the domains of hosts."""

from __future__ import annotations

import pytest

from headwater.alerts.quality.models import Finding, FindingKind, Severity
from headwater.alerts.quality.touchpoint_checks import suggest_source
from headwater.people.companies.domains import registrable_domain


def test_it_works() -> None:
    finding = Finding(FindingKind.EVENTS_REJECTED, 10_000, is_bounded=True)
    assert finding.count_text == "10,000+"
    assert finding.severity is Severity.BAD
    assert all([finding.title, finding.about, finding.remedy])


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("fb-paid", "facebook_ads"), ("fb feed", "facebook_organic"), ("newsletter_kw12", "email"),
        ("partner-42", None), ("x", None), ("", None), ("adwords2", None),
    ],
)  # fmt: skip
def test_a_source_is_proposed(value: str, source: str | None) -> None:
    assert suggest_source(value) == source


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.shop.co.uk", "shop.co.uk"), ("a.myshopify.com", "a.myshopify.com"),
        ("localhost", ""), ("192.0.2.1", ""), ("", ""), ("bücher.de", "xn--bcher-kva.de"),
    ],
)  # fmt: skip
def test_the_domain_of_a_host(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain
