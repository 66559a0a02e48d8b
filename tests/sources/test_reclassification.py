"""How a stored touch would be classified today, with a Space's own source names."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headwater.sources.classify import explain
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import read_ad
from headwater.sources.outcomes import Ad, Source
from headwater.sources.reclassification import ClassifiedTouch, TouchKind, classify_anew, name_in
from headwater.sources.resolve import resolve
from headwater.sources.rules import DECLARED, PAID_RULES
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames

PAGE = "https://shop.example/"
NAMES = SourceNames({"fb-paid": "facebook_ads", "tube": "youtube_ads", "google": "email"})
QUERIES = ("utm_source=fb-paid", "utm_source=FB-Paid+", "utm_source=tube", "utm_source=google",
           "utm_source=nobody", "utm_medium=cpc", "utm_campaign=spring", "utm_term=boots",
           "utm_content=7", "gclid=1", "fbclid=2", "hsa_net=adwords", "trk_source=sms", "mc_cid=3",
           "trk_network=nobody", "keyword=hats", "adsetid=9")  # fmt: skip
REFERRERS = (None, "news.example", "www.google.com", "paypal.com", "shop.example")

links = st.lists(st.sampled_from(QUERIES), max_size=6).map(lambda some: f"{PAGE}?{'&'.join(some)}")


def classify_view(url: str, referrer: str | None, names: SourceNames) -> ClassifiedTouch | None:
    """Return a page view as the pipeline classifies it, or None if it makes no touch."""
    explanation = explain(Landing(url, referrer and f"https://{referrer}/"), SHIPPED, names)
    outcome = explanation.outcome
    if not isinstance(outcome, Source):
        return None
    return ClassifiedTouch(
        kind=TouchKind.VIEW, url=url, referrer_host=referrer, source=outcome.name,
        rule=outcome.rule, ad=explanation.ad,
    )  # fmt: skip


def classify_event(url: str, declared: SourceParameters, names: SourceNames) -> ClassifiedTouch:
    """Return an event's touch as the pipeline classifies it."""
    source, rule = resolve(declared, url, names)
    return ClassifiedTouch(
        kind=TouchKind.EVENT, url=url, referrer_host=None, source=source, rule=rule,
        ad=read_ad(url, {}, source),
    )  # fmt: skip


def test_it_works() -> None:
    before = classify_view(f"{PAGE}?utm_source=fb-paid&utm_term=boots", None, SHIPPED_ALONE)
    assert before is not None
    assert (before.source, before.rule, before.ad) == ("referral", "campaign", Ad(keyword="boots"))
    after = classify_anew(before, SHIPPED, NAMES)
    assert (after.source, after.rule) == ("facebook_ads", "own_utm_source")
    assert after.ad == Ad(adset_name="boots"), "what utm_term means depends on the source"
    assert classify_anew(after, SHIPPED, SHIPPED_ALONE) == before


@given(url=links, referrer=st.sampled_from(REFERRERS), was_listed=st.booleans(), is_listed=st.booleans())
def test_a_page_view_is_what_a_new_one_would_be(
    url: str, referrer: str | None, *, was_listed: bool, is_listed: bool
) -> None:
    before, after = (NAMES if has_own_names else SHIPPED_ALONE for has_own_names in (was_listed, is_listed))
    stored_touch, new_touch = classify_view(url, referrer, before), classify_view(url, referrer, after)
    assert (stored_touch is None) == (new_touch is None), "names do not decide whether there is a touch"
    if stored_touch is not None:
        assert classify_anew(stored_touch, SHIPPED, after) == new_touch


@given(
    url=links,
    declared=st.sampled_from(
        [SourceParameters(type="cpc"), SourceParameters("nobody"), SourceParameters("email"),
         SourceParameters(network="adwords", type="paid")]
    ),
    was_listed=st.booleans(), is_listed=st.booleans(),
)  # fmt: skip
def test_an_event_is_what_a_new_one_would_be(
    url: str, declared: SourceParameters, *, was_listed: bool, is_listed: bool
) -> None:
    before, after = (NAMES if has_own_names else SHIPPED_ALONE for has_own_names in (was_listed, is_listed))
    stored_touch = classify_event(url, declared, before)
    # An event's own trk_type isn't kept. It is only known if the rule was one of these.
    assume(declared.type is None or stored_touch.rule in PAID_RULES | DECLARED or before is after)
    assert classify_anew(stored_touch, SHIPPED, after) == classify_event(url, declared, after)


def test_click_ids_that_were_stale_stay_so() -> None:
    stored_touch = ClassifiedTouch(
        kind=TouchKind.VIEW, url=f"{PAGE}?gclid=1&utm_source=fb-paid", referrer_host=None,
        source="referral", rule="campaign", ad=Ad(), stale=frozenset({"gclid"}),
    )  # fmt: skip
    assert classify_anew(stored_touch, SHIPPED, NAMES).rule == "own_utm_source"


def test_an_ad_that_did_not_come_from_the_url_stays() -> None:
    stored_touch = classify_event(f"{PAGE}?utm_source=fb-paid&utm_term=boots", SourceParameters("x"), NAMES)
    stored_touch = msgspec.structs.replace(stored_touch, ad=Ad(keyword="boots", campaign_id="7"))
    assert classify_anew(stored_touch, SHIPPED, SHIPPED_ALONE).ad == Ad(keyword="boots", campaign_id="7")


def test_a_touchpoint_sent_by_itself() -> None:
    stored_touch = ClassifiedTouch(
        kind=TouchKind.SENT, url=f"{PAGE}?utm_source=fb-paid", referrer_host="paypal.com",
        source="facebook_ads", rule="own_utm_source", ad=Ad(),
    )  # fmt: skip
    reset_touch = classify_anew(stored_touch, SHIPPED, SHIPPED_ALONE)
    assert (reset_touch.source, reset_touch.rule) == ("referral", "campaign")
    stored_touch = msgspec.structs.replace(stored_touch, url=PAGE)
    reset_touch = classify_anew(stored_touch, SHIPPED, SHIPPED_ALONE)
    assert (reset_touch.source, reset_touch.rule) == ("direct", "payment_provider")


def test_a_referrer_that_is_excluded_since() -> None:
    stored_touch = classify_view(f"{PAGE}?utm_source=fb-paid", "pay.example", NAMES)
    assert stored_touch is not None
    reset_touch = classify_anew(stored_touch, Exclusions(extra_hosts=["pay.example"]), SHIPPED_ALONE)
    assert (reset_touch.source, reset_touch.rule) == ("referral", "campaign")
    untagged_touch = classify_view(PAGE, "pay.example", NAMES)
    assert untagged_touch is not None
    reset_touch = classify_anew(untagged_touch, Exclusions(extra_hosts=["pay.example"]), NAMES)
    assert (reset_touch.source, reset_touch.rule) == ("direct", "direct")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"{PAGE}?utm_source=%20FB-Paid+&x=1", "fb-paid"), (f"{PAGE}?UTM%5FSource=a", "a"),
        (f"{PAGE}?utm_source=", None), (f"{PAGE}#utm_source=a", "a"),
        (f"{PAGE}?gclid=1#utm_source=a", None), (PAGE, None),
    ],
)  # fmt: skip
def test_the_name_in_a_url(url: str, name: str | None) -> None:
    assert name_in(url) == name
