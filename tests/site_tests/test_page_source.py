"""Reading a page's HTML: the tags that count, and no others."""

from __future__ import annotations

import pytest

from headwater.alerts.site_tests.page_source import MOST_KEYS, ScriptTag, read_page

KEY = "trk_pk_" + "a" * 24


def test_it_works() -> None:
    page = read_page(
        "<!doctype html><html><head><meta charset=utf-8>"
        "<META HTTP-EQUIV='Content-Security-Policy' content=\"script-src 'self'\">"
        f'<script async src="https://hw.example/t.js?a&amp;b" data-site="{KEY}"'
        " data-consent='managed' nonce=n1></script><script>var x = '<p>'</script></head>"
    )
    tag = ScriptTag("https://hw.example/t.js?a&b", KEY, needs_consent=True, nonce="n1")
    assert page.scripts == [tag]
    assert page.policies == ["script-src 'self'"]
    assert page.keys == [KEY]
    assert not page.has_tag_manager


@pytest.mark.parametrize(
    "html",
    [
        f"<!-- <script src=/t.js data-site={KEY}></script> -->",
        f"<script>'<script src=/t.js data-site={KEY}>'</script>",
        f"<textarea><script src=/t.js data-site={KEY}></script></textarea>",
        f"<noscript><script src=/t.js data-site={KEY}></script></noscript>",
        f"<template><script src=/t.js data-site={KEY}></script></template>",
        f"<style><script src=/t.js data-site={KEY}></script></style>",
        f"<scripts src=/t.js data-site={KEY}>",
        f"<script data-site={KEY}></script>",
    ],
)
def test_no_tag_that_loads_it(html: str) -> None:
    page = read_page(html)
    assert page.scripts == []
    assert page.keys == [KEY]


@pytest.mark.parametrize(
    "html",
    [
        f"<script src=/t.js data-site={KEY}>",
        f"<SCRIPT\n\tSRC = '/t.js'\nDATA-SITE=\"{KEY}\"/>",
        f"<script src=/t.js src=/other.js data-site={KEY}></script>",
        f'<script a="<script>" src=/t.js data-site={KEY}></script>',
        f"<!-- a --><script src=/t.js data-site={KEY}></script><!--",
    ],
)
def test_a_tag_however_it_is_written(html: str) -> None:
    (tag,) = read_page(html).scripts
    assert (tag.source, tag.site) == ("/t.js", KEY)


def test_tag_managers() -> None:
    assert read_page("src='https://www.googletagmanager.com/gtm.js?id='").has_tag_manager
    assert read_page("dataLayer','GTM-ABC123'").has_tag_manager
    assert not read_page("<p>GTM-x</p>").has_tag_manager


def test_keys_are_bounded() -> None:
    many = " ".join(f"trk_pk_{number:024}" for number in range(50))
    assert len(read_page(many).keys) == MOST_KEYS
