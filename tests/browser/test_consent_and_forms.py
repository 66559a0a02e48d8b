"""Visitors' consent, and the identifiers that forms report, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import Shop, idle, wait_until_ready


def read_storage(page: Page) -> list[Any]:
    return page.evaluate("[document.cookie, Object.keys(localStorage)]")


class TestConsent:
    def test_withheld_nothing_is_sent_or_stored(self, shop: Shop, page: Page) -> None:
        shop.put("/asks", attributes='data-consent="required"')
        page.goto(shop.url("/asks?utm_source=x"))
        wait_until_ready(page)
        page.evaluate("history.pushState({}, '', '/asks/2')")
        page.evaluate("trk.track('purchase', {amount: 1})")
        idle(page)
        assert read_storage(page) == ["", []]
        assert page.evaluate("[trkToken(), trkFingerprint()]") == ["", ""]
        assert shop.site.rows() == []
        page.evaluate("trk.consent({ad_user_data: true, ad_personalization: false})")
        hits = shop.wait_for_items("hit", 2)
        assert [hit["url"] for hit in hits] == [shop.url("/asks?utm_source=x"), shop.url("/asks/2")]
        (purchase,) = shop.wait_for_items("event", 1)
        assert (purchase["ad_user_data"], purchase["ad_personalization"]) == (True, False)
        page.goto(shop.url("/asks?again"))  # consent is remembered
        shop.wait_for_items("hit", 3)

    def test_left_without_a_word_nothing_was_there(self, shop: Shop, page: Page) -> None:
        shop.put("/asks", attributes='data-consent="required"')
        page.goto(shop.url("/asks"))
        wait_until_ready(page)
        page.goto(shop.url("/asks?2"))
        wait_until_ready(page)
        page.evaluate("trk.consent(true)")
        assert [hit["url"] for hit in shop.wait_for_items("hit", 1)] == [shop.url("/asks?2")]

    def test_managed_each_page_waits_for_its_answer(self, shop: Shop, page: Page) -> None:
        shop.put("/asks", attributes='data-consent="managed"')
        page.goto(shop.url("/asks"))
        wait_until_ready(page)
        page.evaluate("trk.consent(true)")
        shop.wait_for_items("hit", 1)
        # The page may learn of this only now. Left earlier, it keeps the page view for the next answer.
        page.wait_for_function("() => Object.keys(localStorage).every(key => key.startsWith('trk_token'))")
        page.goto(shop.url("/asks?2"))
        wait_until_ready(page)
        idle(page)
        shop.wait_for_items("hit", 1)
        assert [key.partition(".")[0] for key in read_storage(page)[1]] == ["trk_token"]
        page.evaluate("trk.consent(true)")
        assert len({hit["trk_token"] for hit in shop.wait_for_items("hit", 2)}) == 1

    def test_withdrawn_everything_is_forgotten(self, shop: Shop, page: Page, context: BrowserContext) -> None:
        page.goto(shop.url())
        shop.wait_for_items("hit", 1)
        page.wait_for_function("() => document.cookie.includes('trk_token=')")
        page.evaluate("trk.consent(false)")
        assert read_storage(page)[0] == ""
        assert [
            stored_cookie for stored_cookie in context.cookies() if stored_cookie["name"] == "trk_token"
        ] == []
        assert [key.partition(".")[0] for key in read_storage(page)[1]] == ["trk_consent"]
        page.evaluate("trk.track('purchase', {})")
        page.reload()
        wait_until_ready(page)
        idle(page)
        shop.wait_for_items("hit", 1)
        page.evaluate("trk.consent(true)")
        assert len({hit["trk_token"] for hit in shop.wait_for_items("hit", 2)}) == 2

    @pytest.mark.parametrize("path", ["/", "/asks"])
    def test_another_tab_follows_the_choice(
        self, shop: Shop, page: Page, open_page: Callable[[], Page], path: str
    ) -> None:
        shop.put("/asks", attributes='data-consent="required"')
        other_page = open_page()
        for tab in (page, other_page):
            tab.goto(shop.url(path))
            wait_until_ready(tab)
        page.evaluate("trk.consent(true)")
        shop.wait_for_items("hit", 2)
        page.evaluate("trk.consent(false)")
        other_page.wait_for_function("() => trkToken() === ''")
        other_page.evaluate("history.pushState({}, '', '/next')")
        idle(other_page)
        assert len(shop.site.rows()) == 2
        assert read_storage(other_page)[0] == ""

    @pytest.mark.parametrize("signal", ["doNotTrack: '1'", "globalPrivacyControl: true"])
    def test_what_the_browser_asks_for(self, shop: Shop, page: Page, signal: str) -> None:
        name, _, value = signal.partition(": ")
        page.add_init_script(f"Object.defineProperty(navigator, '{name}', {{get: () => {value}}})")
        page.goto(shop.url())
        wait_until_ready(page)
        idle(page)
        assert (shop.site.rows(), read_storage(page)) == ([], ["", []])
        page.evaluate("trk.consent(true)")
        shop.wait_for_items("hit", 1)

    def test_advertising_refused_its_cookies_stay(
        self, shop: Shop, page: Page, context: BrowserContext
    ) -> None:
        context.add_cookies([{"name": "_fbc", "value": "fb.1.c", "url": shop.url()}])
        page.goto(shop.url())
        assert shop.wait_for_items("hit", 1)[0]["cookies"] == {"fbc": "fb.1.c"}
        wait_until_ready(page)
        page.evaluate("trk.consent({ad_user_data: false})")
        page.evaluate("trk.page()")
        assert "cookies" not in shop.wait_for_items("hit", 2)[1]


FORM = """
<form {attributes} onsubmit="event.preventDefault()">
<input name="customer[email]" value=" ada@example.com "><input type="tel" name="t" value="+49 151">
<input autocomplete="shipping given-name" name="a" value="Ada">
<input name="last_name" value="Lovelace"><input type="password" name="email2" value="p@ss.word">
<input type="hidden" name="full_name" value="hidden"><input name="card_email" value="c@example.com">
<input autocomplete="cc-name" name="name" value="On the card">
<input autocomplete="off" name="phone2" value="0"><input name="comment" value="hello">
<button>Send</button></form>
"""


class TestForms:
    @pytest.mark.parametrize(
        ("script", "form"), [("data-forms", ""), ("", "data-trk"), ("data-forms", "data-trk")]
    )
    def test_who_sends_one(self, shop: Shop, page: Page, script: str, form: str) -> None:
        shop.put("/form", attributes=script, body=FORM.format(attributes=form))
        page.goto(shop.url("/form"))
        wait_until_ready(page)
        page.click("button")
        (person,) = shop.wait_for_items("identify", 1)
        fields = {name: person[name] for name in person if name not in VISITOR}
        assert fields == {
            "email": "ada@example.com", "phone": "+49 151", "first_name": "Ada",
            "last_name": "Lovelace",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("script", "form"), [("", ""), ("data-forms", 'data-trk="off"'), ("data-forms", 'autocomplete="off"')]
    )
    def test_not_where_it_is_not_asked_for(self, shop: Shop, page: Page, script: str, form: str) -> None:
        shop.put("/form", attributes=script, body=FORM.format(attributes=form))
        page.goto(shop.url("/form"))
        wait_until_ready(page)
        page.click("button")
        page.evaluate("trk.page()")
        shop.wait_for_items("hit", 2)
        people = [person.get("email") for person in shop.site.payloads("identify")]
        assert people == []


VISITOR = {"occurred_at", "trk_token", "fingerprint", "ip", "address_key"}
