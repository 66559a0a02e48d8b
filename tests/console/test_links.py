"""The link builder: a link and the source its visits will have, its QR code, and many links at once."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import httpx
import psycopg
import pytest

from headwater.console.forms import form_token
from headwater.console.link_pages.link_sheet import LONGEST_ADDRESS, MOST_ROWS
from headwater.sources.explanation import explain_visit
from headwater.sources.links.links import MAX_VALUE
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.factories import Stage

PAGE = "https://shop.example/tents"
EVIL = "<script>alert(1)</script>\"'"


@pytest.fixture
def path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/links"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def link_on(page: str) -> str:
    match = re.search(r'<code id="link"[^>]*>(.*?)</code>', page)
    return html.unescape(match[1]) if match else ""


def page_text(page: str) -> str:
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", page).split()))


def test_it_works(owner: Person, path: str) -> None:
    query = urlencode({
        "address": "shop.example/tents?id=1#top", "source": "tiktok_ads", "campaign": "Summer",
        "adset": "Broad", "ad": "7", "keyword": "",
    })  # fmt: skip
    page = owner.browser.get(f"{path}?{query}").text
    assert link_on(page) == (
        f"{PAGE}?id=1&utm_source=tiktok&utm_medium=paid_social&utm_campaign=Summer&utm_term=Broad"
        "&utm_content=7#top"
    )
    visit = explain_visit(link_on(page), None)
    assert f"count as {format_title(visit.source or '')} tiktok_ads Paid ads" in page_text(page)
    assert "Campaign Summer Ad set Broad Ad id 7" in page_text(page)
    assert "“7” is all digits, and counts as the id of the ad." in page_text(page)
    preview = owner.browser.get(f"{path}/preview?{query}")
    assert link_on(preview.text) == link_on(page)
    assert "<html" not in preview.text


def test_a_link_is_named_by_the_spaces_rules(
    owner: Person, path: str, space_id: int, connection: psycopg.Connection, stage: Stage
) -> None:
    connection.execute("INSERT INTO source_names VALUES (%s, 'facebook', 'email')", (space_id,))
    connection.execute("UPDATE spaces SET own_domains = '{other.example}' WHERE id = %s", (space_id,))
    stage.touchpoint(
        stage.contact(), "email", source_rule="utm_source", campaign_name="SUMMER",
        url=f"{PAGE}?utm_source=Klaviyo",
    )  # fmt: skip
    query = urlencode({"address": PAGE, "source": "facebook_ads", "campaign": "Summer"})
    page = page_text(owner.browser.get(f"{path}?{query}").text)
    assert "Visits by this link count as E-mail, not as Facebook ads" in page
    assert "A campaign “SUMMER” already exists" in page
    assert "None of your sites has pages on shop.example" in page


def test_earlier_values_are_offered(owner: Person, path: str, stage: Stage) -> None:
    for number in range(3):
        stage.touchpoint(
            stage.contact(), "email", source_rule="utm_source", campaign_name=f"C{number}",
            ad_id="77", keyword="boots", url=f"{PAGE}?utm_source=klaviyo&utm_medium=mail",
        )  # fmt: skip
    page = owner.browser.get(path).text
    suggestions = {
        name: re.findall('value="([^"]*)"', values)
        for name, values in re.findall(r'<datalist id="(\w+)-earlier">(.*?)</datalist>', page)
    }
    assert suggestions == {
        "campaign": ["C2", "C1", "C0"], "ad": ["77"], "keyword": ["boots"], "address": [PAGE],
        "utm_source": ["klaviyo"], "utm_medium": ["mail"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "field", "rule"),
    [
        ({"address": "tents", "source": "email"}, "address", "it needs a host"),
        ({"address": "x" * 5000, "source": "email"}, "address", "5,000 characters"),
        ({"address": PAGE, "source": "direct"}, "source", "have no link"),
        ({"address": PAGE, "source": "nothing"}, "source", "choose a source from the list"),
        ({"address": PAGE, "source": "email", "ad": "x" * 513}, "ad", "at most 512"),
    ],
)
def test_bad_links_are_refused(
    owner: Person, path: str, query: dict[str, str], field: str, rule: str
) -> None:
    answer = owner.browser.get(f"{path}?{urlencode(query)}")
    assert answer.status_code == 422
    assert f'id="{field}-refusal"' in answer.text
    assert rule in html.unescape(answer.text)
    assert link_on(answer.text) == ""
    assert owner.browser.get(f"{path}/preview?{urlencode(query)}").status_code == 422
    assert owner.browser.get(f"{path}/qr.svg?{urlencode(query)}").status_code == 422
    for strange in ("address=%ff", "address=a%00", "source=1&source=2"):
        assert owner.browser.get(f"{path}?{strange}").status_code == 422


def test_hostile_words(owner: Person, path: str, stage: Stage) -> None:
    stage.touchpoint(stage.contact(), "email", source_rule="utm_source", campaign_name=EVIL, url=f"{PAGE}?a")
    query = {"address": f"{PAGE}?a={EVIL}", "source": "email", "campaign": EVIL, "utm_source": EVIL}
    page = owner.browser.get(f"{path}?{urlencode(query)}").text
    assert "<script>alert" not in page
    rows = f'address,source,campaign\n{PAGE},email,"{EVIL.replace(chr(34), chr(34) * 2)}"\n<b>,{EVIL}'
    answer = owner.browser.fill(f"{path}/many", f"{path}/many", rows=rows)
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


def test_the_qr_code(owner: Person, path: str) -> None:
    query = urlencode({"address": PAGE, "source": "email"})
    page = owner.browser.get(f"{path}?{query}").text
    source = html.unescape(re.findall(r'<img src="([^"]*qr.svg[^"]*)"', page)[0])
    image = owner.browser.get(source)
    assert image.headers["content-type"] == "image/svg+xml; charset=utf-8"
    assert ET.fromstring(image.content).tag.endswith("svg")
    long = urlencode({"address": PAGE, "source": "email", "campaign": "ü" * 400})
    assert "oo long for a QR code" in owner.browser.get(f"{path}?{long}").text
    assert owner.browser.get(f"{path}/qr.svg?{long}").status_code == 422


def read_links(answer: httpx.Response) -> dict[int, str]:
    """Return the links on the page, by line."""
    rows = re.findall(r"Line </span>(\d+)</th>.*?<bdi>(.*?)</bdi>", answer.text, re.DOTALL)
    return {int(line): html.unescape(link) for line, link in rows}


def problems(answer: httpx.Response) -> dict[int, str]:
    rows = re.findall(r"<li>Line (\d+): (.*?)(?: <span|</li>)", answer.text)
    return {int(line): html.unescape(rule) for line, rule in rows}


def test_many_links(owner: Person, path: str) -> None:
    rows = (
        "Address;Campaign;Source\n"
        f"{PAGE};Summer;facebook_ads\n"
        "\n"
        f"{PAGE}?a=1;;E-mail\n"
        f"{PAGE};x;facebok_ads\n"
        "tents;x;email\n"
        f"{PAGE};x;direct\n"
        f"{PAGE};x;email;more\n"
        f"{PAGE};=1+1;\n"
        f"{PAGE}?{'x' * LONGEST_ADDRESS};x;email\n"
        f"{PAGE};{'x' * (MAX_VALUE + 1)};email\n"
    )
    form = {"rows": rows, "source": "email", "campaign": "All"}
    answer = owner.browser.fill(f"{path}/many", f"{path}/many", **form)
    assert read_links(answer) == {
        2: f"{PAGE}?utm_source=facebook&utm_medium=paid_social&utm_campaign=Summer",
        4: f"{PAGE}?a=1&utm_source=newsletter&utm_medium=email&utm_campaign=All",
        9: f"{PAGE}?utm_source=newsletter&utm_medium=email&utm_campaign=%3D1%2B1",
    }
    assert problems(answer) == {
        5: "There is no source “facebok_ads”. Is it facebook_ads?",
        6: "This is not a page URL: it needs a host, as in https://shop.example/tents.",
        7: "Links can't have the source direct.",
        8: "The row has more cells than there are columns: address, campaign, source.",
        10: "The address has more than 2,048 characters.",
        11: "The campaign has more than 512 characters.",
    }
    # The file is built from the same input as the page.
    form = next(fields for fields in owner_forms(answer) if "as" not in fields and "rows" in fields)
    file = owner.browser.client.post(f"{path}/many", data=form | {"as": "csv"})
    assert 'filename="links.csv"' in file.headers["content-disposition"]
    lines = list(csv.DictReader(io.StringIO(file.text)))
    assert [line["line"] for line in lines] == [str(line) for line in (2, *range(4, 12))]
    assert {int(line["line"]): line["link"] for line in lines if line["link"]} == read_links(answer)
    assert lines[6]["campaign"] == "'=1+1"
    assert lines[0]["counts_as"] == "facebook_ads"


def owner_forms(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the hidden fields of every form of a page."""
    return [
        {
            name: html.unescape(value)
            for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form, re.DOTALL)
        }
        for form in re.findall(r"<form.*?</form>", answer.text, re.DOTALL)
    ]


