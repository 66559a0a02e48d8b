"""Readers of sites' pages, which anyone can write, and of URLs as people paste them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headwater.alerts.site_tests.content_policy import LONGEST_POLICY, Wanted, blocking_directive
from headwater.alerts.site_tests.page_source import read_page
from headwater.alerts.site_tests.probe import MOST_BYTES, _bare, _resolve, is_local, with_click
from headwater.alerts.site_tests.site_test import read_page_url
from headwater.spaces.sites.origins import covering_origins, read_pasted_origins
from tests.hostile.growth import Door

KB = 1024
HEADERS = 32 * KB
FORM = 256 * KB
PAGE = "https://shop.example/"
_SITE: Any = SimpleNamespace(origins=["https://shop.example"])


def _judge_policy(text: str) -> None:
    """Read a page's policy, and check a URL against one."""
    for url in ("https://a.example/t.js", text):
        blocking_directive([text], Wanted("script", url, PAGE))
        blocking_directive(["connect-src a.example"], Wanted("connect", url, PAGE))


def _redirect(text: str) -> None:
    """Read a page's redirect."""
    url = _resolve(PAGE, text)
    if url is not None:
        is_local(url)
        _bare(url)
        with_click(url, "x")


SITE_DOORS = [
    Door("origins.pasted", read_pasted_origins, FORM),
    Door("origins.covering", covering_origins, HEADERS),
    Door("site_tests.page", read_page, MOST_BYTES, slow=0.3),
    Door("site_tests.policy", _judge_policy, LONGEST_POLICY),
    Door("site_tests.redirect", _redirect, HEADERS),
    Door("site_tests.url", lambda text: read_page_url(text, _SITE), FORM),
]
