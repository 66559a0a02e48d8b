"""Readers of identity providers' messages, and of messages that anyone sends in their name."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from joserfc.jwk import KeySet

from headwater.console.logout import read_logout_token
from headwater.spaces.sso.documents import _is_plain_url, read_key_document, read_metadata
from headwater.spaces.sso.id_tokens import LONGEST_TOKEN, ExpectedClaims, check_id_token, check_logout_token
from headwater.spaces.sso.identities import read_account
from headwater.spaces.sso.providers import ProviderSettings
from headwater.spaces.sso.sign_in import open_pending
from tests.hostile.growth import Door

KB = 1024
DOCUMENT, HEADERS = 64 * KB, 32 * KB
ISSUER = "https://id.example"
EXPECTED = ExpectedClaims(ISSUER, "client", 1_800_000_000.0)
SETTINGS = ProviderSettings("Acme", ("acme.example",), required={"hd": "acme.example"})
_NO_KEYS: Any = KeySet([])


def _token(text: str) -> None:
    check_id_token(text, _NO_KEYS, EXPECTED, "nonce", "at")


def _account(text: str) -> None:
    read_account(SETTINGS, {"sub": "x", "hd": "acme.example", "email": text, "name": text, "groups": [text]})


def _post_logout(text: str) -> str:
    body = b"logout_token=" + quote(text).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    request: Any = SimpleNamespace(receive=receive)
    return asyncio.run(read_logout_token(request))


SSO_TEXT_DOORS = [
    Door("sso.pending", lambda text: open_pending(b"k" * 32, text), HEADERS),
    Door("sso.id_token", _token, DOCUMENT),
    Door("sso.logout_token", lambda text: check_logout_token(text, _NO_KEYS, EXPECTED), LONGEST_TOKEN),
    Door("sso.posted", _post_logout, LONGEST_TOKEN),
    Door("sso.account", _account, DOCUMENT),
    Door("sso.url", lambda text: _is_plain_url(text, ("https",)), DOCUMENT),
]

SSO_JSON_DOORS = [
    Door("sso.metadata", lambda body: read_metadata(body, ISSUER), DOCUMENT),
    Door("sso.keys", read_key_document, DOCUMENT),
]
