"""GET /mcp/oauth/authorize: what is trusted, what the client is told, and who is asked for consent."""

from __future__ import annotations

import socket
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.assistants.oauth.requests import ReplyTarget
from tests.oauth.pages import read_form_to, read_text
from tests.oauth.staging import AUTHORIZE, LOOPBACK, Assistant, Installation, Person, make_query


def check_error_page(answer: httpx.Response) -> str:
    """Check that the person gets an error page and the client gets nothing. Return its text."""
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert "http-equiv" not in answer.text
    return read_text(answer.text)


def check_refusal(installation: Installation, answer: httpx.Response, error: str) -> dict[str, str]:
    """Check that the client gets this error. Return its parameters."""
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith(LOOPBACK + "?")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    parameters = make_query(answer.headers["location"])
    assert (parameters["error"], parameters["iss"]) == (error, installation.base_url)
    assert "code" not in parameters
    return parameters


def test_it_works(installation: Installation, person: Person, assistant: Assistant, space_id: int) -> None:
    page = person.open_authorization(assistant.request())
    assert page.status_code == 200
    answer = person.submit(page, AUTHORIZE, decision="approve")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(LOOPBACK + "?code=trk_code_")
    parameters = make_query(answer.headers["location"])
    assert set(parameters) == {"code", "state", "iss"}
    assert (parameters["state"], parameters["iss"]) == ("st", installation.base_url)
    code = parameters["code"].removeprefix("trk_code_")
    assert len(code) == 43
    token = installation.exchange(assistant, parameters["code"]).json()["access_token"]
    assert installation.knock(space_id, token).status_code == 200


def test_who_is_not_logged_in_logs_in_first(
    installation: Installation, assistant: Assistant, space_id: int
) -> None:
    person = installation.person(space_id, logged_in=False)
    query = urlencode(assistant.request(state="a b&c=ä"))
    redirect = person.open_authorization(query)
    assert redirect.status_code == 303
    address = f"{AUTHORIZE}?{query}"
    assert redirect.headers["location"] == f"/login?next={quote(address, safe='/')}"
    answer = person.log_in(address)
    assert answer.headers["location"] == address
    page = person.browser.get(answer.headers["location"])
    answer = person.submit(page, AUTHORIZE, decision="approve")
    assert make_query(answer.headers["location"])["state"] == "a b&c=ä"


def test_nothing_is_fetched_or_sent_on_for_strangers(installation: Installation) -> None:
    client = installation.host()
    stranger = httpx.Client(base_url=installation.base_url)
    for changes in ({}, {"response_type": "token"}, {"redirect_uri": "https://evil.example/"}):
        answer = stranger.get(AUTHORIZE, params=client.request(**changes))
        assert answer.headers["location"].startswith("/login?next=")
    stranger.close()
    assert client.id.removeprefix("https://") not in installation.internet.requested_urls


def test_who_would_log_in_for_nothing_is_told_at_once(
    installation: Installation, assistant: Assistant, space_id: int
) -> None:
    hosted_assistant = installation.host()
    installation.person(space_id).open_authorization(hosted_assistant.request())  # its document is cached now
    with httpx.Client(base_url=installation.base_url) as stranger:
        for method in ("GET", "POST"):
            for client, changes, words in (
                (assistant, {"client_id": "trk_client_unknown"}, "is unknown"),
                (assistant, {"client_id": None}, "client_id"),
                (assistant, {"redirect_uri": "https://evil.example/"}, "redirect_uri"),
                (hosted_assistant, {"redirect_uri": "https://evil.example/"}, "redirect_uri"),
            ):
                answer = stranger.request(method, AUTHORIZE, params=client.request(**changes))
                assert words in check_error_page(answer)
            answer = stranger.request(method, AUTHORIZE, params=assistant.request(response_type="no"))
            assert answer.headers["location"].startswith(("/login?next=", AUTHORIZE))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"client_id": None}, "client_id"),
        ({"client_id": ""}, "client_id"),
        ({"client_id": "trk_client_unknown"}, "is unknown"),
        ({"client_id": "x" * 3000}, "is unknown"),
        ({"client_id": "a\0b"}, "NUL"),
        ({"redirect_uri": None}, "redirect_uri"),
        ({"redirect_uri": ""}, "redirect_uri"),
        ({"redirect_uri": "https://evil.example/"}, "redirect_uri"),
        ({"redirect_uri": LOOPBACK + "/"}, "redirect_uri"),
        ({"redirect_uri": "javascript:alert(1)"}, "redirect_uri"),
        ({"state": "x" * 9000}, "longer than 8 KB"),
    ],
)
def test_what_cannot_be_believed(
    person: Person, assistant: Assistant, changes: dict[str, str | None], message: str
) -> None:
    assert message in check_error_page(person.open_authorization(assistant.request(**changes)))


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_who_asks_is_said_once(person: Person, assistant: Assistant, name: str) -> None:
    request = assistant.request()
    query = urlencode([*request.items(), (name, request[name])])
    assert name in check_error_page(person.open_authorization(query))


