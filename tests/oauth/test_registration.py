"""POST /mcp/oauth/register: assistants that register themselves."""

from __future__ import annotations

import secrets
import time
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.assistants.oauth.clients import check_client_name, visible_name
from tests.conftest import Running
from tests.oauth.staging import LOOPBACK, REGISTER, Installation, new_address

REAL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "claude.ai": (
        {"client_name": "Claude", "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
         "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
         "token_endpoint_auth_method": "none", "scope": "mcp:use"},
        ["https://claude.ai/api/mcp/auth_callback"],
    ),
    "claude code": (
        {"client_name": "Claude Code", "redirect_uris": ["http://localhost:54212/callback"],
         "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
         "token_endpoint_auth_method": "none", "client_uri": None, "logo_uri": None},
        ["http://localhost:54212/callback"],
    ),
    "chatgpt": (
        {"client_name": "ChatGPT", "token_endpoint_auth_method": "none",
         "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect",
                           "https://chatgpt.com/connector/oauth/abc"]},
        ["https://chatgpt.com/connector_platform_oauth_redirect",
         "https://chatgpt.com/connector/oauth/abc"],
    ),
    "cursor": (
        {"client_name": "Cursor",
         "redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback",
                           "https://www.cursor.com/agents/mcp/oauth/callback",
                           "http://localhost:8787/callback"],
         "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
         "token_endpoint_auth_method": "none", "client_uri": "https://cursor.com"},
        ["cursor://anysphere.cursor-mcp/oauth/callback",
         "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"],
    ),
    "vs code": (
        {"client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com",
         "redirect_uris": ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect",
                           "http://127.0.0.1/", "http://127.0.0.1:33418/"],
         "token_endpoint_auth_method": "none", "application_type": "native"},
        ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect",
         "http://127.0.0.1/", "http://127.0.0.1:33418/"],
    ),
    "gemini cli": (
        {"client_name": "Gemini CLI MCP Client", "scope": "",
         "redirect_uris": ["http://localhost:7777/oauth/callback"],
         "token_endpoint_auth_method": "none"},
        ["http://localhost:7777/oauth/callback"],
    ),
    "mcp-remote": (
        {"client_name": "MCP CLI Proxy", "client_uri": "https://github.com/modelcontextprotocol",
         "redirect_uris": ["http://localhost:3334/oauth/callback"], "software_version": "0.15.1",
         "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d"},
        ["http://localhost:3334/oauth/callback"],
    ),
    "partly": (
        {"client_name": "Partly", "redirect_uris": ["https://evil.example/cb", LOOPBACK,
                                                    "javascript:alert(1)", LOOPBACK]},
        [LOOPBACK],
    ),
}  # fmt: skip


def check_refusal(answer: httpx.Response, error: str, status: int = 400) -> str:
    assert (answer.status_code, answer.json()["error"]) == (status, error), answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    return answer.json()["error_description"]


def test_it_works(installation: Installation) -> None:
    before = int(time.time())
    answer = installation.register(client_uri="https://test.example", jwks={"keys": []})
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    metadata = answer.json()
    client_id = metadata.pop("client_id")
    assert client_id.startswith("trk_client_")
    assert before - 1 <= metadata.pop("client_id_issued_at") <= time.time() + 1
    assert metadata == {
        "client_name": "Test",
        "redirect_uris": [LOOPBACK],
        "client_uri": "https://test.example",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "scope": "mcp:use",
        "registration_client_uri": f"{installation.base_url}{REGISTER}/{client_id}",
    }


@pytest.mark.parametrize(("client_metadata", "accepted_uris"), REAL.values(), ids=list(REAL))
def test_what_real_clients_send(
    installation: Installation, client_metadata: dict[str, Any], accepted_uris: list[str]
) -> None:
    answer = installation.register(client_metadata)
    assert answer.status_code == 201, answer.text
    metadata = answer.json()
    assert (metadata["client_name"], metadata["redirect_uris"]) == (
        client_metadata["client_name"],
        accepted_uris,
    )
    assert metadata["grant_types"] == ["authorization_code"]
    assert metadata["token_endpoint_auth_method"] == "none"
    assert not {"client_secret", "client_secret_expires_at"} & set(metadata)
    assert None not in metadata.values()


def test_what_was_told_can_be_asked_for_again(installation: Installation) -> None:
    metadata = installation.register().json()
    answer = installation.http.get(metadata["registration_client_uri"])
    assert (answer.status_code, answer.json()) == (200, metadata)
    assert answer.headers["cache-control"] == "no-store"
    unknown_answer = installation.http.get(f"{REGISTER}/trk_client_unknown")
    check_refusal(unknown_answer, "invalid_client", 401)
    assert installation.http.delete(metadata["registration_client_uri"]).status_code == 405


