"""Public classification rules compared with ours: every difference is in a table, with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from headwater.sources.catalogue import PAID_OTHER, find_channel
from headwater.sources.classify import classify
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import Source

TABLE = Path(__file__).parent.parent / "data" / "source_judges.txt"
DIFFERENCES = {
    (judge, case): our_verdict
    for judge, case, our_verdict, _ in (
        line.split(" ", 3)
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    )
}
MEDIA = (
    "cpc", "cpm", "cpv", "cpa", "cpl", "ppc", "cpcv", "ecpc", "xcpx", "retargeting", "paid",
    "paid_social", "paidsearch", "paid-video", "paid shopping", "display", "banner", "expandable",
    "interstitial", "email", "e-mail", "e_mail", "e mail", "sms", "organic", "social", "referral",
    "affiliate", "video", "audio", "push", "story", "link", "bio", "qr", "podcast", "leads",
    "threads", "downloads", "unpaid", "shopping", "web", "app", "partner", "blog", "pdf",
    *(case for _, case in DIFFERENCES),
)  # fmt: skip
SOURCES = (
    "google", "facebook", "fb", "ig", "instagram", "bing", "tiktok", "linkedin", "x", "twitter",
    "pinterest", "reddit", "snapchat", "youtube", "quora", "yahoo", "duckduckgo", "telegram",
    "twitch", "brave", "chatgpt", "perplexity", "threads", "messenger", "capterra", "taboola",
    "criteo", "partner", "klaviyo", "newsletter", "substack", "summer_sale",
)  # fmt: skip


def ga4(medium: str) -> str:
    """Google Analytics 4: paid by a pattern or a kind of display ad; e-mail and text messages by name."""
    if re.fullmatch(r".*cp.*|ppc|retargeting|paid.*", medium):
        return "paid"
    if medium in ("display", "banner", "expandable", "interstitial"):
        return "paid"
    if medium in ("email", "e-mail", "e_mail", "e mail"):
        return "email"
    return "sms" if medium == "sms" else "unpaid"


def posthog(medium: str) -> str | None:
    """PostHog: paid by a short list and a prefix. It has no rule for other media here."""
    paid_media = ("cpc", "cpm", "cpv", "cpa", "ppc", "retargeting")
    return "paid" if medium in paid_media or medium.startswith("paid") else None


def classified_channel(medium: str, source: str = "partner") -> str:
    outcome = classify(Landing(f"https://shop.example/?utm_source={source}&utm_medium={medium}"))
    assert isinstance(outcome, Source)
    channel = find_channel(outcome.name)
    return channel if channel in ("paid", "email", "sms") else "unpaid"


def test_it_works() -> None:
    assert (ga4("cpc"), posthog("paid_social"), classified_channel("cpc")) == ("paid", "paid", "paid")


@pytest.mark.parametrize("find_medium", [ga4, posthog], ids=["ga4", "posthog"])
def test_media_are_judged_alike_but_for_the_table(find_medium: Callable[[str], str | None]) -> None:
    actual_differences = {
        (find_medium.__name__, medium): classified_channel(medium) for medium in set(MEDIA)
        if (other := find_medium(medium)) is not None and other != classified_channel(medium)
    }  # fmt: skip
    differences = {key: value for key, value in DIFFERENCES.items() if key[0] == find_medium.__name__}
    if find_medium is posthog:  # PostHog has no rules for them.
        assert all(
            posthog(case) is None and classified_channel(case) == expected
            for (_, case), expected in differences.items()
        )
        differences = {}
    assert actual_differences == differences


@pytest.mark.parametrize("source", SOURCES)
def test_what_ga4_calls_paid_is_paid_whatever_the_source(source: str) -> None:
    for medium, change in product(MEDIA, (str, str.upper, str.title, " {} ".format)):
        if ga4(medium) == "paid" and ("ga4", medium) not in DIFFERENCES:
            assert classified_channel(change(medium), source) == "paid", (medium, source)


def test_sources_without_ads_of_their_own_are_paid_all_the_same() -> None:
    for source in ("brave", "perplexity", "capterra", "klaviyo", "substack", "taboola"):
        outcome = classify(Landing(f"https://shop.example/?utm_source={source}&utm_medium=cpc"))
        assert isinstance(outcome, Source)
        assert outcome.name == PAID_OTHER