@pytest.mark.parametrize(
    "query", ["%ff=1", "a=%80", "&".join(f"a{n}=1" for n in range(60)), "", "client_id=%00"]
)
def test_an_address_that_cannot_be_read(person: Person, query: str) -> None:
    check_error_page(person.open_authorization(query))


def test_bytes_that_no_address_has(installation: Installation, person: Person) -> None:
    host, port = installation.base_url.removeprefix("http://").split(":")
    cookie = person.browser.cookies["headwater_session"].encode()
    with socket.create_connection((host, int(port)), 5) as wire:
        wire.sendall(
            b"GET /mcp/oauth/authorize?client_id=\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Cookie: headwater_session=" + cookie + b"\r\n\r\n"
        )
        assert wire.recv(65536).split(b" ")[1] == b"400"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "a" * 42}, "invalid_request"),
        ({"code_challenge": "a" * 44}, "invalid_request"),
        ({"code_challenge": "a" * 42 + "="}, "invalid_request"),
        ({"code_challenge": "a" * 42 + "+"}, "invalid_request"),
        ({"code_challenge": "a" * 42 + "\n"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"scope": "offline_access"}, "invalid_scope"),
        ({"scope": "mcp:use2"}, "invalid_scope"),
        ({"scope": "MCP:USE"}, "invalid_scope"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"response_mode": "form_post"}, "invalid_request"),
        ({"request": "eyJ"}, "invalid_request"),
        ({"request_uri": "https://evil.example/"}, "invalid_request"),
        ({"resource": "https://other.example/mcp/1/public-api"}, "invalid_target"),
        ({"resource": "x"}, "invalid_target"),
    ],
)
def test_what_is_told_to_the_client(
    installation: Installation, person: Person, assistant: Assistant,
    changes: dict[str, str | None], error: str,
) -> None:  # fmt: skip
    parameters = check_refusal(installation, person.open_authorization(assistant.request(**changes)), error)
    assert parameters["state"] == "st"
    assert parameters["error_description"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("state", "invalid_request"), ("scope", "invalid_request"), ("resource", "invalid_target"),
     ("code_challenge", "invalid_request"), ("nonsense", "invalid_request"),
     ('"ä\\\n', "invalid_request")],
)  # fmt: skip
def test_nothing_is_given_twice(
    installation: Installation, person: Person, assistant: Assistant, name: str, error: str
) -> None:
    request = {name: "x"} | assistant.request()
    query = urlencode([*request.items(), (name, "x")])
    parameters = check_refusal(installation, person.open_authorization(query), error)
    assert ("state" in parameters) == (name != "state")
    assert set(parameters["error_description"]) <= {*map(chr, range(32, 127))} - {'"', "\\"}