@pytest.mark.parametrize(
    "method", ["client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
)
def test_every_client_is_public(installation: Installation, method: str) -> None:
    answer = installation.register(token_endpoint_auth_method=method)
    assert answer.json()["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in answer.json()


def test_a_secret_is_refused(installation: Installation) -> None:
    check_refusal(installation.register(client_secret="x"), "invalid_client_metadata")


@pytest.mark.parametrize(
    "uris",
    [
        ["https://evil.example/cb"], ["javascript:alert(1)"], ["data:text/html,x"], [], "x", None,
        [1], [None], ["http://evil.example/"], [LOOPBACK + "#x"], ["https://claude.ai@evil.example/"],
        ["https://claude.ai.evil.example/"], ["https://claude.ai:8443/x"], [LOOPBACK] * 21,
    ],
)  # fmt: skip
def test_without_a_redirect_address(installation: Installation, uris: Any) -> None:
    check_refusal(installation.register(redirect_uris=uris), "invalid_redirect_uri")


@pytest.mark.parametrize(
    "name",
    [
        None, "", "   ", 7, ["x"], "x" * 121, "a\x00b", "a\x1fb", "a\x7fb",
        "a\nb", "\u200b\u200d", "Headwater", "headWATER helper", "The Headwater", "Head\u200bwater",
        "\uff28\uff45\uff41\uff44water", "my-headwater-app",
    ],
)  # fmt: skip
def test_names_that_are_refused(installation: Installation, name: Any) -> None:
    check_refusal(installation.register(client_name=name), "invalid_client_metadata")


@pytest.mark.parametrize(
    "name",
    [
        "x" * 120,
        "Headwaters",
        "Überheadwater",
        "日本語",
        "<b>&</b>",
        *(f"a{chr(code)}b" for code in range(0x80, 0xA0)),
        "a\u2028b",
    ],
)
def test_names_that_are_accepted(installation: Installation, name: str) -> None:
    assert installation.register(client_name=name).json()["client_name"] == name


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{", b'{"client_name":"\xff"}', b"[" * 5000, b'{"a":"\\u0000"}',
             b'{"client_name":"\\ud800"}'],
)  # fmt: skip
def test_other_bodies_are_refused(installation: Installation, body: bytes) -> None:
    headers = {"X-Forwarded-For": new_address(), "Content-Type": "application/json"}
    answer = installation.http.post(REGISTER, content=body, headers=headers)
    check_refusal(answer, "invalid_client_metadata")


def test_large_bodies_are_refused(installation: Installation) -> None:
    check_refusal(installation.register(client_uri="x" * 70_000), "invalid_request", 413)
    answer = installation.register(client_uri="x" * 3000, grant_types=[1], software_id={"a": 1})
    assert not {"client_uri", "software_id"} & set(answer.json())


def test_ten_an_hour_from_an_address(installation: Installation) -> None:
    address = new_address()
    answers = [installation.register(address=address) for _ in range(10)]
    assert {answer.status_code for answer in answers} == {201}
    answer = installation.register(address=address)
    assert "10 an hour" in check_refusal(answer, "temporarily_unavailable", 429)
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert installation.register().status_code == 201


def test_many_at_once_are_counted_too(installation: Installation) -> None:
    address = new_address()
    answers = installation.run_together([lambda: installation.register(address=address)] * 16)
    assert sorted(answer.status_code for answer in answers) == [201] * 10 + [429] * 6


def test_an_ipv6_network_is_one_address(installation: Installation) -> None:
    network = f"2a00:{secrets.token_hex(2)}:{secrets.token_hex(2)}:1"
    answers = [installation.register(address=f"{network}::{host}") for host in range(1, 12)]
    assert [answer.status_code for answer in answers] == [201] * 10 + [429]


def test_a_forged_address_does_not_help(plain_installation: Running, connection: psycopg.Connection) -> None:
    """Without a trusted proxy, the connection's address counts and headers are ignored."""
    connection.execute("DELETE FROM attempts")
    with httpx.Client(base_url=plain_installation.base_url) as http:
        statuses = [
            http.post(
                REGISTER,
                json={"client_name": "Test", "redirect_uris": [LOOPBACK]},
                headers={"X-Forwarded-For": new_address(), "X-Real-IP": new_address()},
            ).status_code
            for _ in range(11)
        ]
    assert statuses == [201] * 10 + [429]


@given(st.text(max_size=140))
def test_a_name_is_refused_or_shown_whole(text: str) -> None:
    try:
        name = check_client_name(text, "Headwater")
    except ValueError:
        return
    visible_text = visible_name(name)
    assert visible_text.strip()
    assert len(visible_text) <= 120
    assert all(letter.isprintable() or letter.isspace() or ord(letter) > 127 for letter in visible_text)


def test_marks_that_turn_text_around_are_not_shown() -> None:
    assert visible_name("abc\u202egpj.exe\u2066\u200f") == "abcgpj.exe"
