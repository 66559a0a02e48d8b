"""Mistakes that other trackers made, one test each."""

from __future__ import annotations

import pytest

from headwater.sources.classify import classify, explain
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.evidence import Landing
from headwater.sources.exclusions import Exclusions
from headwater.sources.outcomes import NothingReason, NoTouch, Outcome, Source

PAGE = "https://shop.example/"


def classify_visit(query: str = "", referrer: str | None = None, **hosts: list[str]) -> Outcome:
    return classify(Landing(f"{PAGE}?{query}", referrer), Exclusions(**hosts))


def source(query: str = "", referrer: str | None = None, **hosts: list[str]) -> str:
    outcome = classify_visit(query, referrer, **hosts)
    assert isinstance(outcome, Source)
    return outcome.name


def reason(query: str = "", referrer: str | None = None, **hosts: list[str]) -> NothingReason:
    outcome = classify_visit(query, referrer, **hosts)
    assert isinstance(outcome, NoTouch)
    return outcome.reason


def test_fbclid_alone_is_organic() -> None:
    assert source("fbclid=IwAR0") == "facebook_organic"


def test_fbclid_with_a_paid_medium_is_an_ad() -> None:
    assert source("fbclid=IwAR0&utm_source=ig&utm_medium=paid") == "instagram_ads"
    assert source("fbclid=IwAR0&utm_source=summer&utm_medium=paid") == "facebook_ads"


def test_fbclid_passed_on_by_another_site_names_nobody() -> None:
    assert source("fbclid=IwAR0", "https://blog.example/") == "referral"


def test_a_stale_click_id_on_a_shared_link_is_not_paid() -> None:
    assert source("gclid=1", "https://www.linkedin.com/") == "linkedin_organic"
    assert source("gclid=1", "https://mail.google.com/") == "email"
    assert source("gclid=1", "https://chatgpt.com/") == "ai_chat_gpt"


def classify_stale(query: str, *stale: str) -> str:
    explanation = explain(Landing(f"{PAGE}?{query}", stale=frozenset(stale)))
    assert not explanation.click_ids.keys() & set(stale)
    assert isinstance(explanation.outcome, Source)
    return explanation.outcome.name


def test_a_stale_click_id_takes_the_signs_of_its_network_with_it() -> None:
    link = "gclid=1&gad_source=1&gad_campaignid=7"
    assert classify_stale(link) == "google_ads"
    assert classify_stale(link, "gclid") == "direct"
    assert explain(Landing(f"{PAGE}?{link}", stale=frozenset({"gclid"}))).campaign is None
    assert classify_stale(f"{link}&gbraid=2", "gclid") == "google_ads"
    assert classify_stale(f"{link}&msclkid=2", "gclid") == "bing_ads"
    assert classify_stale(f"{link}&utm_source=newsletter", "gclid") == "email"


def test_a_click_id_counts_for_its_own_network_only() -> None:
    assert source("gclid=1&utm_source=facebook") == "facebook_organic"
    assert source("msclkid=1&utm_source=google&utm_medium=cpc") == "google_ads"


def test_the_click_id_of_the_referring_network_is_the_live_one() -> None:
    assert source("gclid=1&msclkid=1", "https://www.bing.com/") == "bing_ads"
    assert source("gclid=1&msclkid=1", "https://www.google.com/") == "google_ads"


def test_a_click_id_on_a_partners_page_counts() -> None:
    assert source("gclid=1", "https://news.example/") == "google_ads"
    assert source("msclkid=1", "https://duckduckgo.com/") == "bing_ads"


def test_youtube_ads_carry_googles_click_id() -> None:
    assert source("gclid=1&utm_source=youtube") == "youtube_ads"
    assert source("gclid=1&utm_campaign=video_reach") == "youtube_ads"


def test_assistants_come_before_search_and_social() -> None:
    assert source("", "https://gemini.google.com/") == "ai_gemini"
    assert source("", "https://www.perplexity.ai/search") == "ai_perplexity"
    assert source("", "https://www.bing.com/chat") == "ai_copilot"
    assert source("", "https://x.com/i/grok") == "ai_grok"
    assert source("", "https://x.com/i/grokking") == "x_organic"


