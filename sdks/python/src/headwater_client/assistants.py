"""Configure AI assistants for a Space."""

from __future__ import annotations

from typing import Any


def assistant_url(base_url: str, space_id: int) -> str:
    """Return the MCP address of a Space."""
    return f"{base_url.rstrip('/')}/mcp/{space_id}/public-api"


def configure_assistant(
    base_url: str, space_id: int, token: str | None = None, name: str = "headwater"
) -> dict[str, Any]:
    """Return an `mcpServers` configuration: with a personal `token`, otherwise with login."""
    server: dict[str, Any] = {"type": "http", "url": assistant_url(base_url, space_id)}
    if token:
        server["headers"] = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {name: server}}
