"""Clients identified by the URL of a metadata document, which is fetched carefully and cached."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from headwater.assistants.oauth.client_metadata import HostedClients, is_document_url
from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.registrations import PREFIX
from tests.egress.test_egress_addresses import REFUSED
from tests.oauth import internet as web
from tests.oauth.documents import document, fetch, new_url, refusal, run_with_clients, serve
from tests.oauth.internet import DOMAIN, PUBLIC, Internet, page
from tests.oauth.pages import read_text
from tests.oauth.staging import AUTHORIZE, LOOPBACK, Assistant, Installation, Person


def test_it_works(installation: Installation, person: Person, space_id: int) -> None:
    assistant = installation.host({"client_name": "Claude Code", "client_uri": "https://x.example"})
    consent_page = person.open_authorization(assistant.request())
    host = assistant.id.split("/")[2]
    text = read_text(consent_page.text)
    assert f"It calls itself Claude Code , and {host} vouches for that." in text
    assert "Any program on your device" in text
    answer = person.submit(consent_page, AUTHORIZE, decision="approve")
    assert answer.status_code == 303
    token = installation.token(person, assistant)
    assert installation.knock(space_id, token).status_code == 200
    assert installation.internet.requested_urls.count(assistant.id.removeprefix("https://")) == 1


def test_its_own_origin(installation: Installation, person: Person) -> None:
    assistant = installation.host()
    redirect_uri = assistant.id.removesuffix("client.json") + "cb?x=y"
    serve(installation.internet, assistant.id, page(document(assistant.id, redirect_uris=[redirect_uri])))
    assistant.redirect_uri = redirect_uri
    assert "Any program" not in read_text(person.open_authorization(assistant.request()).text)
    assert installation.token(person, assistant)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"client_id": "https://other.example/client.json"}, "not the document's own URL"),
        ({"client_id": None}, "not the document's own URL"),
        ({"client_name": None}, "client_name is required"),
        ({"client_name": "Headwater"}, "must not hold the name"),
        ({"client_name": "a\x01"}, "control characters"),
        ({"client_name": "x" * 121}, "120 characters"),
        ({"token_endpoint_auth_method": None}, "is not none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "is not none"),
        ({"token_endpoint_auth_method": "client_secret_basic"}, "is not none"),
        ({"client_secret": "x"}, "no secret"),
        ({"redirect_uris": None}, "redirect_uris must be"),
        ({"redirect_uris": []}, "redirect_uris must be"),
        ({"redirect_uris": LOOPBACK}, "redirect_uris must be"),
        ({"redirect_uris": [LOOPBACK, 1]}, "must hold strings"),
        ({"redirect_uris": [LOOPBACK, "https://evil.example/"]}, "evil.example/ must be on"),
        ({"redirect_uris": [LOOPBACK, "cursor://x/y"]}, "cursor://x/y must be on"),
        ({"redirect_uris": [LOOPBACK, "http://evil.example/"]}, "must be https"),
        ({"redirect_uris": [LOOPBACK, "javascript:alert(1)"]}, "must be on"),
        ({"redirect_uris": [LOOPBACK + "#x"]}, "fragment"),
        ({"redirect_uris": [LOOPBACK] * 21}, "At most 20"),
    ],
)
def test_what_a_document_must_say(internet: Internet, changes: dict[str, Any], message: str) -> None:
    url = new_url()
    serve(internet, url, page(document(url, **changes)))
    assert message in refusal(internet, url)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (page({}, 404), "answered 404"),
        (page({}, 403), "answered 403"),
        (page({}, 500), "answered 500"),
        (page({}, 201), "answered 201"),
        (page({}, 302, Location=f"https://elsewhere.{DOMAIN}/client.json"), "answered 302"),
        (page({}, kind="text/html"), "not JSON"),
        (page({}, kind="text/plain"), "not JSON"),
        (page({}, kind="application/jsonp"), "not JSON"),
        (page(b"<html>"), "not JSON"),
        (page(b"[]"), "not a JSON object"),
        (page(b"null"), "not a JSON object"),
        (page(b"\xff{}"), "not JSON"),
        (page(b"[" * 5000), "not JSON"),
        (page(b""), "not JSON"),
        (page(b" " * 5121), "larger than 5 KB"),
        (page(b" " * 200_000), "larger than 5 KB"),
        (web.chunked(6000), "larger than 5 KB"),
        (web.chunked(200_000), "larger than 5 KB"),
        (page(gzip.compress(b" " * 1_000_000), Content_Encoding="gzip"), "larger than 5 KB"),
        (page(b"{}", Content_Encoding="gzip"), "larger than 5 KB"),
        (lambda wire: wire.sendall(b"220 mail\r\n\r\n"), "did not answer in HTTP"),
        (lambda _: None, "in HTTP"),
    ],
)
def test_bad_documents_are_refused(internet: Internet, answer: web.Page, message: str) -> None:
    url = new_url()
    serve(internet, url, answer)
    dial_count = len(internet.dialled)
    assert message in refusal(internet, url)
    assert len(internet.dialled) == dial_count + 1  # no redirect is followed, and nothing is retried


def test_one_of_the_largest_size_and_a_packed_one(internet: Internet) -> None:
    for pack in (False, True):
        url = new_url()
        text = json.dumps(document(url)).encode()
        content = text + b" " * (5120 - len(text))
        packed_page = page(gzip.compress(content), Content_Encoding="gzip")
        serve(internet, url, packed_page if pack else page(content, kind="Application/JSON; charset=utf-8"))
        assert fetch(internet, url).name == "Hosted"


def test_all_of_it_within_the_time(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.assistants.oauth.client_metadata.DEADLINE_SECONDS", 0.3)
    url = new_url()
    serve(internet, url, web.endless_page)
    assert "did not answer in time" in refusal(internet, url)


@pytest.mark.parametrize(
    "url",
    [
        f"http://a.{DOMAIN}/client.json", f"https://a.{DOMAIN}", f"https://a.{DOMAIN}/",
        f"https://a.{DOMAIN}:22/client.json", f"https://a.{DOMAIN}:443/client.json",
        f"https://user@a.{DOMAIN}/client.json", f"https://user:pw@a.{DOMAIN}/client.json",
        f"https://a.{DOMAIN}/client.json#x", f"https://a.{DOMAIN}/../client.json",
        f"https://a.{DOMAIN}/./client.json", f"https://a.{DOMAIN}/%2e%2e/client.json",
        f"https://a.{DOMAIN}/client.json\n", f"https://A.{DOMAIN}/client.json",
        f"https://a.{DOMAIN}/" + "x" * 2000, f"ftp://a.{DOMAIN}/client.json", "https:///x",
        f"https://a.{DOMAIN}./client.json", f"https://ä.{DOMAIN}/client.json",
        f"https://a。{DOMAIN}/client.json", f"https://a.{DOMAIN}\\@b.{DOMAIN}/client.json",
        "cursor://x/y", "data:application/json,{}", "file:" + "///etc/passwd", "",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_document(installation: Installation, person: Person, url: str) -> None:
    """It is treated as the id of a registered client, which doesn't exist."""
    assert not is_document_url(url)
    dial_count = len(installation.internet.dialled)
    answer = person.open_authorization(Assistant(url).request())
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    assert len(installation.internet.dialled) == dial_count


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "0x7f000001", "017700000001", "127.1", "0",
     "localhost", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"],
)  # fmt: skip
def test_addresses_instead_of_names(internet: Internet, host: str) -> None:
    earlier_dials = list(internet.dialled)
    internet.names["localhost"] = [["127.0.0.1"]]
    refusal(internet, f"https://{host}/client.json")
    assert internet.dialled == earlier_dials