def test_assistants_that_send_no_referrer_are_known_by_utm_source() -> None:
    assert source("utm_source=chatgpt.com") == "ai_chat_gpt"


def test_webmail_comes_before_search() -> None:
    assert source("", "https://mail.google.com/") == "email"
    assert source("", "https://mail.yahoo.com/") == "email"


def test_other_hosts_of_google_are_no_search() -> None:
    assert source("", "https://docs.google.com/") == "referral"


def test_substack_by_email_is_substack() -> None:
    assert source("utm_source=substack&utm_medium=email") == "substack"


def test_mail_tools_send_text_messages_as_well() -> None:
    assert source("utm_source=klaviyo&utm_medium=sms") == "sms"


def test_apps_are_known_by_their_package() -> None:
    assert source("", "android-app://com.linkedin.android/") == "linkedin_organic"
    assert source("", "android-app://com.google.android.gm/") == "email"


@pytest.mark.parametrize("query", ["", "page=2", "utm_source=paypal.com&utm_medium=referral",
                                   "utm_campaign=(none)", "gclid={gclid}"])  # fmt: skip
def test_a_return_from_payment_makes_no_touch(query: str) -> None:
    assert reason(query, "https://www.paypal.com/") is NothingReason.PAYMENT_PROVIDER
    assert reason(query, "https://accounts.google.com/") is NothingReason.LOGIN_HOST


@pytest.mark.parametrize("query", ["gclid=1", "utm_source=facebook&utm_medium=cpc",
                                   "trk_source=facebook_ads"])  # fmt: skip
@pytest.mark.parametrize("host", ["www.paypal.com", "accounts.google.com", "shop.example"])
def test_tags_count_wherever_the_link_was(query: str, host: str) -> None:
    assert source(query, f"https://{host}/").endswith("_ads")


def test_shop_app_is_a_source_and_its_checkout_is_not() -> None:
    assert source("", "https://shop.app/") == "shop_app"
    assert reason("", "https://shop.app/checkout/1") is NothingReason.PAYMENT_PROVIDER


def test_the_site_itself_is_no_source() -> None:
    assert reason("", "https://www.shop.example/cart?utm_source=x") is NothingReason.OWN_HOST


def test_other_domains_of_the_space_are_no_source() -> None:
    blog = "https://blog.brand.example/"
    assert source("", blog) == "referral"
    assert reason("", blog, own_hosts=["brand.example"]) is NothingReason.OWN_HOST
    assert reason("", blog, own_hosts=["https://www.Brand.example/"]) is NothingReason.OWN_HOST


def test_a_campaign_link_on_an_own_domain_still_counts() -> None:
    assert source("gclid=1", "https://go.brand.example/", own_hosts=["brand.example"]) == "google_ads"


def test_a_space_adds_and_takes_away_excluded_hosts() -> None:
    assert reason("", "https://a.bank.example/", extra_hosts=["bank.example"]) == "excluded_host"
    assert source("", "https://www.klarna.com/", heeded=["klarna.com"]) == "referral"
    assert reason("", "https://www.paypal.com/", heeded=["klarna.com"]) == "payment_provider"
    assert reason("", "https://pay.amazon.de/", heeded=["pay.amazon.com"]) == "payment_provider"
    assert source("", "https://pay.amazon.de/", heeded=["amazon.de"]) == "referral"


def test_an_own_domain_that_ships_as_excluded_is_own() -> None:
    assert reason("", "https://dashboard.stripe.com/", own_hosts=["stripe.com"]) == "own_host"


@pytest.mark.parametrize("host", ["", "no host", "mailto:a@b.example", "ftp://x.example"])
def test_hosts_that_are_none_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match="^" + host):
        Exclusions(own_hosts=[host])


def test_a_placeholder_that_nobody_filled_in_says_nothing() -> None:
    assert source("gclid={gclid}&utm_source={{site_source_name}}") == "direct"
    assert source("ttclid=__CLICKID__") == "direct"
    assert source("utm_campaign=%%ADID%%") == "direct"  # decoding would change it


