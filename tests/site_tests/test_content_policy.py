"""Which directive of a content security policy blocks an address, by the rules of browsers."""

from __future__ import annotations

import pytest

from headwater.alerts.site_tests.content_policy import Wanted, blocking_directive

PAGE = "https://www.shop.example/cart"
SCRIPT = "https://hw.shop.example/assets/t.js"


def find_directive(*policies: str, url: str = SCRIPT, page: str = PAGE, nonce: str = "") -> str:
    return blocking_directive(policies, Wanted("script", url, page, nonce))


def test_it_works() -> None:
    policy = "default-src 'self'; script-src https://hw.shop.example; connect-src 'self'"
    assert find_directive(policy) == ""
    resource = Wanted("connect", "https://hw.shop.example/t", PAGE)
    assert blocking_directive([policy], resource) == "connect-src"
    assert find_directive() == ""


@pytest.mark.parametrize(
    ("policy", "directive"),
    [
        ("default-src 'none'", "default-src"),
        ("img-src 'none'", ""),
        ("script-src", "script-src"),
        ("Script-Src 'NONE'", "script-src"),
        ("script-src 'self'", "script-src"),
        ("script-src-elem 'none'; script-src *", "script-src-elem"),
        ("script-src *", ""),
        ("script-src https:", ""),
        ("script-src http:", ""),
        ("script-src hw.shop.example", ""),
        ("script-src *.shop.example", ""),
        ("script-src *.example.com", "script-src"),
        ("script-src shop.example", "script-src"),
        ("script-src https://hw.shop.example:443", ""),
        ("script-src https://hw.shop.example:*", ""),
        ("script-src https://hw.shop.example:8443", "script-src"),
        ("script-src https://hw.shop.example/assets/", ""),
        ("script-src https://hw.shop.example/Assets/T.js", ""),
        ("script-src https://hw.shop.example/other/", "script-src"),
        ("script-src 'unsafe-inline' 'unsafe-eval'", "script-src"),
        ("script-src 'strict-dynamic' https://hw.shop.example", "script-src"),
        ("script-src 'none'; script-src *", "script-src"),
        ("script-src https://hw.shop.example, default-src 'none'", "default-src"),
        (";;;", ""),
        ("script-src https://[", "script-src"),
        ("script-src " + "a " * 20_000, "script-src"),
    ],
)
def test_policies(policy: str, directive: str) -> None:
    assert find_directive(policy) == directive


def test_every_policy_counts() -> None:
    assert find_directive("script-src *", "script-src 'self'") == "script-src"


def test_a_nonce() -> None:
    policy = "script-src 'nonce-Abc' 'strict-dynamic'"
    assert find_directive(policy, nonce="Abc") == ""
    assert find_directive(policy, nonce="abc") == "script-src"
    assert find_directive(policy) == "script-src"


def test_the_page_s_own() -> None:
    own_url = "https://www.shop.example/hw/t.js"
    assert find_directive("script-src 'self'", url=own_url) == ""
    assert find_directive("script-src 'self'", url=own_url, page="http://www.shop.example/") == ""
    assert find_directive("script-src 'self'", url="https://www.shop.example:8443/t.js") == "script-src"
    assert find_directive("script-src 'self'", url="https://[bad/t.js") == "script-src"
