"""Where assistants find a Space, and how they are told."""

from __future__ import annotations

from typing import Any


def assistant_url(base_url: str, space_id: int) -> str:
    """The address of a Space for clients of MCP."""
    return f"{base_url.rstrip('/')}/mcp/{space_id}/public-api"


def configure_assistant(
    base_url: str, space_id: int, token: str | None = None, name: str = "headwater"
) -> dict[str, Any]:
    """The entry of an `mcpServers` file: with a personal `token`, or else by logging in."""
    server: dict[str, Any] = {"type": "http", "url": assistant_url(base_url, space_id)}
    if token:
        server["headers"] = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {name: server}}
