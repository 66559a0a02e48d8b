"""The meaning of attribution parameters of events, by every route: names that aren't sources, and returns
from payment pages, log-ins and the shop's own pages.
"""

from __future__ import annotations

import psycopg
import pytest

from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from tests.support.pipeline import Stage, event, touch
from tests.support.spaces import insert_space

PAGE = "https://shop.example/"
PLACEHOLDERS = (
    "(none)", "(not set)", "(not provided)", "(direct)", "null", "NULL", "undefined", " None ",
    "{{campaign.name}}", "{{ad.id}}", "{campaignid}", "{lpurl}", "__CAMPAIGN_NAME__", "__CID__",
    "%%ADGROUP%%", "%%KEYWORD%%", "[[campaign]]", "${CAMPAIGN}", "spring {{adset.name}}",
    "@@CAMPAIGN@@", "##NAME##", "*|CAMPAIGN_UID|*", "<campaign>", "%CAMPAIGN%", "$campaign$",
)  # fmt: skip
NAMES = ("none such", "Null sale", "50% off", "[TOF] Broad", "{2026", "a_b__c", "$5 deal",
         "#1 tent", "direct mail", "undefined behaviour", "x < y", "Q&A")  # fmt: skip
RETURNS = (
    "www.paypal.com", "https://www.paypal.com/", "checkout.stripe.com", "hooks.stripe.com",
    "pay.klarna.com", "payments.klarna.com", "live.adyen.com", "www.mollie.com", "afterpay.com",
    "pay.amazon.com", "payments.amazon.de", "shop.app/checkout", "pay.shopify.com", "ideal.nl",
    "www.sofort.com", "secure.przelewy24.pl", "secure.payu.com", "acs2.bank.example",
    "3ds.bank.example", "pay.bank.example", "accounts.google.com", "login.live.com",
    "appleid.apple.com", "checkout.shop.example", "shop.example", "my-shop.myshopify.com",
)  # fmt: skip


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def sources(stage: Stage) -> list[str]:
    return [SOURCES[number - 1] for number in stage.values("touchpoints", "source_id")]


def test_it_works(stage: Stage) -> None:
    stage.run(event(email="a@b.org", trk_source="reddit ads", trk_campaign="spring", url=PAGE))
    assert sources(stage) == ["reddit_ads"]
    stage.run(event(email="c@b.org", trk_source="www.paypal.com", url=PAGE))
    assert sources(stage) == ["reddit_ads"]


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_no_value(stage: Stage, value: str) -> None:
    names = ("trk_source", "trk_network", "trk_type", "trk_campaign", "trk_ad_group", "trk_ad_id",
             "trk_keyword")  # fmt: skip
    stage.run(event(email="a@b.org", url=PAGE, **dict.fromkeys(names, value)))
    assert sources(stage) == []
    stage.run(
        event(email="a@b.org", url=PAGE, **dict.fromkeys(names, value) | {"trk_source": "sms"}),
        touch(email="c@b.org", source="sms", campaign_name=value, ad_id=value, adset_name=value),
    )
    columns = ("campaign_name", "campaign_id", "adset_id", "ad_id", "keyword")
    assert sources(stage) == ["sms", "sms"]
    assert stage.rows("touchpoints", *columns) == [(None,) * 5] * 2


@pytest.mark.parametrize("value", NAMES)
def test_names_that_look_like_one_are_kept(stage: Stage, value: str) -> None:
    stage.run(event(email="a@b.org", url=PAGE, trk_source="sms", trk_campaign=value))
    assert stage.values("touchpoints", "campaign_name") == [value]


@pytest.mark.parametrize("host", RETURNS)
def test_a_return_makes_no_touch(stage: Stage, host: str) -> None:
    stage.run(event(email="a@b.org", url=PAGE, trk_source=host),
              event(email="b@b.org", url=PAGE, trk_source=host, trk_type="referral"))  # fmt: skip
    assert sources(stage) == []
    # The link's own tags, or a campaign given by a person, still count.
    stage.run(event(email="c@b.org", url=f"{PAGE}?gclid=1", trk_source=host),
              event(email="d@b.org", url=PAGE, trk_source=host, trk_campaign="x"))  # fmt: skip
    assert sorted(sources(stage)) == ["google_ads", "referral"]


def test_a_touchpoint_that_comes_back_is_set_aside(stage: Stage) -> None:
    stage.run(touch(email="a@b.org", source=None, url=PAGE, referrer="https://www.paypal.com/"))
    assert sources(stage) == []
    assert stage.rows("rejected", "reason", "detail") == [("no_touch", "payment_provider: *.paypal.com")]


def test_a_spaces_own_hosts_and_exclusions_count(connection: psycopg.Connection) -> None:
    stage = Stage(connection, _space(connection))
    stage.run(event(email="a@b.org", trk_source="tickets.mine.example"),
              event(email="b@b.org", trk_source="partner.example"),
              event(email="c@b.org", trk_source="paypal.com"),
              event(email="d@b.org", trk_source="news.example"))  # fmt: skip
    assert [stage.values("touchpoints", "source_id")] == [[SOURCE_IDS["referral"]] * 2]


def _space(connection: psycopg.Connection) -> int:
    return insert_space(
        connection, own_domains=["mine.example"], excluded_referrers=["partner.example"],
        heeded_referrers=["paypal.com"],
    )  # fmt: skip
