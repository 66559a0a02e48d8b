"""Filters with unknown values: an unknown source, channel or platform is refused with the nearest known one;
an unknown campaign, ad or country gets a hint.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api

SOURCES = {
    "Facebook ads": "facebook_ads", "facebook-ads": "facebook_ads", "FACEBOOK_ADS": "facebook_ads",
    "facebok_ads": "facebook_ads", "fb": "facebook_ads", "meta": "facebook_ads",
    "Google Ads": "google_ads", "adwords": "google_ads", "gogle_ads": "google_ads",
    "googel_ads": "google_ads", "google-organic": "google_organic", "bing ads": "bing_ads",
    "TikTok Ads": "tiktok_ads", "tiktokads": "tiktok_ads", "e-mail": "email", "E-Mail": "email",
    "Direct": "direct", "chat_gpt": "ai_chat_gpt", "linkedin ads": "linkedin_ads",
    "Taboola": "taboola_ads", "taboola-ads": "taboola_ads", "tabola_ads": "taboola_ads",
}  # fmt: skip
"""Unknown sources, each with a source that the refusal suggests."""
CHANNELS = {
    "Paid": "paid", "PAID": "paid", "payed": "paid", "pai": "paid", "paid ": "paid", "AI": "ai",
    "Organic": "organic", "organik": "organic", "orgnic": "organic", "E-Mail": "email",
    "e-mail": "email", "Email": "email", "emial": "email", "SMS": "sms", "Referral": "referral",
    "referal": "referral", "refferal": "referral", "Direct": "direct", "driect": "direct",
    "direkt": "direct",
}  # fmt: skip
PLATFORMS = {
    "tiktokk": "tiktok", "tik_tok_": "tiktok", "gogle": "google", "googel": "google",
    "Gooogle Ads": "google", "metta": "meta", "meat": "meta", "linkdin": "linkedin",
    "linked-inn": "linkedin", "micorsoft": "microsoft", "pintrest": "pinterest",
    "pinterrest": "pinterest", "redit": "reddit", "snapchatt": "snapchat", "telegramm": "telegram",
    "twich": "twitch", "quorra": "quora", "yaho": "yahoo", "youtub": "youtube",
    "instgram": "instagram", "tabola": "taboola", "facebok": "meta", "adwrods": "google",
    "twiter": "x",
}  # fmt: skip
NOWHERE = ("zebra", "123", "!?", "x" * 60)
"""Values similar to no known one."""

WAYS = (
    ("/reports", "sources[]"), ("/reports", "only[]"), ("/reports/changes", "only[]"),
    ("/reports/credits", "only[]"), ("/reports/credits", "sources[]"), ("/reports/spend", "only[]"),
    ("/reports/cohorts", "only[]"), ("/reports/paths", "first_source"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def network(stage: Stage) -> None:
    stage.network("taboola_ads", "tbl")


def refusal(api: Api, path: str, field: str, value: str, group: str = "source") -> str:
    """Send the query, and return the message about the refused field."""
    if field == "first_source":
        field, group = "only[]", "first_source"
    text = f"{group}:{value}" if field == "only[]" else value
    more = {"since": "2026-01-01 00:00:00"} if path == "/reports/changes" else {}
    response = api.get(path, params={**RANGE, field: text, **more})
    assert response.status_code == 422, response.text
    (sentences,) = response.json()["errors"].values()
    return " ".join(sentences)


def test_it_works(api: Api) -> None:
    message = refusal(api, "/reports", "only[]", "Facebook ads")
    assert "did you mean facebook_ads?" in message
    assert api.get("/reports", params={**RANGE, "only[]": "source:taboola_ads"}).status_code == 200


@pytest.mark.parametrize(("path", "field"), WAYS)
def test_an_unknown_source(api: Api, path: str, field: str) -> None:
    for value, near in SOURCES.items():
        assert near in refusal(api, path, field, value).partition("It must")[0], value
    for value in NOWHERE:
        assert "taboola_ads" in refusal(api, path, field, value), "all that there are"


@pytest.mark.parametrize("path", [path for path, field in WAYS if field == "only[]"])
def test_an_unknown_channel(api: Api, path: str) -> None:
    if path == "/reports/spend":
        pytest.skip("spend has no filter by channel")
    for value, near in CHANNELS.items():
        assert f"mean {near}" in refusal(api, path, "only[]", value, "channel"), value


def test_a_step_of_a_path(api: Api) -> None:
    for value, near in SOURCES.items():
        message = refusal(api, "/reports", "only[]", f"email > {value} > direct", "path")
        assert near in message.partition("It must")[0], value


def put(api: Api, platform: str) -> Any:
    row = {"date": "2026-05-13", "platform": platform, "amount": 1, "currency": "EUR"}
    return api.send("PUT", "/spend", json={"spend": [row]})


def test_an_unknown_platform(api: Api) -> None:
    for value, near in PLATFORMS.items():
        response = put(api, value)
        assert response.status_code == 422
        message = response.json()["errors"]["spend.0.platform"][0]
        assert near in message.partition("It must")[0], value
        assert "/sources/networks" in message
        for method in ("GET", "DELETE"):
            parameters = {"start_date": "2026-05-01", "end_date": "2026-05-31", "platform": value}
            response = api.send(method, "/spend", params=parameters)
            assert near in response.json()["errors"]["platform"][0].partition("It must")[0], value
    for value in ("Google Ads", "meta", "Facebook", "taboola", "Taboola Ads", "bing", "adwords"):
        assert put(api, value).status_code == 200


def test_what_is_stored_of_an_unknown_platform_can_still_be_deleted(api: Api, stage: Stage) -> None:
    assert put(api, "meta").status_code == 200
    stage.connection.execute("UPDATE spend SET platform = 'tiktokk' WHERE space_id = %s", (stage.space_id,))
    parameters = {"start_date": "2026-05-01", "end_date": "2026-05-31", "platform": "tiktokk"}
    assert api.send("GET", "/spend", params=parameters).json()["data"][0]["platform"] == "tiktokk"
    assert api.send("DELETE", "/spend", params=parameters).json()["rows"] == 1
    assert api.send("DELETE", "/spend", params=parameters).status_code == 422


def hints(api: Api, path: str = "/reports", **parameters: str) -> list[dict[str, Any]]:
    response = api.get(path, params={**RANGE, **{f"{k}": v for k, v in parameters.items()}})
    assert response.status_code == 200, response.text
    return response.json().get("hints", [])


@pytest.fixture
def campaigns(stage: Stage) -> None:
    contact = stage.contact(country="DE")
    stage.touchpoint(
        contact, "google_ads", campaign_name="Spring sale", adset_name="Boots", ad_name="Blue",
        keyword="red boots", url="https://shop.example/tents",
    )  # fmt: skip
    stage.touchpoint(contact, "taboola_ads", campaign_id="4711", occurred_at=NOON)
    stage.ad("campaign", "4711", "Summer sale")
    stage.event(contact, amount=5)


@pytest.mark.usefixtures("campaigns")
def test_unknown_values_have_hints(api: Api) -> None:
    assert hints(api, campaign="does not exist")[0]["value"] == "does not exist"
    assert hints(api, campaign="SPRING") == []
    (hint,) = hints(api, campaign="Sping sale")
    assert hint["nearest"][0] == "Spring sale"
    (hint,) = hints(api, **{"only[]": "campaign:summer sale"})
    assert (hint["field"], hint["nearest"][0]) == ("only", "campaign:4711")
    for existing_key in ("campaign:4711", "campaign:Spring sale", "country:DE", "keyword:red boots"):
        assert hints(api, **{"only[]": existing_key}) == []
    for unknown, near in {
        "country:Germany": None,
        "country:DEU": "country:DE",
        "ad:blu": "ad:Blue",
        "adset:boot": "adset:Boots",
        "keyword:red boot": "keyword:red boots",
        "landing_page:https://shop.example/tent": "landing_page:https://shop.example/tents",
    }.items():
        (hint,) = hints(api, **{"only[]": unknown})
        assert hint["value"] == unknown
        assert near in (*hint["nearest"], None)


@pytest.mark.usefixtures("campaigns")
@pytest.mark.parametrize(
    "path", ["/reports", "/reports/spend", "/reports/cohorts", "/reports/credits", "/reports/changes"]
)
def test_every_report_has_hints(api: Api, path: str) -> None:
    more = {"since": "2026-01-01 00:00:00"} if path == "/reports/changes" else {}
    for number in range(20):
        value = f"campaign:none {number}"
        (hint,) = hints(api, path, **{"only[]": value}, **more)
        assert hint["value"] == value


@pytest.mark.usefixtures("campaigns")
def test_paths_have_hints(api: Api) -> None:
    (hint,) = hints(api, "/reports/paths", **{"only[]": "country:XX"})
    assert hint == {"field": "only", "value": "country:XX", "nearest": []}
