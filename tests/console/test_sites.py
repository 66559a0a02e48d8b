"""Sites: listed, created from pasted addresses, changed and ended; the snippet of each shop."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import psycopg
import pytest

from headwater.console.forms import form_token
from headwater.spaces.accounts.roles import Role
from headwater.spaces.sites.snippets import STUB, ShopSystem
from tests.browser.conftest import STUB as DOCUMENTED_STUB
from tests.conftest import Running
from tests.console.conftest import Person
from tests.console.test_every_page import check
from tests.support.factories import Stage
from tests.support.sizes import ROOT

NAME = "<b>Shop & Söhne</b>"


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/sites"


def create(person: Person, space_id: int, **values: Any) -> str:
    """Create a site and return the path of its page."""
    form_values = {"name": "Shop", "origins": "https://shop.example", **values}
    path = make_page(space_id)
    page = person.browser.fill(path, f"{path}/create", **form_values)
    assert page.status_code == 200, page.text
    return page.url.path


def origins(connection: psycopg.Connection, space_id: int) -> list[list[str]]:
    rows = connection.execute("SELECT origins FROM sites WHERE space_id = %s ORDER BY id", (space_id,))
    return [row[0] for row in rows]


def code_on(html: str) -> list[str]:
    return [unescape(text) for text in re.findall(r'<code id="code-\d+"[^>]*>(.*?)</code>', html,
                                                  re.DOTALL)]  # fmt: skip


def test_it_works(owner: Person, connection: psycopg.Connection, space_id: int, console: Running) -> None:
    assert "No site yet" in owner.browser.get(make_page(space_id)).text
    site_path = create(owner, space_id, name=NAME, origins="shop.example/products?x\nlocalhost:3000")
    assert origins(connection, space_id) == [["https://shop.example", "http://localhost:3000"]]
    page = owner.browser.get(site_path).text
    assert NAME not in page
    for path in (site_path, f"{site_path}?shop=shopify&consent=required", f"{site_path}/test"):
        check(owner.browser.get(path))
    (key,) = set(re.findall(r"trk_pk_[\w-]{24}", page))
    snippet = f'<script async src="{console.base_url}/t.js" data-site="{key}"></script>'
    assert code_on(page)[0] == f"{STUB}\n{snippet}"
    owner.browser.fill(site_path, f"{site_path}/change", name="Shop", origins="https://*.shop.example",
                       amounts="refuse")  # fmt: skip
    row = connection.execute(
        "SELECT name, origins, accepts_amounts FROM sites WHERE site_key = %s", (key,)
    ).fetchone()
    assert row == ("Shop", ["https://*.shop.example"], False)
    wrong = owner.browser.fill(site_path, f"{site_path}/end", confirm="Other")
    assert wrong.status_code == 422
    assert "Type “Shop” to end it." in wrong.text
    nothing = owner.browser.fill(site_path, f"{site_path}/end", confirm="")
    assert nothing.status_code == 422
    assert 'value="Shop"' in nothing.text, "the settings on the page are those of the site"
    assert "https://*.shop.example" in nothing.text
    end_page = owner.browser.fill(site_path, f"{site_path}/end", confirm=" Shop ")
    assert "The site has ended" in end_page.text
    assert "Ended sites" in end_page.text
    assert "Create another site" in owner.browser.get(site_path).text
    assert owner.browser.get(f"{site_path}/test").status_code == 404


def test_a_page_opened_earlier_undoes_no_later_change(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    """Otherwise a new name would let every page link browsers again, and refuse those of a new address."""
    site_path = create(owner, space_id, origins="https://shop.example")
    stale_form = owner.browser.form(site_path, f"{site_path}/change")
    owner.browser.fill(
        site_path, f"{site_path}/change", identify="signed", amounts="refuse",
        origins="https://shop.example\r\nhttps://new.example",
    )  # fmt: skip
    assert owner.browser.send(stale_form, name="").status_code == 422
    owner.browser.send(stale_form, name="Renamed")
    assert connection.execute(
        "SELECT name, origins, accepts_amounts, signed_only FROM sites WHERE space_id = %s", (space_id,)
    ).fetchone() == ("Renamed", ["https://shop.example", "https://new.example"], False, True)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("", "Enter the shop's address, such as https://shop.example."),
        ("shop", "“shop” is not the address of a web page: enter one, such as https://shop.example"),
        ("ftp://shop.example", "“ftp://shop.example” cannot be used: it must begin with http://"),
        ("anna@shop.example", "has an @"),
        ("https://*.co.uk", "must not cover all of co.uk"),
        ("https://<script>alert(1)</script>", "must have a host"),
        (" ".join(f"https://s{number}.example" for number in range(60)), "1 to 50 origins"),
    ],
)
def test_an_address_that_cannot_be_used(
    owner: Person, connection: psycopg.Connection, space_id: int, address: str, sentence: str
) -> None:
    path = make_page(space_id)
    page = owner.browser.fill(path, f"{path}/create", name="", origins=address)
    assert page.status_code == 422
    page = owner.browser.fill(path, f"{path}/create", name="Shop", origins=address)
    assert page.status_code == 422
    assert sentence in unescape(page.text)
    assert unescape(page.text).count(address) >= 1, "what was typed is still there"
    assert "<script>alert" not in page.text
    assert origins(connection, space_id) == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://other.example/x", "https://other.example is not an address of the site"),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9 is not an address of the site"),
        ("https://me@shop.example/", "has an @"),
        ("https://shop.example https://shop.example", "Enter the address of a page of the shop"),
        ("https://shop.example/\0", "The form contains a NUL character."),
    ],
)
def test_a_page_that_is_not_tested(owner: Person, space_id: int, address: str, reason: str) -> None:
    """Only pages of the site are fetched."""
    test = f"{create(owner, space_id)}/test"
    page = owner.browser.fill(test, f"{test}/start", url=address)
    assert page.status_code == 422
    assert reason in unescape(page.text)


def test_tests_of_a_site_are_limited(owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fetches a page."""
    monkeypatch.setattr("headwater.console.site_pages.site_test.MOST_STARTS", 1)
    test = f"{create(owner, space_id)}/test"
    started, refused = (
        owner.browser.fill(test, f"{test}/start", url="https://shop.example/") for _ in range(2)
    )
    assert started.status_code == 200
    assert refused.status_code == 422
    assert "Start the next one in 10 minutes." in unescape(refused.text)