def test_a_letter_is_no_e_mail() -> None:
    assert source("utm_source=agency&utm_medium=direct+mail+spring") == "referral"
    assert source("utm_source=agency&utm_medium=e+mail+blast") == "email"


def test_ampersands_escaped_for_html_part_parameters() -> None:
    assert source("utm_campaign=x&amp;utm_source=fb&amp;utm_medium=cpc") == "facebook_ads"


def test_a_network_that_is_not_listed_is_no_direct_visit() -> None:
    assert source("yclid=1") == "referral"
    assert source("utm_source=partner") == "referral"


@pytest.mark.parametrize("tag", ["gclid=1", "utm_source=google&utm_medium=cpc"])
@pytest.mark.parametrize("query", ["#", "#?", "?#", "?page=2#", "#/tents?", "#tents&"])
def test_tags_behind_the_hash_count_where_none_are_before_it(tag: str, query: str) -> None:
    outcome = classify(Landing(f"{PAGE}{query}{tag}"))
    assert isinstance(outcome, Source)
    assert outcome.name == "google_ads"
    tagged_outcome = classify(Landing(f"{PAGE}?utm_source=klaviyo{query}{tag}"))
    assert isinstance(tagged_outcome, Source)
    assert tagged_outcome.name == "email"


@pytest.mark.parametrize("host", [
    "ideal.ing.nl", "ideal.rabobank.nl", "betalen.rabobank.nl", "ideal.abnamro.nl", "betalen.asnbank.nl",
    "ideal.knab.nl", "epay.kbc.be", "epay.belfius.be", "giropay.sparkasse.de", "www.trustly.net",
    "secure.paytabs.sa", "secure.shaparak.ir", "securegw.paytm.in", "secure.helcim.app",
    "hpp.globaliris.com", "eu.gateway.mastercard.com", "test-bank.mtf.gateway.mastercard.com",
    "app-wallee.com", "connect.bolt.com", "portal.shop.app", "online-pay.kakao.com",
    "3dsecure2.bank.example", "3ds-challenge.bank.example", "hpp.bank.example", "safekey2.bank.example",
    "epdq.bank.example", "verifiedbyvisa.bank.example", "acs2.bank.example",
])  # fmt: skip
def test_pages_of_banks_and_wallets_make_no_touch(host: str) -> None:
    assert reason("", f"https://{host}/") == "payment_provider"


@pytest.mark.parametrize("app", [
    "com.paypal.android.p2pmobile", "com.myklarna.mobile", "com.venmo", "com.squareup.cash",
    "com.google.android.apps.walletnfcrel", "net.one97.paytm", "com.revolut.revolut",
    "se.bankgirot.swish", "ch.twint.payment", "com.bunq.android", "com.eg.android.AlipayGphone",
])  # fmt: skip
def test_apps_of_banks_and_wallets_make_no_touch(app: str) -> None:
    assert reason("", f"android-app://{app}/") == "payment_provider"


@pytest.mark.parametrize("value", [
    "(not+set)", "(not%20set)", "(not_set)", "(Not Set)", "%28not+set%29", "(none)", "(null)",
    "(organic)", "(referral)", "(cross-network)", "(other)", "(data+deleted)",
    "(data%20not%20available)", "(direct)", "(not%20provided)", "n/a", "N%2FA", "undefined", "NaN",
    "null", "[object+Object]", "[object%20Object]", "{gclid}", "{{click.id}}", "__CLICKID__",
    "%25%25CLICK_ID%25%25", "${click}", "*|ID|*",
])  # fmt: skip
def test_placeholders_are_neither_clicks_nor_campaigns(value: str) -> None:
    for name in CLICK_IDS:
        assert source(f"{name}={value}") == "direct", name
        assert explain(Landing(f"{PAGE}?{name}={value}")).click_ids == {}
    query = f"utm_source=google&utm_medium=cpc&utm_campaign={value}"
    ad = explain(Landing(f"{PAGE}?{query}")).ad
    assert (source(query), ad.campaign_name, ad.campaign_id) == ("google_ads", None, None)
