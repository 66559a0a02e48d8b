"""Client metadata documents, and fetching them without a running application."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headwater.assistants.oauth.client_metadata import HostedClients
from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.errors import OAuthError
from tests.oauth.internet import DOMAIN, Internet, Page
from tests.oauth.staging import LOOPBACK


def new_url(path: str = "/client.json") -> str:
    return f"https://d{secrets.token_hex(6)}.{DOMAIN}{path}"


def document(url: str, **changes: Any) -> dict[str, Any]:
    """Return a valid document with these changes; None leaves a member out."""
    fields = {
        "client_id": url, "client_name": "Hosted", "redirect_uris": [LOOPBACK],
        "token_endpoint_auth_method": "none",
    } | changes  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}


def run_with_clients(internet: Internet, work: Callable[[HostedClients], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        egress = internet.egress()
        try:
            return await work(HostedClients(egress, "Headwater"))
        finally:
            await egress.close()

    return asyncio.run(run())


def fetch(internet: Internet, url: str) -> OAuthClient:
    return run_with_clients(internet, lambda clients: clients.fetch(url))


def refusal(internet: Internet, url: str) -> str:
    with pytest.raises(OAuthError) as error_info:
        fetch(internet, url)
    assert error_info.value.error == "invalid_client"
    return error_info.value.description


def serve(internet: Internet, url: str, answer: Page) -> None:
    internet.pages[url.removeprefix("https://")] = answer
