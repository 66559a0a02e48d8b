"""POST to the tracker's endpoint: the visitor's token, and bots."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from headwater.intake.pipeline.batch_runner import process_space
from headwater.intake.tracker.browser_reports import MAX_AGO
from headwater.sources.catalogue import SOURCE_IDS
from tests.support.sites import CHROME, GOOGLEBOT, Site, event, identify, page


class TestTheToken:
    def cookie(self, site: Site, **headers: str) -> tuple[str, str | None]:
        """Return the token in force and the cookie set, for a page on www.shop.co.uk."""
        origin = headers.get("origin", "https://www.shop.co.uk")
        site.connection.execute("UPDATE sites SET origins = %s WHERE id = %s", ([origin], site.id))
        site.connection.execute("NOTIFY headwater_access")
        response = site.report(page(), headers={"origin": origin, **headers})
        for _ in range(200):  # until the process knows the new origins
            if response.status_code != 403:
                break
            response = site.report(page(), headers={"origin": origin, **headers})
        assert response.status_code == 202, response.text
        return response.json()["token"], response.headers.get("set-cookie")

    @pytest.mark.parametrize("host", ["hw.shop.co.uk", "shop.co.uk", "HW.Shop.co.uk:8443"])
    def test_it_becomes_a_cookie_of_the_shared_domain(self, site: Site, host: str) -> None:
        assert self.cookie(site, host=host) == (
            "tok-1",
            "trk_token=tok-1; Path=/; Max-Age=34560000; SameSite=Lax; Domain=shop.co.uk; Secure",
        )

    def test_a_page_without_tls_can_read_it(self, site: Site) -> None:
        _, cookie = self.cookie(site, origin="http://shop.co.uk", host="shop.co.uk")
        assert cookie == ("trk_token=tok-1; Path=/; Max-Age=34560000; SameSite=Lax; Domain=shop.co.uk")

    @pytest.mark.parametrize(
        ("origin", "host"),
        [("http://127.0.0.1:3000", "127.0.0.1:8080"), ("http://localhost", "localhost:8080"),
         ("http://[::1]:3000", "[::1]:8080")],
    )  # fmt: skip
    def test_a_host_without_a_domain_has_its_own(self, site: Site, origin: str, host: str) -> None:
        _, cookie = self.cookie(site, origin=origin, host=host)
        assert cookie == "trk_token=tok-1; Path=/; Max-Age=34560000; SameSite=Lax"

    @pytest.mark.parametrize(
        ("origin", "host"),
        [("https://shop.example", "headwater.test"), ("https://shop.co.uk", "other.co.uk"),
         ("https://one.myshopify.com", "two.myshopify.com"), ("http://127.0.0.1", "localhost"),
         ("https://10.0.0.1", "10.1.0.1")],
    )  # fmt: skip
    def test_strangers_get_no_token(self, site: Site, origin: str, host: str) -> None:
        assert self.cookie(site, origin=origin, host=host) == ("tok-1", None)

    def test_the_cookie_wins_over_the_body(self, site: Site) -> None:
        token, cookie = self.cookie(site, host="shop.co.uk", cookie="a=1; trk_token=old; b=2")
        assert token == "old"
        assert cookie is not None
        assert cookie.startswith("trk_token=old;")
        assert site.payloads("hit")[-1]["trk_token"] == "old"

    @pytest.mark.parametrize("cookie", ["trk_token=", "trk_token=a b", "trk_token=é", "xtrk_token=a"])
    def test_a_cookie_that_is_no_token_does_not_count(self, site: Site, cookie: str) -> None:
        assert site.report(page(), headers={"cookie": cookie.encode()}).json()["token"] == "tok-1"

    @pytest.mark.parametrize("token", ["a;b", "a\r\nSet-Cookie: x=1", "é", "x" * 256, 7])
    def test_no_other_text_is_one(self, site: Site, token: Any) -> None:
        response = site.report(page(), token=token)
        assert response.status_code == 422
        assert "token" in response.json()["errors"]


class TestTheLanding:
    """A browser that stores nothing names the page view that brought it when its visitor is known."""

    landing = {"url": "https://shop.example/?utm_source=google&utm_medium=cpc", "ago": 90_000}

    def touches(self, site: Site, **members: Any) -> list[Any]:
        response = site.report(identify(email="ada@example.com"), token=None, fingerprint="f", **members)
        assert response.status_code == 202
        process_space(site.connection, site.space_id)
        return site.connection.execute(
            "SELECT source_id, now() - occurred_at BETWEEN interval '89 s' AND interval '2 min'"
            " FROM touchpoints WHERE space_id = %s",
            (site.space_id,),
        ).fetchall()

    def test_it_is_a_touchpoint_of_the_known_contact(self, site: Site) -> None:
        assert self.touches(site, landing=self.landing) == [(SOURCE_IDS["google_ads"], True)]

    def test_its_referrer_names_a_source(self, site: Site) -> None:
        landing = {**self.landing, "url": "https://shop.example/", "referrer": "https://www.bing.com/"}
        assert self.touches(site, landing=landing) == [(SOURCE_IDS["bing_organic"], True)]

    @pytest.mark.parametrize(
        "change",
        [{"ago": -1}, {"ago": MAX_AGO + 1}, {"url": "nothing"}, {"url": 1}, {"ago": None}, {"referrer": 1}],
    )
    def test_an_invalid_one_is_left_out(self, site: Site, change: dict[str, Any]) -> None:
        assert self.touches(site, landing={**self.landing, **change}) == []
        rows = site.connection.execute("SELECT reason FROM rejected WHERE space_id = %s", (site.space_id,))
        assert rows.fetchall() == []

    def test_a_browser_with_a_token_has_reported_it(self, site: Site) -> None:
        site.report(identify(email="ada@example.com"), landing=self.landing)
        ((_, payload),) = site.rows()
        assert "landing" not in payload


class TestBots:
    def test_their_page_views_are_counted_and_nothing_else(self, site: Site) -> None:
        items = [page(), page(), identify(email="ada@example.com"), event()]
        response = site.report(*items, headers={"user-agent": GOOGLEBOT})
        assert response.status_code == 202
        assert [result["status"] for result in response.json()["results"]] == ["ignored"] * 4
        assert site.rows() == [("bots", {"site_id": site.id, "hits": 2})]
        assert "set-cookie" not in response.headers
        assert response.json()["token"] is None

    def test_without_page_views_nothing_is_stored(self, site: Site) -> None:
        assert site.report(event(), headers={"user-agent": GOOGLEBOT}).status_code == 202
        assert site.rows() == []

    def test_a_browser_without_a_window_is_none(self, site: Site) -> None:
        site.report(page(), headers={"user-agent": CHROME.replace("Chrome/", "HeadlessChrome/")})
        assert site.payloads("hit")[0]["browser"] == "Chrome"

    def test_metrics_tell(self, site: Site) -> None:
        site.report(page(), headers={"user-agent": GOOGLEBOT})
        assert "headwater_bot_hits_total" in httpx.get(f"{site.base_url}/metrics").text
