"""The metadata that clients discover, at every form of its address and with any headers."""

from __future__ import annotations

import httpx
import pytest

from tests.conftest import Running
from tests.oauth.staging import Installation

SERVER = ("oauth-authorization-server", "openid-configuration")
RESOURCE = "oauth-protected-resource"


def test_it_works(installation: Installation, space_id: int) -> None:
    base = installation.base_url
    answer = installation.http.get("/.well-known/oauth-authorization-server")
    assert answer.json() == {
        "issuer": base,
        "authorization_endpoint": f"{base}/mcp/oauth/authorize",
        "token_endpoint": f"{base}/mcp/oauth/token",
        "registration_endpoint": f"{base}/mcp/oauth/register",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["mcp:use"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
    resource = f"{base}/mcp/{space_id}/public-api"
    answer = installation.http.get(f"/.well-known/{RESOURCE}/mcp/{space_id}/public-api")
    assert answer.json() == {
        "resource": resource,
        "resource_name": "Headwater MCP",
        "authorization_servers": [base],
        "scopes_supported": ["mcp:use"],
        "bearer_methods_supported": ["header"],
    }
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("name", SERVER)
def test_every_form_tells_the_same(installation: Installation, space_id: int, name: str) -> None:
    paths = [
        f"/.well-known/{name}", f"/.well-known/{name}/", f"/.well-known/{name}/mcp/oauth",
        f"/mcp/oauth/.well-known/{name}", f"/.well-known/{name}/mcp/{space_id}/public-api",
        f"/mcp/{space_id}/public-api/.well-known/{name}",
    ]  # fmt: skip
    answers = [installation.http.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_both_forms_of_a_resource(installation: Installation, space_id: int) -> None:
    path = f"/mcp/{space_id}/public-api"
    first = installation.http.get(f"/.well-known/{RESOURCE}{path}")
    second = installation.http.get(f"{path}/.well-known/{RESOURCE}")
    assert first.content == second.content


def test_nothing_tells_whether_a_space_exists(installation: Installation, space_id: int) -> None:
    def read_metadata(number: int) -> str:
        path = f"/.well-known/{RESOURCE}/mcp/{number}/public-api"
        answer = installation.http.get(path)
        assert answer.status_code == 200
        return answer.text.replace(f"/{number}/", "/N/")

    assert read_metadata(space_id) == read_metadata(987_654_321)


@pytest.mark.parametrize(
    "path",
    [
        f"/.well-known/{RESOURCE}", f"/.well-known/{RESOURCE}/",
        f"/.well-known/{RESOURCE}/mcp/oauth",
        f"/.well-known/{RESOURCE}/mcp/0/public-api", f"/.well-known/{RESOURCE}/mcp/01/public-api",
        f"/.well-known/{RESOURCE}/mcp/-1/public-api", f"/.well-known/{RESOURCE}/mcp/1/public-api/",
        f"/.well-known/{RESOURCE}/mcp/{10**18}/public-api",
        "/.well-known/oauth-authorization-server/elsewhere", "/.well-known/other",
        "/x/.well-known/openid-configuration",
    ],
)  # fmt: skip
def test_anything_else_is_not_found(installation: Installation, path: str) -> None:
    answer = installation.http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
    assert "message" in answer.json()


def test_the_host_header_changes_nothing(installation: Installation, space_id: int) -> None:
    for path in (
        "/.well-known/oauth-authorization-server",
        f"/.well-known/{RESOURCE}/mcp/{space_id}/public-api",
    ):
        plain = installation.http.get(path)
        spoofed_answer = installation.http.get(
            path,
            headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example",
                     "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"},
        )  # fmt: skip
        assert spoofed_answer.content == plain.content


def test_any_page_may_read_it(installation: Installation) -> None:
    headers = {"Origin": "https://inspector.example", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "mcp-protocol-version"}  # fmt: skip
    for path in (
        "/.well-known/oauth-authorization-server", f"/.well-known/{RESOURCE}/mcp/1/public-api",
        "/mcp/oauth/token", "/mcp/oauth/register",
    ):  # fmt: skip
        answer = installation.http.options(path, headers=headers)
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert "mcp-protocol-version" in answer.headers["access-control-allow-headers"].lower()


def test_the_resource_points_here(installation: Installation, space_id: int) -> None:
    answer = installation.knock(space_id, None)
    assert answer.status_code == 401
    url = f"{installation.base_url}/.well-known/{RESOURCE}/mcp/{space_id}/public-api"
    challenge = answer.headers["www-authenticate"]
    assert f'resource_metadata="{url}"' in challenge
    assert "error=" not in challenge
    assert 'error="invalid_token"' in installation.knock(space_id, "x").headers["www-authenticate"]


def test_without_hosted_documents_clients_are_told_so(plain_installation: Running) -> None:
    metadata = httpx.get(f"{plain_installation.base_url}/.well-known/oauth-authorization-server").json()
    assert metadata["client_id_metadata_document_supported"] is False
    assert metadata["issuer"] == "https://headwater.example"
    assert metadata["token_endpoint"] == "https://headwater.example/mcp/oauth/token"
