"""Redirect addresses: what can be registered, and what matches a registered address."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.redirects import (
    APPLICATION_SCHEMES,
    Redirect,
    RedirectRefusal,
    find_registered,
    read_redirect,
    refuse_hosted,
    refuse_registered,
)
from headwater.base.settings import Settings
from tests.oauth.staging import Installation, Person

HOSTS = Settings().assistant_hosts


def refusal(uri: str) -> RedirectRefusal | None:
    redirect = read_redirect(uri)
    return redirect if isinstance(redirect, RedirectRefusal) else refuse_registered(redirect, HOSTS)


def test_it_works() -> None:
    assert refusal("https://claude.ai/api/mcp/auth_callback") is None
    assert find_registered(["http://127.0.0.1/cb"], "http://127.0.0.1:5555/cb") is not None
    assert find_registered(["https://claude.ai/cb"], "https://claude.ai/cb2") is None


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1/", "http://127.0.0.1", "http://127.0.0.1:1/cb", "http://localhost:65535/a/b",
        "http://[::1]:9/cb", "http://[::1]/", "https://claude.ai/x", "https://claude.ai:443/x",
        "https://vscode.dev/redirect?a=b", "cursor://anysphere.cursor-mcp/oauth/callback",
        "com.example.app:/cb", "com.example.my-app://cb", "vscode://publisher.extension/cb",
        "http://localhost/cb?x=%C3%A4",
    ],
)  # fmt: skip
def test_valid_redirects_can_be_registered(uri: str) -> None:
    assert refusal(uri) is None


REFUSED = {
    RedirectRefusal.MALFORMED: [
        "", "x", "/cb", "//claude.ai/cb", "HTTPS://claude.ai/cb", "Https://claude.ai/",
        "https://claude.ai/a b", "https://claude.ai/\t", " https://claude.ai/", "https://claude.ai/\n",
        "https:\\\\claude.ai\\cb", "https://claude.ai\\@evil.example/", "https://claude.ai/../cb",
        "https://claude.ai/./cb", "https://claude.ai/a/..", "https://claude.ai/%2e%2e/cb",
        "https://claude.ai/a%2Fb", "https://claude.ai/a%5Cb", "https://claude.ai/%00",
        "https://claude.ai/%0d%0aX", "https://claude.ai/%7f", "https://claude.ai/%zz",
        "https://claude.ai/<script>", 'https://claude.ai/"', "https://cläude.ai/",
        "https://claude。ai/", "https://claude.ai/\u202e", "https://claude.ai/\x00",
        "JavaScript:alert(1)", "java\tscript:alert(1)", "https://[::1/cb",
        "https://claude.ai/" + "a" * 2000,
        "1a:b", "-x:b",
    ],
    RedirectRefusal.FRAGMENT: [
        "https://claude.ai/cb#", "https://claude.ai/cb#x", "http://127.0.0.1/#x", "cursor://x#y",
    ],
    RedirectRefusal.USERINFO: [
        "https://claude.ai@evil.example/", "https://user:pw@claude.ai/", "http://127.0.0.1@evil.example/",
        "http://localhost:80@evil.example/", "https://@claude.ai/", "cursor://a@b/",
    ],
    RedirectRefusal.BAD_HOST: [
        "https:///cb", "https:cb", "https://claude.ai./cb", "https://.claude.ai/", "https://CLAUDE.AI/",
        "https://claude..ai/", "https://claude%61i.example/", "https://cl*ude.ai/", "https://[::2]/",
        "https://[::ffff:127.0.0.1]/", "http://localhost./", "https://claude_ai/", "https://;claude.ai/",
        "https://[::1]x/",
    ],
    RedirectRefusal.BAD_PORT: [
        "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:/", "http://127.0.0.1:08/",
        "http://127.0.0.1:1a/", "http://127.0.0.1:-1/", "http://[::1]:/", "http://127.0.0.1:999999/",
        "http://127.0.0.1:80:80/",
    ],
    RedirectRefusal.PLAIN_HTTP: [
        "http://claude.ai/", "http://127.0.0.2/", "http://127.1/", "http://2130706433/", "http://0.0.0.0/",
        "http://0x7f.1/", "http://localhost.evil.example/", "http://127.0.0.1.evil.example/",
        "http://169.254.169.254/", "http://192.168.0.1/",
    ],
    RedirectRefusal.UNKNOWN_HOST: [
        "https://evil.example/", "https://claude.ai.evil.example/", "https://xclaude.ai/",
        "https://sub.claude.ai/", "https://claude.ai:8443/", "https://127.0.0.1/", "https://localhost/",
        "https://claude.ai:80/",
    ],
    RedirectRefusal.UNKNOWN_SCHEME: [
        "javascript:alert(1)", "data:text/html,x", "file:" + "///etc/passwd", "ftp://claude.ai/",
        "blob:x", "vbscript:x", "about:blank", "ws://127.0.0.1/", "mailto:a", "intent://x", "myapp://cb",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "uri"), [(reason, uri) for reason, uris in REFUSED.items() for uri in uris]
)
def test_bad_redirects_are_refused(reason: RedirectRefusal, uri: str) -> None:
    assert refusal(uri) is reason


@pytest.mark.parametrize(
    ("registered", "requested", "matches"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:80/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", True),
        ("http://localhost:8787/callback", "http://localhost/callback", True),
        ("http://[::1]:1/cb", "http://[::1]:2/cb", True),
        ("http://127.0.0.1/cb?a=b", "http://127.0.0.1:9/cb?a=b", True),
        ("http://127.0.0.1/cb", "http://localhost/cb", False),
        ("http://127.0.0.1/cb", "http://[::1]/cb", False),
        ("http://127.0.0.1/cb", "https://127.0.0.1/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb/", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/CB", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb?", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb?a=b", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb#", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:65536/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1@evil.example/cb", False),
        ("http://127.0.0.1/", "http://127.0.0.1", False),
        ("https://claude.ai/cb", "https://claude.ai/cb", True),
        ("https://claude.ai/cb", "https://claude.ai:443/cb", False),
        ("https://claude.ai/cb", "https://claude.ai:444/cb", False),
        ("https://claude.ai/cb", "https://CLAUDE.ai/cb", False),
        ("https://claude.ai/cb", "https://claude.ai/cb/", False),
        ("https://claude.ai/cb", "https://claude.ai/cb?x", False),
        ("https://claude.ai/cb", "https://claude.ai/x/../cb", False),
        ("https://claude.ai/cb", "https://claude.ai/%63b", False),
        ("https://claude.ai/cb", "https://claude.ai./cb", False),
        ("https://claude.ai/cb", "https://user@claude.ai/cb", False),
        ("https://claude.ai/cb", "https:\\\\claude.ai/cb", False),
        ("https://claude.ai/cb", "https://clаude.ai/cb", False),  # noqa: RUF001 - that is the point
        ("https://claude.ai/cb", "https://xn--clude-7ve.ai/cb", False),
        ("cursor://a/cb", "cursor://a/cb", True),
        ("cursor://a/cb", "cursor://a:1/cb", False),
        ("cursor://a/cb", "CURSOR://a/cb", False),
    ],
)
def test_registered_redirects_match(
    installation: Installation, person: Person, registered: str, requested: str, *, matches: bool
) -> None:
    assert (find_registered([registered], requested) is not None) == matches
    client = installation.assistant(registered)
    answer = person.open_authorization(client.request(redirect_uri=requested))
    assert answer.status_code == (200 if matches else 400)
    assert "location" not in answer.headers
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_hosted_client_has_its_own_origin() -> None:
    client_redirect = read_redirect("https://client.example/id.json")
    assert isinstance(client_redirect, Redirect)

    def find_refusal(uri: str) -> RedirectRefusal | None:
        redirect = read_redirect(uri)
        return redirect if isinstance(redirect, RedirectRefusal) else refuse_hosted(redirect, client_redirect)

    for uri in ("https://client.example/cb", "https://client.example:443/cb", "http://[::1]:7/cb"):
        assert find_refusal(uri) is None
    for uri in (
        "https://www.client.example/cb", "https://client.example:8443/cb", "cursor://x/cb",
        "com.example.client:/cb", "https://claude.ai/cb", "https://localhost/cb",
    ):  # fmt: skip
        assert find_refusal(uri) is RedirectRefusal.OTHER_ORIGIN
    assert find_refusal("http://client.example/cb") is RedirectRefusal.PLAIN_HTTP


def test_where_it_leads_is_told() -> None:
    def redirect_texts(uri: str) -> tuple[str, str]:
        redirect = read_redirect(uri)
        assert isinstance(redirect, Redirect)
        return redirect.label, redirect.form_target

    assert redirect_texts("http://127.0.0.1:7/cb") == ("127.0.0.1", "http://127.0.0.1:7")
    assert redirect_texts("https://claude.ai/cb?x") == ("claude.ai", "https://claude.ai")
    assert redirect_texts("http://[::1]:7/cb") == ("[::1]", "http:")
    assert redirect_texts("cursor://any/cb") == ("cursor:", "cursor:")


def test_only_applications_have_schemes_of_their_own() -> None:
    dangerous = {"javascript", "data", "file", "http", "https", "blob", "vbscript", "about"}
    assert not dangerous & APPLICATION_SCHEMES


_letters = st.characters(codec="utf-8")


@given(st.text(_letters, max_size=60), st.sampled_from(["", "https://claude.ai", "http://127.0.0.1"]))
def test_what_is_accepted_is_read_one_way(text: str, start: str) -> None:
    """A library that normalizes URLs and one that doesn't find the same host, scheme and path."""
    redirect = read_redirect(start + text)
    if isinstance(redirect, RedirectRefusal) or refuse_registered(redirect, HOSTS) is not None:
        return
    assert redirect.text == start + text
    parts = urlsplit(redirect.text)
    assert parts.geturl() == redirect.text or "?" in redirect.text
    assert parts.username is None
    if redirect.scheme in ("http", "https"):
        assert parts.hostname in (*HOSTS, "127.0.0.1", "localhost", "::1")


@given(st.text(_letters, max_size=40))
def test_a_client_finds_only_its_own(text: str) -> None:
    client = OAuthClient("c", "n", ("https://claude.ai/cb",))
    for address in (text, "https://claude.ai/cb" + text, "https://claude.ai" + text):
        redirect = client.find_redirect(address)
        assert (redirect is not None) == (address == "https://claude.ai/cb")