def test_a_form_sent_twice_makes_one(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    path = make_page(space_id)
    form = owner.browser.form(path, f"{path}/create")
    form_values = {"name": "Shop", "origins": "shop.example"}
    assert owner.browser.send(form, **form_values).status_code == 200
    assert owner.browser.send(form, **form_values).status_code == 403
    assert len(origins(connection, space_id)) == 1


def test_page_views(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    site_path = create(owner, space_id, origins="https://shop.example https://*.shop.example:8443")
    create(owner, space_id, name="Blog", origins="https://blog.example")
    stage, now = Stage(connection, space_id, ""), datetime.now(UTC)
    contact = stage.contact()
    visit = stage.visit(contact)
    for hours, url in (
        (30, "https://shop.example/old"), (2, "https://shop.example/?a"),
        (1, "https://a.shop.example:8443/b#c"), (1, "https://shop.example.evil.example/"),
        (0, "https://a.shop.example/"),
    ):  # fmt: skip
        stage.hit(contact, visit, url=url, occurred_at=now - timedelta(hours=hours))
    page = owner.browser.get(make_page(space_id)).text
    counts = re.findall(r'in 24 hours"><data value="(\d+)">', page)
    assert counts == ["2", "0"]
    assert page.count("no page view yet") == 1
    last_view = (now - timedelta(hours=1)).isoformat(timespec="seconds")
    assert f'datetime="{last_view}"' in owner.browser.get(site_path).text


@pytest.mark.parametrize("shop", list(ShopSystem))
def test_every_shop(owner: Person, console: Running, space_id: int, shop: ShopSystem) -> None:
    site_path = create(owner, space_id)
    page = owner.browser.get(f"{site_path}?shop={shop}").text
    (key,) = set(re.findall(r"trk_pk_[\w-]{24}", page))
    code = "\n".join(code_on(page))
    assert f"{console.base_url}/t.js" in code
    assert key in code
    assert "trk.identify(" in code.replace("(window as any).", "")
    assert "trk_token" in code
    assert not re.findall(r"__[A-Z_]+__", code)
    assert re.search(rf'<a href="[^"]*shop={shop}#snippet" aria-current="page">', page)
    assert "data-consent" not in code
    consent_text = owner.browser.get(f"{site_path}?shop={shop}&consent=required").text
    assert "data-consent" in "\n".join(code_on(consent_text))
    assert "trk.consent(" in "\n".join(code_on(consent_text)).replace("(window as any).", "")


def test_a_shop_that_there_is_not(owner: Person, space_id: int) -> None:
    site_path = create(owner, space_id)
    for query in ("?shop=x", "?shop=", "?consent=x", "?shop=html&shop=gtm", "?shop=%00"):
        assert owner.browser.get(site_path + query).status_code == 200


def test_no_amounts_no_order_by_the_page(owner: Person, space_id: int) -> None:
    site_path = create(owner, space_id, amounts="refuse")
    for shop in ShopSystem:
        assert "trk.track('purchase'" not in owner.browser.get(f"{site_path}?shop={shop}").text


def test_the_stub_is_the_documented_one() -> None:
    assert STUB in (ROOT / "docs" / "tracker.md").read_text()
    assert f"<script>{DOCUMENTED_STUB}</script>" == STUB


def test_viewers_only_look(
    owner: Person, person: Callable[..., Person], connection: psycopg.Connection, space_id: int
) -> None:
    site_path = create(owner, space_id)
    viewer = person(Role.VIEWER)
    for path in (make_page(space_id), site_path, f"{site_path}/test"):
        page = viewer.browser.get(path)
        assert page.status_code == 200
        assert f'action="{make_page(space_id)}' not in page.text
    for path, form in (
        (f"{site_path}/change", "change site"), (f"{site_path}/end", "end site"),
        (f"{site_path}/test/start", "test site"),
    ):  # fmt: skip
        data = {"form_token": form_token(viewer.form_key, form), "confirm": "Shop", "name": "X",
                "origins": "x.example", "url": "https://shop.example/"}  # fmt: skip
        assert viewer.browser.client.post(path, data=data).status_code == 403
    assert origins(connection, space_id) == [["https://shop.example"]]


def test_another_space_s_site(
    owner: Person, person: Callable[..., Person], make_space: Callable[..., int], space_id: int
) -> None:
    other_space_id = make_space()
    other_site_id = create(person(Role.OWNER, other_space_id), other_space_id).rpartition("/")[2]
    for end in (other_site_id, "999999999", "0", "x", f"{other_site_id}/test"):
        page = owner.browser.get(f"{make_page(space_id)}/{end}")
        assert page.status_code == 404, end
    for end, form in (("change", "change site"), ("end", "end site"), ("test/start", "test site")):
        data = {"form_token": form_token(owner.form_key, form), "name": "X", "origins": "x.example",
                "url": "https://shop.example"}  # fmt: skip
        answer = owner.browser.client.post(f"{make_page(space_id)}/{other_site_id}/{end}", data=data)
        assert answer.status_code == 404