def test_names_with_inner_addresses(internet: Internet) -> None:
    """Every forbidden address, alone and after a good one: none of them is connected to."""
    earlier_dials = list(internet.dialled)
    addresses = [address for group in REFUSED.values() for address in group]

    async def ask_all(clients: HostedClients) -> list[BaseException | OAuthClient]:
        urls: list[str] = []
        for address in addresses:
            for answer in ([address], [PUBLIC, address]):
                urls.append(new_url())
                internet.names[urls[-1].split("/")[2]] = [answer]
        return await asyncio.gather(*map(clients.fetch, urls), return_exceptions=True)

    results = run_with_clients(internet, ask_all)
    assert len(results) == 2 * len(addresses) > 200
    assert all(
        isinstance(result, OAuthError) and "has an address" in result.description for result in results
    )
    assert internet.dialled == earlier_dials


def test_a_name_that_leads_elsewhere_the_second_time(internet: Internet) -> None:
    """The checked address is the one connected to. The name is resolved once."""
    url = new_url()
    serve(internet, url, page(document(url)))
    internet.names[url.split("/")[2]] = [[PUBLIC], ["127.0.0.1"]]
    dial_count = len(internet.dialled)
    assert fetch(internet, url).id == url
    assert internet.dialled[dial_count:] == [(PUBLIC, 443)]