def test_resources_of_this_installation(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    base = f"{installation.base_url}/mcp/{space_id}/public-api"
    for resource in (
        base + "/", base + "#x", base + "?x", installation.base_url, base.replace("http", "HTTP"),
        base.replace("public-api", "public-api/.."), f"{installation.base_url}/mcp/0/public-api",
        f"{installation.base_url}@evil.example/mcp/{space_id}/public-api",
        f"{installation.base_url}.evil.example/mcp/{space_id}/public-api",
    ):  # fmt: skip
        check_refusal(
            installation, person.open_authorization(assistant.request(resource=resource)), "invalid_target"
        )
    assert person.open_authorization(assistant.request(resource=base)).status_code == 200


@pytest.mark.parametrize("scope", [None, "", "mcp:use", "mcp:use offline_access", "a mcp:use b"])
def test_scopes_that_lead_to_the_one(
    installation: Installation, person: Person, assistant: Assistant, scope: str | None
) -> None:
    code = installation.code(person, assistant, scope=scope)
    assert installation.exchange(assistant, code).json()["scope"] == "mcp:use"


@pytest.mark.parametrize("state", ["ä😀 &=#%+?/\"'<>", "x" * 2048, "0", "a\tb", "%41"])
def test_the_state_comes_back(person: Person, assistant: Assistant, state: str) -> None:
    for decision in ("approve", "deny"):
        answer = person.answer(assistant.request(state=state), decision)
        assert make_query(answer.headers["location"])["state"] == state


@pytest.mark.parametrize("state", [None, ""])
def test_no_state_stays_away(person: Person, assistant: Assistant, state: str | None) -> None:
    parameters = make_query(person.answer(assistant.request(state=state)).headers["location"])
    assert set(parameters) == {"code", "iss"}


def test_a_redirect_address_keeps_its_query(installation: Installation, person: Person) -> None:
    uri = "http://localhost:7/cb?a=b&c"
    assistant = installation.assistant(uri)
    answer = person.answer(assistant.request())
    assert answer.headers["location"].startswith(uri + "&code=")


def test_an_application_is_redirected_to(installation: Installation, person: Person) -> None:
    for uri in ("cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:///cb"):
        assistant = installation.assistant(uri)
        answer = person.answer(assistant.request())
        assert answer.headers["location"].startswith(uri + "?code=trk_code_")


def test_no_other_parameter_leads_anywhere(person: Person, assistant: Assistant) -> None:
    evil = dict.fromkeys(("next", "url", "return_to", "post_logout"), "https://evil.example/")
    page = person.open_authorization(assistant.request() | evil)
    answer = person.submit(page, AUTHORIZE, decision="approve", next="https://evil.example/")
    assert answer.headers["location"].startswith(LOOPBACK)
    for path in ("//evil.example", "/\\evil.example", "https://evil.example", "/%5c/evil.example"):
        location = person.browser.get("/login", params={"next": path}).headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))


def test_the_host_header_changes_nothing(
    installation: Installation, person: Person, assistant: Assistant
) -> None:
    person.browser.headers["X-Forwarded-Host"] = "evil.example"
    for decision in ("approve", "deny"):
        form = read_form_to(person.open_authorization(assistant.request()).text, AUTHORIZE)
        answer = person.browser.post(
            form.action, data=form.fields | {"decision": decision}, headers={"Host": "evil.example"}
        )
        assert make_query(answer.headers["location"])["iss"] == installation.base_url
    answer = person.open_authorization(assistant.request(scope="x"))
    assert make_query(answer.headers["location"])["iss"] == installation.base_url


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods(person: Person, assistant: Assistant, method: str) -> None:
    answer = person.browser.request(method, AUTHORIZE, params=assistant.request())
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_other_pages_may_not_read_it(person: Person, assistant: Assistant) -> None:
    headers = {"Origin": "https://evil.example"}
    answer = person.browser.get(AUTHORIZE, params=assistant.request(), headers=headers)
    assert not [name for name in answer.headers if name.startswith("access-control")]


@given(state=st.text(min_size=1, max_size=100), code=st.text("abc_-", min_size=1))
def test_an_answer_says_what_it_was_given(state: str, code: str) -> None:
    for uri in ("http://127.0.0.1/", "http://127.0.0.1", "cursor://x/y", "https://claude.ai/?a=b"):
        parameters = make_query(ReplyTarget(uri, state, "https://issuer.example").success(code))
        assert (parameters["state"], parameters["code"]) == (state, code)
        assert parameters["iss"] == "https://issuer.example"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=200))
def test_any_query_has_an_answer(person: Person, query: bytes) -> None:
    answer = person.browser.get(f"{AUTHORIZE}?{quote(query, safe='=&%+')}")
    assert answer.status_code == 400
