"""What a URL contains besides its source (the ad and the click ids), and the command that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from headwater.cli import main
from headwater.sources.classify import explain
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.outcomes import Ad, Classification, NothingReason, NoTouch, Source

PAGE = "https://shop.example/?"


def explain_source(query: str, referrer: str | None = None) -> Classification:
    return explain(Landing(PAGE + query, referrer))


def ad(**parameters: str) -> Ad:
    return explain_source(urlencode(parameters)).ad


def test_it_works() -> None:
    assert explain_source("gclid=aB-1&gad_campaignid=12&utm_content=Blue+Shoe") == Classification(
        Source("google_ads", "gclid"),
        Ad(campaign_id="12", ad_name="Blue Shoe"),
        {"gclid": "aB-1"},
        "gad_campaignid=12&gclid=aB-1&utm_content=Blue+Shoe",
    )


def test_nothing_said_is_nothing_told() -> None:
    assert explain_source("") == Classification(Source("direct", "direct"), Ad(), {})
    assert explain(Landing()) == Classification(Source("direct", "direct"), Ad(), {})


def test_a_return_from_payment_still_tells_the_rest() -> None:
    explanation = explain_source("campaign_name=x", "https://www.paypal.com/")
    assert explanation.outcome == NoTouch(NothingReason.PAYMENT_PROVIDER, "*.paypal.com")
    assert (explanation.ad, explanation.click_ids) == (Ad(campaign_name="x"), {})


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"utm_campaign": "Summer"}, Ad(campaign_name="Summer")),
        ({"utm_campaign": "120210"}, Ad(campaign_id="120210")),
        ({"utm_campaign": "١٢"}, Ad(campaign_name="١٢")),
        ({"utm_id": "abc.1", "utm_campaign": "Summer"},
         Ad(campaign_id="abc.1", campaign_name="Summer")),
        ({"utm_content": "Video A"}, Ad(ad_name="Video A")),
        ({"utm_content": "77"}, Ad(ad_id="77")),
        ({"trk_campaign": "1", "trk_ad_group": "2", "trk_ad_id": "x3", "trk_keyword": "shoes"},
         Ad(campaign_id="1", adset_id="2", ad_id="x3", keyword="shoes")),
        ({"trk_campaign": "Summer", "trk_ad_group": "Broad"},
         Ad(campaign_name="Summer", adset_name="Broad")),
        ({"trk_campaign": "1", "utm_campaign": "2"}, Ad(campaign_id="1")),
        ({"trk_campaign": "1", "utm_campaign": "Summer"},
         Ad(campaign_id="1", campaign_name="Summer")),
        ({"hsa_acc": "9", "hsa_cam": "1", "hsa_grp": "2", "hsa_ad": "3", "hsa_kw": "shoes"},
         Ad(account_id="9", campaign_id="1", adset_id="2", ad_id="3", keyword="shoes")),
        ({"campaignid": "1", "adgroupid": "2", "creative": "3"},
         Ad(campaign_id="1", adset_id="2", ad_id="3")),
        ({"campaign_id": "a-1", "adset_id": "b-2", "ad_id": "c-3"},
         Ad(campaign_id="a-1", adset_id="b-2", ad_id="c-3")),
        ({"campaign_name": "1", "adset_name": "2", "ad_name": "3"},
         Ad(campaign_name="1", adset_name="2", ad_name="3")),
        ({"utm_campaign": "{{campaign.name}}", "campaignid": "{campaignid}"}, Ad()),
        ({"utm_campaign": "a\0b"}, Ad(campaign_name="ab")),
    ],
)  # fmt: skip
def test_the_place_of_the_ad(parameters: dict[str, str], expected: Ad) -> None:
    assert ad(**parameters) == expected


@pytest.mark.parametrize(
    ("source", "medium", "expected"),
    [
        ("google", "cpc", Ad(keyword="term")),
        ("bing", "cpc", Ad(keyword="term")),
        ("facebook", "paid", Ad(adset_name="term")),
        ("tiktok", "paid", Ad(adset_name="term")),
        ("facebook", "social", Ad(keyword="term")),
        ("newsletter", "email", Ad(keyword="term")),
    ],
)
def test_utm_term_is_the_ad_set_on_paid_social(source: str, medium: str, expected: Ad) -> None:
    assert ad(utm_source=source, utm_medium=medium, utm_term="term") == expected


def test_click_ids_are_kept_as_they_were_sent() -> None:
    query = "GCLID=aB-_1%2B&fbclid=Iw%41R+x&ScCid=z&_kx=person&gad_source=1&yclid=9&oppref=o"
    assert explain_source(query).click_ids == {
        "gclid": "aB-_1+", "fbclid": "IwAR+x", "sccid": "z", "yclid": "9", "oppref": "o",
    }  # fmt: skip


def test_what_is_said_outright_wins_over_the_url() -> None:
    arrival = Landing(PAGE + "trk_source=google_ads", None, SourceParameters("fb", None, "paid"))
    assert explain(arrival).outcome == Source("facebook_ads", "trk_source_alias", "fb")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["source", "explain", *arguments]) == 0
    return capsys.readouterr().out


def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    url = PAGE + "gclid=Ab&utm_campaign=12"
    assert json.loads(run(capsys, url, "https://www.google.com/", "--json")) == {
        "source": "google_ads", "rule": "gclid", "nothing": None, "detail": None,
        "why": "only ads of Google add gclid to a link", "decided_by": ["gclid=Ab"],
        "ad": {"campaign_id": "12"}, "click_ids": {"gclid": "Ab"},
    }  # fmt: skip


def test_the_command_names_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(run(capsys, PAGE, "https://www.paypal.com/", "--json"))
    assert (answer["source"], answer["nothing"]) == (None, "payment_provider")
    assert answer["detail"] == "*.paypal.com"
    assert answer["decided_by"] == ["referrer paypal.com"]


def test_the_command_speaks_to_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = run(capsys, PAGE + "utm_source=chatgpt.com&utm_content=a%1Bb").splitlines()
    assert lines[0].split() == ["source", "ai_chat_gpt"]
    assert "\\x1b" in next(line for line in lines if line.startswith("ad "))
    assert list(tmp_path.iterdir()) == []