def test_a_file(owner: Person, path: str) -> None:
    token = form_token(owner.form_key, "link sheet")
    post = owner.browser.client.post
    content = f"\ufeffaddress,source\r\n{PAGE},email\r\n".encode()
    fields = {"form_token": token, "rows": "ignored"}
    answer = post(f"{path}/many", data=fields, files={"file": ("a.csv", content)})
    assert list(read_links(answer)) == [2]
    latin = post(f"{path}/many", data=fields, files={"file": ("a.csv", b"\xff\xfe")})
    assert latin.status_code == 422
    assert "is not UTF-8 text." in latin.text
    empty = post(f"{path}/many", data=fields, files={"file": ("", b"")})
    assert problems(empty) == {1: "The row has no source, and no default is selected."}
    headers = {"Content-Type": "multipart/form-data"}
    assert post(f"{path}/many", content=b"x", headers=headers).status_code == 422
    assert post(f"{path}/many", data={"rows": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("", "The table has no rows"),
        ("\n \n", "The table has no rows"),
        (f"{PAGE},email\n" * (MOST_ROWS + 1), "There are more than 1,000 rows"),
        ("address,colour\nx,y", "Line 1 has an unknown column “colour”. The columns are address, source"),
        ("address,url\nx,y", "names the column address more than once"),
        (f"{PAGE},{'x' * 140_000}", "Line 1 can't be read"),
    ],
)
def test_bad_tables_are_refused(owner: Person, path: str, rows: str, problem: str) -> None:
    answer = owner.browser.fill(f"{path}/many", f"{path}/many", rows=rows)
    assert answer.status_code == 422
    assert problem in html.unescape(answer.text)
    assert 'id="rows-refusal"' in answer.text


@pytest.mark.parametrize("role", list(Role))
def test_every_role_may_build_links(person: Callable[..., Person], path: str, role: Role) -> None:
    person(Role.OWNER)
    visitor = person(role)
    assert visitor.browser.get(path).status_code == 200
    answer = visitor.browser.fill(f"{path}/many", f"{path}/many", rows=f"{PAGE},email")
    assert list(read_links(answer)) == [1]
    assert visitor.browser.get(path.replace("/spaces/", "/spaces/9")).status_code == 404
