"""Source rules by example, and data files that match the catalogue."""

from __future__ import annotations

import pytest

from headwater.sources.catalogue import SOURCES
from headwater.sources.evidence import SourceParameters
from headwater.sources.resolve import resolve
from headwater.sources.vocabulary import ALIASES, choose_source, is_paid

SHOP = "https://shop.example/?"


@pytest.mark.parametrize(
    ("source", "network", "kind", "query", "expected"),
    [
        (" Facebook_Ads ", None, None, "gclid=1", ("facebook_ads", "trk_source")),
        ("email", None, None, None, ("email", "trk_source")),
        ("fb", None, "paid", None, ("facebook_ads", "trk_source_alias")),
        ("facebook", None, None, None, ("facebook_organic", "trk_source_alias")),
        ("google", "cpc", None, None, ("google_ads", "trk_source_alias")),
        ("Twitter", None, "Paid_Social", None, ("x_ads", "trk_source_alias")),
        ("adwords", None, None, None, ("google_ads", "trk_source_alias")),
        ("threads", None, "cpc", None, ("facebook_ads", "trk_source_alias")),
        ("whop", None, None, None, ("whop_ads", "trk_source_alias")),
        ("chatgpt.com", None, "cpc", None, ("chatgpt_ads", "trk_source_alias")),
        ("newsletter", None, None, None, ("email", "trk_source_alias")),
        (None, "tiktok", "ads", None, ("tiktok_ads", "trk_network_alias")),
        ("partner", None, None, None, ("referral", "fallback")),
        ("partner", None, "cpc", None, ("paid_other", "paid_type")),
        ("partner", "display", None, None, ("paid_other", "paid_type")),
        ("partner", None, None, "utm_medium=cpc", ("paid_other", "paid_medium")),
        ("partner", None, None, "gclid=1", ("google_ads", "gclid")),
        ("partner", None, None, "GCLID=1&utm_source=facebook",
         ("facebook_organic", "utm_source")),
        (None, None, None, "gclid=1&utm_source=youtube", ("youtube_ads", "gclid")),
        (None, None, None, "msclkid=1", ("bing_ads", "msclkid")),
        (None, None, None, "ScCid=1", ("snapchat_ads", "sccid")),
        (None, None, None, "utm_source=ig&utm_medium=paid&fbclid=1",
         ("instagram_ads", "utm_source_paid")),
        (None, None, None, "fbclid=1", ("facebook_organic", "fbclid")),
        (None, None, None, "utm_medium=email", ("email", "utm_medium")),
        (None, None, None, "utm_source=chatgpt.com", ("ai_chat_gpt", "utm_source")),
        (None, None, None, "page=2", ("referral", "fallback")),
    ],
)  # fmt: skip
def test_rules(
    source: str | None, network: str | None, kind: str | None, query: str | None, expected: tuple[str, str]
) -> None:
    url = SHOP + query if query is not None else None
    assert resolve(SourceParameters(source, network, kind), url) == expected


@pytest.mark.parametrize("url", ["", "http://[", "?" + "a=1&" * 500, "\x00", "x?gclid"])
def test_unreadable_urls_name_nothing(url: str) -> None:
    assert resolve(SourceParameters("partner"), url) == ("referral", "fallback")


@pytest.mark.parametrize("paid", [True, False])
def test_every_alias_leads_to_a_listed_source(*, paid: bool) -> None:
    assert {choose_source(target, paid=paid) for target in ALIASES.values()} <= set(SOURCES)
    assert all(alias == alias.lower() for alias in ALIASES)


@pytest.mark.parametrize("text", ["cpc", "CPC", "paid", "paid_social", "PaidSearch", "fb ads"])
def test_paid_words(text: str) -> None:
    assert is_paid(text)


@pytest.mark.parametrize("text", [None, "", "organic", "referral", "adventure", "unpaid", "email"])
def test_other_words(text: str | None) -> None:
    assert not is_paid(text)
