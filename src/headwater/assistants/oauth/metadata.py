"""Metadata that clients discover: the authorization server (RFC 8414) and each Space's protected resource
(RFC 9728).

Everything is built from the base URL, so issuer, `iss` and resource agree byte for byte for any Host header.
It doesn't reveal whether a Space exists.
"""

from __future__ import annotations

import re
from typing import Any

SCOPE = "mcp:use"
READ_SCOPE = "mcp:read"
"""A viewer's permissions, also for an owner or admin. Not advertised: `mcp:use` is the only public scope."""

AUTHORIZE = "/mcp/oauth/authorize"
TOKEN = "/mcp/oauth/token"  # noqa: S105 - a path
REGISTER = "/mcp/oauth/register"

_SPACE_PATH = re.compile(r"/mcp/([1-9][0-9]{0,17})/public-api", re.ASCII)


def resource_path(space_id: int) -> str:
    return f"/mcp/{space_id}/public-api"


def resource_url(base_url: str, space_id: int) -> str:
    """Return the URL that clients send in `resource`."""
    return base_url + resource_path(space_id)


def parse_resource_path(path: str) -> int | None:
    match = _SPACE_PATH.fullmatch(path)
    return int(match[1]) if match else None


def parse_resource_url(base_url: str, resource: str) -> int | None:
    """Return None if the resource isn't ours."""
    return parse_resource_path(resource.removeprefix(base_url)) if resource.startswith(base_url) else None


def server_metadata(base_url: str, *, hosted_documents: bool) -> dict[str, Any]:
    """Allow clients identified by a metadata document's URL if `hosted_documents`."""
    return {
        "issuer": base_url,
        "authorization_endpoint": base_url + AUTHORIZE,
        "token_endpoint": base_url + TOKEN,
        "registration_endpoint": base_url + REGISTER,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": [SCOPE],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": hosted_documents,
    }


def resource_metadata(base_url: str, brand: str, space_id: int) -> dict[str, Any]:
    """Describe the resource whether or not the Space exists."""
    return {
        "resource": resource_url(base_url, space_id),
        "resource_name": f"{brand} MCP",
        "authorization_servers": [base_url],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }
