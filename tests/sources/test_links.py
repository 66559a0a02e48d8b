"""Built links agree with the rules: a link built for a source is classified as that source."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headwater.sources.catalogue import SOURCES
from headwater.sources.explanation import explain_visit
from headwater.sources.links.link_checks import check_host, check_link
from headwater.sources.links.link_templates import TEMPLATES
from headwater.sources.links.links import LINKED, BadAddress, LinkParts, build_link, choose_tags
from headwater.sources.outcomes import Ad
from headwater.sources.placeholders import is_placeholder
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames
from tests.sources.test_source_properties import hostile

PAGE = "https://shop.example/tents"
words = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=40).map(str.strip)
pages = st.sampled_from([
    PAGE, "shop.example", "http://bücher.example:8080/a b?id=1&x#top", "//x.example/?a=&&b",
    f"{PAGE}?utm_source=old&UTM_Medium=cpc&amp;utm_term=1#utm_source=x", "https://[::1]/?",
])  # fmt: skip


def notes_on(address: str, parts: LinkParts, *campaigns: str, **source_names: str) -> list[str]:
    names = SourceNames(source_names)
    visit = explain_visit(build_link(address, parts), None, names=names)
    return check_link(address, parts, visit, names, campaigns)


def test_it_works() -> None:
    parts = LinkParts("facebook_ads", "Sum & mer", "Broad", "Blue tent", "boots")
    assert build_link(f"{PAGE}?id=1#top", parts) == (
        f"{PAGE}?id=1&utm_source=facebook&utm_medium=paid_social&utm_campaign=Sum%20%26%20mer"
        "&utm_term=Broad&utm_content=Blue%20tent&trk_keyword=boots#top"
    )
    assert notes_on(PAGE, parts) == []


def test_every_source_but_direct_has_links() -> None:
    assert set(SOURCES) - set(LINKED) == {"direct"}
    assert choose_tags("direct") is None


@given(st.sampled_from(LINKED), pages, words, words, words, words)
@example("google_ads", PAGE, "video", "", "", "")
@example("facebook_ads", PAGE, "12", "34", "56", "78")
def test_a_link_for_a_source_is_named_as_that_source(
    source: str, page: str, campaign: str, adset: str, ad: str, keyword: str
) -> None:
    values = [campaign, adset, ad, keyword]
    assume(not any(is_placeholder(value) or unquote(value) != value for value in values))
    link = build_link(page, LinkParts(source, *values))
    visit = explain_visit(link, None)
    assert visit.source == source
    classified_ad = visit.classification.ad
    for level, value in zip(("campaign", "adset", "ad", "keyword"), values, strict=True):
        if level == "keyword":
            assert (classified_ad.keyword or "") == value
        else:
            assert (
                getattr(classified_ad, f"{level}_id") or getattr(classified_ad, f"{level}_name") or ""
            ) == value
    # Building from a finished link changes nothing.
    assert build_link(link, LinkParts(source, *values)) == link


@given(hostile, st.sampled_from(LINKED), words)
def test_any_text_is_a_link_or_says_why_not(address: str, source: str, campaign: str) -> None:
    parts = LinkParts(source, campaign)
    try:
        link = build_link(address, parts)
    except BadAddress:
        return
    assert link.startswith(("http://", "https://", "HTTP"))
    visit = explain_visit(link, None)
    assert all(note.endswith(".") for note in check_link(address, parts, visit, SHIPPED_ALONE))


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "it needs a host"), ("tents", "it needs a host"), ("/tents", "it needs a host"),
        ("https://", "it needs a host"), ("mailto:a@b.org", "it needs a host"),
        ("javascript://x.example/%0aalert(1)", "begins with javascript://"),
        ("ftp://shop.example/", "begins with ftp://"), ("a\nb.example", "a line break"),
        ("android-app://com.x", "begins with android-app://"),
    ],
)  # fmt: skip
def test_bad_pages_are_refused(address: str, reason: str) -> None:
    with pytest.raises(BadAddress, match=re.escape(reason)):
        build_link(address, LinkParts("email"))


@pytest.mark.parametrize(
    ("address", "parts", "expected"),
    [
        (f"{PAGE}?utm_source=x&utm_medium=y", LinkParts("email"), "“utm_source=x”, “utm_medium=y”"),
        (f"{PAGE}?trk_source=fb", LinkParts("email"), "count as Facebook organic, not as E-mail"),
        (f"{PAGE}?gclid=1", LinkParts("google_ads"), "from an earlier click"),
        (PAGE, LinkParts("email", utm_source="fb-paid"), "No rule knows “fb-paid”"),
        (PAGE, LinkParts("google_ads", utm_medium="social"), "count as Google organic"),
        (PAGE, LinkParts("email", "12"), "“12” is all digits"),
        (f"{PAGE}?trk_campaign=A", LinkParts("email", "B"), "The campaign is read as “A”"),
        (PAGE, LinkParts("email", "{{campaign.name}}"), "utm_campaign has a placeholder"),
        (f"{PAGE}#utm_source=x", LinkParts("email"), "utm_source is after the #"),
        (PAGE, LinkParts("email", "x" * 3000), "more than 2,048 are refused"),
    ],
)  # fmt: skip
def test_a_link_has_notes(address: str, parts: LinkParts, expected: str) -> None:
    assert any(expected in note for note in notes_on(address, parts))


def test_the_spaces_own_names() -> None:
    parts = LinkParts("facebook_ads", utm_source="fb-paid", utm_medium="x")
    assert notes_on(PAGE, parts, **{"fb-paid": "facebook_ads"}) == []
    changed_notes = notes_on(PAGE, LinkParts("email"), newsletter="sms")
    assert "count as SMS, not as E-mail" in changed_notes[0]


def test_case_of_campaigns() -> None:
    (note,) = notes_on(PAGE, LinkParts("email", "summer"), "Summer", "Other")
    assert note.startswith("A campaign “Summer” already exists. Reports show “summer” separately")
    assert notes_on(PAGE, LinkParts("email", "Summer"), "Summer", "SUMMER") == []


def test_hosts_that_report_nothing() -> None:
    assert check_host("https://www.shop.example/", ["shop.example"]) == []
    assert check_host("https://x.shop.example/", ["www.shop.example"]) == []
    assert check_host("https://shop.example/", []) == []
    assert check_host("https://notshop.example/", ["shop.example"]) == [
        "None of your sites has pages on notshop.example, so visits there may not be reported."
    ]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.platform)
def test_what_platforms_fill_in_is_read(template: object) -> None:
    """Each placeholder is filled in with its own value: names with names, ids with digits."""
    assert template in TEMPLATES
    link_template = next(candidate for candidate in TEMPLATES if candidate is template)
    ids = {"utm_id", "adgroupid", "campaign_id", "adset_id", "ad_id"}
    filled_values = {
        name: value
        if value.islower() and "{" not in value
        else (str(10 + index) if name in ids else f"Name {index}")
        for index, (name, value) in enumerate(link_template.parameters)
    }
    visit = explain_visit(f"{PAGE}?" + "&".join(f"{k}={v}" for k, v in filled_values.items()), None)
    assert visit.source == link_template.source
    read_values = {
        value
        for name in Ad.__struct_fields__
        if (value := getattr(visit.classification.ad, name)) is not None
    }
    sent_values = {v for k, v in filled_values.items() if k not in ("utm_source", "utm_medium")}
    assert read_values == sent_values
    empty_visit = explain_visit(f"{PAGE}?{link_template.text}", None)
    assert empty_visit.source == link_template.source
    assert unquote(link_template.text) == link_template.text
