"""Spellings of ad networks, of e-mail, and of media that only ads use."""

from __future__ import annotations

from itertools import product

import pytest

from headwater.events.accepted import AcceptedEvent
from headwater.events.touchpoints.classification import read_event_touch
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import classify, explain
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import Source
from headwater.sources.parameters import stated

PAGE = "https://shop.example/"
NETWORKS = {
    "facebook": "facebook_ads", "fb": "facebook_ads", "meta": "facebook_ads",
    "instagram": "instagram_ads", "ig": "instagram_ads", "google": "google_ads",
    "youtube": "youtube_ads", "yt": "youtube_ads", "linkedin": "linkedin_ads",
    "tiktok": "tiktok_ads", "bing": "bing_ads", "microsoft": "bing_ads", "yahoo": "yahoo_ads",
    "pinterest": "pinterest_ads", "reddit": "reddit_ads", "snapchat": "snapchat_ads",
    "snap": "snapchat_ads", "telegram": "telegram_ads", "twitch": "twitch_ads", "x": "x_ads",
    "twitter": "x_ads", "quora": "quora_ads", "duckduckgo": "duckduckgo_ads", "whop": "whop_ads",
    "chatgpt": "chatgpt_ads", "openai": "chatgpt_ads",
}  # fmt: skip
ADS = ("{}-ads", "{}_ads", "{}+ads", "{}%20ads", "{}ads", "{}_ad", "{}-cpc", "ads_{}", "{}_search_ads")
EMAIL = ("email", "e-mail", "e_mail", "e+mail", "E-Mail", "EMAIL", "emails", "mailing", "mailings",
         "newsletter", "news-letter", "news_letter", "Newsletters", "email_marketing", "e%2Dmail",
         "email%2520marketing", "mail", "eblast", "edm", "e-newsletter")  # fmt: skip
PLACES = ("Instagram_Stories", "Instagram_Reels", "Instagram_Feed", "Instagram_Explore",
          "Facebook_Mobile_Feed", "Facebook_Desktop_Feed", "Facebook_Right_Column",
          "Facebook_Marketplace", "Facebook_Stories", "Facebook_Reels", "Facebook_Instream_Video",
          "Messenger_Inbox", "Messenger_Stories", "Audience_Network_Native", "Threads_Feed",
          "instagram-reels", "INSTAGRAM+STORIES", "facebook%20mobile%20feed")  # fmt: skip


def name(query: str, referrer: str | None = None) -> str:
    outcome = classify(Landing(f"{PAGE}?{query}", referrer))
    assert isinstance(outcome, Source)
    return outcome.name


def test_it_works() -> None:
    assert name("utm_source=ig&utm_medium=Instagram_Stories") == "instagram_ads"
    assert name("utm_source=yt-ads") == "youtube_ads"


@pytest.mark.parametrize("network", NETWORKS)
def test_the_ads_of_a_network(network: str) -> None:
    for spelling, change in product(ADS, (str, str.upper, str.title)):
        assert name(f"utm_source={change(spelling.format(network))}") == NETWORKS[network], spelling
    assert name(f"utm_source={network}&utm_medium={network}-ads") == NETWORKS[network]


@pytest.mark.parametrize("medium", EMAIL)
def test_mail(medium: str) -> None:
    assert name(f"utm_source={medium}") == "email"
    assert name(f"utm_source=somebody&utm_medium={medium}") == "email"
    assert name(f"utm_medium={medium}&utm_campaign=x") == "email"


@pytest.mark.parametrize("placement", PLACES)
def test_places_that_only_ads_have(placement: str) -> None:
    assert name(f"utm_source=facebook&utm_medium={placement}") == "facebook_ads"
    assert name(f"utm_source=ig&utm_medium={placement}") == "instagram_ads"
    assert name(f"utm_source={placement}").endswith("_ads")
    assert name(f"utm_source=summer&utm_medium={placement}") == "paid_other"


@pytest.mark.parametrize("medium", ["thread", "scad", "lead", "downloads", "leads", "iPads", "heads",
                                  "read", "nomads", "instagram_story", "fb-paid"])  # fmt: skip
