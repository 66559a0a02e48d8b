"""The sources page: the test of an address, the Space's names and hosts, and the catalogue."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import urlencode

import psycopg
import pytest

from headwater.console.forms import form_token
from headwater.console.link_pages.sources import LONGEST_ADDRESS
from headwater.sources.catalogue import SOURCES
from headwater.sources.explanation import explain_visit
from headwater.spaces.accounts.roles import Role
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.factories import Stage

PAGE = "https://shop.example/tents"


@pytest.fixture
def path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/sources"


@pytest.fixture
def space(accounts: Accounts, space_id: int) -> Callable[[], Space]:
    return lambda: accounts.run(lambda c: fetch_space(c, space_id))


def try_source(owner: Person, path: str, url: str, referrer: str = "") -> str:
    """Return the text of the result section."""
    answer = owner.browser.get(f"{path}?{urlencode({'url': url, 'referrer': referrer})}")
    assert answer.status_code == 200
    result = answer.text.partition('class="tested"')[2].partition("</section>")[0]
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", result).split()))


def test_it_works(owner: Person, path: str) -> None:
    ad = "utm_campaign=Summer&utm_term=Broad&utm_content=12"
    url = f"{PAGE}?utm_source=facebook&utm_medium=cpc&{ad}"
    result = try_source(owner, path, url, "https://l.facebook.com/")
    assert "This visit counts as Facebook ads facebook_ads Paid ads" in result
    assert "utm_source=facebook , utm_medium=cpc . Rule utm_source_paid" in result
    assert "Campaign Summer Ad set Broad Ad id 12" in result
    assert "found only on ads? No. Does HubSpot's" in result
    assert "Does utm_source name a source? Yes: utm_source ." in result
    assert "Is the referrer a known site?" not in result, "what was not applied is not listed"


@pytest.mark.parametrize(
    ("url", "referrer", "expected"),
    [
        (PAGE, "", "Direct"),
        (PAGE, "https://www.google.com/", "Google organic"),
        (f"{PAGE}?gclid=a", "https://www.linkedin.com/", "No: gclid present, but not"),
        (PAGE, "https://www.paypal.com/x", "No touchpoint"),
        (PAGE, "shop.example", "Its referrer is one of the business's own pages"),
        ("shop.example?utm_source=x", "", "doesn't begin with https://"),
        ("not an address", "", "This is not a page URL"),
        ("/tents?fbclid=1", "", "Facebook organic"),
        (f"{PAGE}#utm_source=x&utm_campaign=y", "", "utm_campaign are after the #"),
        ("https://bücher.example/?gclid=1", "", "write its host as xn--bcher-kva.example."),
        (f"{PAGE}?utm_campaign={{{{campaign.name}}}}", "", "a placeholder that the ad platform"),
        (f"{PAGE}?utm_source=a&utm_source=b", "", "utm_source occurs more than once"),
        (f"{PAGE}?x={'y' * 3000}", "", "Page views with more than 2,048 are refused"),
        ("https://[", "http://a:b:c", "Direct"),
        (f"{PAGE}?utm_source=%ff%fe&\ud7ff=\u202e", "", "Referral"),
    ],
)  # fmt: skip
def test_any_address_is_answered_in_words(
    owner: Person, path: str, url: str, referrer: str, expected: str
) -> None:
    assert expected in try_source(owner, path, url, referrer)


def test_bad_addresses_are_refused(owner: Person, path: str) -> None:
    long = owner.browser.get(f"{path}?url={'a' * (LONGEST_ADDRESS + 1)}")
    assert long.status_code == 422
    assert "The address has 16,385 characters." in long.text
    assert 'class="tested"' not in long.text
    for query in ("url=%ff", "url=a%00b", "url=1&url=2", "url[]=1"):
        answer = owner.browser.get(f"{path}?{query}")
        assert answer.status_code == 422, query
        assert 'id="url-refusal"' in answer.text, query


def test_the_space_has_a_say(owner: Person, path: str, space_id: int, connection: psycopg.Connection) -> None:
    """Its names, its hosts and the origins of its sites apply as they do to visits."""
    connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'S', %s, %s)",
        (space_id, f"k-{space_id}", ["https://*.shop.example:8443"]),
    )
    connection.execute("INSERT INTO source_names VALUES (%s, 'fb-paid', 'x_ads')", (space_id,))
    connection.execute(
        "UPDATE spaces SET excluded_referrers = '{pay.example}', own_domains = '{blog.example}',"
        " heeded_referrers = '{paypal.com}' WHERE id = %s",
        (space_id,),
    )
    assert "X ads x_ads" in try_source(owner, path, f"{PAGE}?utm_source=FB-Paid")
    for host in ("pay.example", "www.blog.example", "help.shop.example"):
        assert "No touchpoint" in try_source(owner, path, "https://other.example/", host), host
    assert "Referral" in try_source(owner, path, PAGE, "https://paypal.com/")


def test_it_is_what_the_command_says() -> None:
    visit = explain_visit(f"{PAGE}?gclid=1", "https://www.linkedin.com/")
    assert visit.source == "linkedin_organic"
    assert visit.steps[-1].question == "Is the referrer a known site?"
    assert [step.decided for step in visit.steps].count(True) == 1


def test_names(owner: Person, path: str, space: Callable[[], Space], connection: psycopg.Connection) -> None:
    stage = Stage(connection, space().id, "")
    stage.touchpoint(stage.contact(), "referral", source_rule="campaign", url=PAGE)
    answer = owner.browser.fill(path, f"{path}/name", name=" FB-Paid ", source="facebook_ads")
    assert "It applies to new visits now and to earlier ones soon." in answer.text
    assert space().source_names == {"fb-paid": "facebook_ads"}
    assert "reclassifying, 0 %" in answer.text
    answer = owner.browser.fill(path, f"{path}/unname", hidden_values={"name": "fb-paid"})
    assert space().source_names == {}
    assert answer.url.path == path
    for name, source, message in (
        ("", "email", "Enter the utm_source"), ("x", "", "Choose a source"),
        ("x" * 256, "email", "Must not be longer than 255 characters."),
        ("x", "nothing", "Must be a listed source"),
    ):  # fmt: skip
        answer = owner.browser.fill(path, f"{path}/name", name=name, source=source)
        assert answer.status_code == 422
        assert message in answer.text
        assert space().source_names == {}


def test_hosts(owner: Person, path: str, space: Callable[[], Space]) -> None:
    form_values = {"own_domains": "Shop.Example, blog.example", "excluded_referrers": "pay.example"}
    answer = owner.browser.fill(path, f"{path}/hosts", **form_values)
    assert "The hosts are saved" in answer.text
    assert space().own_domains == ["blog.example", "shop.example"]
    assert space().excluded_referrers == ["pay.example"]
    assert "Nothing was changed." in owner.browser.fill(path, f"{path}/hosts").text
    answer = owner.browser.fill(path, f"{path}/hosts", own_domains="nothing", heeded_referrers="x.y")
    assert answer.status_code == 422
    assert "is no host." in html.unescape(answer.text)
    assert ">nothing</textarea>" in answer.text
    assert space().heeded_referrers == []


def test_the_catalogue(owner: Person, path: str) -> None:
    page = owner.browser.get(path).text
    assert all(f'<code class="soft">{source}</code>' in page for source in SOURCES)
    for find, expected in (
        ("tiktok", ["tiktok_ads", "tiktok_organic"]), ("MSCLKID", ["bing_ads"]),
        ("paid snap", ["snapchat_ads"]), ("klaviyo", ["email"]), ("<b>", []),
    ):  # fmt: skip
        page = owner.browser.get(f"{path}?{urlencode({'find': find})}").text
        assert re.findall(r'<code class="soft">(\w+)</code>', page) == expected


def test_hostile_words(owner: Person, path: str) -> None:
    evil = "<script>alert(1)</script>\"'>"
    query = {"url": f"{PAGE}?utm_campaign={evil}", "referrer": evil, "find": evil}
    page = owner.browser.get(f"{path}?{urlencode(query)}").text
    assert "<script>alert" not in page
    assert html.escape("<script>alert(1)") in page


@pytest.mark.parametrize("role", list(Role))
def test_who_may(person: Callable[..., Person], path: str, space: Callable[[], Space], role: Role) -> None:
    person(Role.OWNER)
    visitor = person(role)
    may = role is not Role.VIEWER
    page = visitor.browser.get(f"{path}?url=shop.example").text
    assert (f'action="{path}/name"' in page) is may
    form = {"form_token": form_token(visitor.form_key, "sources"), "name": "x", "source": "email"}
    answer = visitor.browser.client.post(f"{path}/name", data=form)
    assert answer.status_code == (303 if may else 403)
    assert bool(space().source_names) is may