def test_certificates(internet: Internet) -> None:
    url = new_url()
    serve(internet, url, page(document(url)))
    internet.untrusted.add("9.9.9.10")
    internet.names[url.split("/")[2]] = [["9.9.9.10"]]
    assert "certificate is not valid" in refusal(internet, url)
    other_url = "https://another.example/client.json"  # a name that the certificate doesn't cover
    serve(internet, other_url, page(document(other_url)))
    assert "certificate is not valid" in refusal(internet, other_url)


def test_a_failure_is_told_in_the_servers_words(installation: Installation, person: Person) -> None:
    assistant = installation.host()
    serve(installation.internet, assistant.id, page({}, 403))
    answer = person.open_authorization(assistant.request())
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    assert "its server answered 403" in read_text(answer.text)


def test_the_token_request_looks_again(installation: Installation, person: Person) -> None:
    """The client removed a redirect address, or its document no longer exists."""
    assistant = installation.host(Cache_Control="no-store")
    code = installation.code(person, assistant)
    other_document = document(assistant.id, redirect_uris=["http://127.0.0.1/other"])
    serve(installation.internet, assistant.id, page(other_document, Cache_Control="no-store"))
    answer = installation.exchange(assistant, code)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assistant = installation.host(Cache_Control="no-store")
    code = installation.code(person, assistant)
    serve(installation.internet, assistant.id, page({}, 404))
    answer = installation.exchange(assistant, code)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_a_stranger_cannot_have_a_document_fetched(installation: Installation, person: Person) -> None:
    """The token endpoint has no login, so only a request with a code of the client triggers a fetch."""
    target = installation.host()
    dial_count = len(installation.internet.dialled)
    answer = installation.exchange(target, "trk_code_x")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assistant = installation.assistant()
    code = installation.code(person, assistant)
    answer = installation.exchange(target, code)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert len(installation.internet.dialled) == dial_count
    answer = installation.exchange(assistant, code)
    assert answer.json()["error"] == "invalid_grant"  # the failed attempt used up the code


def test_ports_of_this_machine_are_free(installation: Installation, person: Person) -> None:
    """On the loopback interface, only the port may differ from the document's address."""
    assistant = installation.host({"redirect_uris": ["http://127.0.0.1/callback"]})
    assistant.redirect_uri = "http://127.0.0.1:50123/callback"
    assert installation.token(person, assistant)
    assistant.redirect_uri = "http://localhost:50123/callback"
    assert person.open_authorization(assistant.request()).status_code == 400


def test_an_id_is_of_one_kind() -> None:
    assert not is_document_url(PREFIX + "x")
    assert not PREFIX.startswith("https://")