def test_words_that_merely_end_so_are_no_ads(medium: str) -> None:
    assert not name(f"utm_source={medium}").endswith(("_ads", "paid_other"))


@pytest.mark.parametrize(("link", "source"), [
    ("utm_source=chatgpt.com", "ai_chat_gpt"),
    ("utm_source=chatgpt&utm_medium=referral", "ai_chat_gpt"),
    ("utm_source=chatgpt&utm_medium=cpc", "chatgpt_ads"), ("oppref=abc", "chatgpt_ads"),
    ("utm_source=chatgpt.com&oppref=abc", "chatgpt_ads"),
    ("utm_source=openai&utm_medium=paid", "chatgpt_ads"),
    ("oppref={oppref}&utm_source=chatgpt.com", "ai_chat_gpt"),
])  # fmt: skip
def test_paid_clicks_in_chatgpt(link: str, source: str) -> None:
    assert name(link) == source
    assert name(link, "https://chatgpt.com/") == source


@pytest.mark.parametrize("host", [
    "touch.mail.ru", "e.mail.ru", "m.mail.ru", "mail.google.com", "outlook.live.com",
    "webmail.host.example", "exmail.qq.com", "mail.aol.com", "deref-gmx.net",
])  # fmt: skip
def test_webmail(host: str) -> None:
    assert name("", f"https://{host}/") == "email"


@pytest.mark.parametrize(("referrer", "source"), [
    ("android-app://com.google.android.gm/", "email"),
    ("https://l.facebook.com/", "facebook_organic"),
    ("https://lm.facebook.com/", "facebook_organic"),
    ("https://l.instagram.com/", "instagram_organic"),
    ("https://www.pinterest.it/", "pinterest_organic"),
    ("https://www.pinterest.com.mx/", "pinterest_organic"),
    ("https://uk.search.yahoo.com/", "yahoo_organic"),
    ("https://www.google.com.mx/", "google_organic"),
    ("https://cn.bing.com/", "bing_organic"), ("https://out.reddit.com/", "reddit_organic"),
    ("android-app://com.linkedin.android/", "linkedin_organic"),
    ("https://trc.taboola.com/", "paid_other"),
])  # fmt: skip
def test_hosts_and_apps_of_networks(referrer: str, source: str) -> None:
    assert name("", referrer) == source


@pytest.mark.parametrize("tags", [
    "utm_source=google&utm_medium=cpc&utm_campaign=spring?gclid=1",
    "utm_source=google?utm_medium=cpc&utm_campaign=spring",
    "utm_source%3Dgoogle%26utm_medium%3Dcpc%26utm_campaign%3Dspring",
    "amp;utm_source=google&amp;utm_medium=cpc&amp;utm_campaign=spring",
    "UTM_SOURCE=+Google+&Utm_Medium=CPC&utm_campaign=spring",
])  # fmt: skip
def test_links_put_together_by_hand(tags: str) -> None:
    assert name(tags) == "google_ads"


def test_a_second_question_mark_makes_no_campaign_of_every_click() -> None:
    explanation = explain(Landing(f"{PAGE}?utm_source=fb&utm_campaign=spring?fbclid=IwAR1"))
    assert (explanation.ad.campaign_name, explanation.click_ids) == ("spring", {"fbclid": "IwAR1"})


@pytest.mark.parametrize("mark", sorted(CLICK_IDS))
def test_a_campaign_that_a_sender_took_from_such_a_link(mark: str) -> None:
    """A shop's or app's own code splits the link only at ampersands."""
    for campaign in (f"spring?{mark}=IwAR1_x", f"spring?{mark.upper()}=1?x=2"):
        event = AcceptedEvent(
            event_name="purchase",
            event_time=0,
            trk_source="fb",
            trk_type="cpc?utm_id=1",
            trk_campaign=campaign,
        )
        touch = read_event_touch(event, 0)
        assert touch is not None
        assert (touch.source_id, touch.ad.campaign_name) == (SOURCE_IDS["facebook_ads"], "spring")
    assert stated(f"What is {mark}?") == f"What is {mark}?"
