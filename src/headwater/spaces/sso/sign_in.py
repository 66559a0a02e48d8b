"""The authorization code flow: the request to the provider, its answer, and the tokens it is exchanged for.

What the answer must match waits in the browser, encrypted: its state, nonce, PKCE verifier and provider.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from headwater.base.egress.answers import read_object, succeeded
from headwater.base.egress.calls import bearer, make_form_call
from headwater.base.egress.models import EgressRequest
from headwater.spaces.encryption import SealedColumn, Unsealable, seal, seal_struct, unseal, unseal_struct
from headwater.spaces.sso.documents import Metadata, ProviderDocuments, send
from headwater.spaces.sso.id_tokens import ExpectedClaims, check_id_token
from headwater.spaces.sso.providers import SCOPES, SsoProvider
from headwater.spaces.sso.refusals import SsoReason, SsoRefused

SIGN_IN_SECONDS = 600
LONGEST_CODE = 4096
LONGEST_NEXT = 2_500
"""Bytes of the page to return to; browsers limit a cookie to 4 KB."""
_PURPOSE = b"sso sign-in"


class PendingSignIn(Struct, frozen=True):
    provider: str
    state: str
    nonce: str
    verifier: str
    next_path: str
    started_at: int


class SignInTokens(Struct, frozen=True):
    id_token: str
    claims: dict[str, Any]


def begin_sign_in(provider: str, next_path: str) -> PendingSignIn:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return PendingSignIn(provider, state, nonce, verifier, next_path, int(time.time()))


def make_authorization_url(
    provider: SsoProvider, metadata: Metadata, pending: PendingSignIn, redirect_uri: str, *, choose: bool
) -> str:
    """`choose` makes the provider offer another account than the one it remembers."""
    digest = hashlib.sha256(pending.verifier.encode()).digest()
    parameters = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(dict.fromkeys((*SCOPES, *provider.settings.scopes))),
        "state": pending.state,
        "nonce": pending.nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        **({"prompt": "select_account"} if choose else {}),
    }
    return add_parameters(metadata.authorization_endpoint, parameters)


def add_parameters(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def seal_pending(key: bytes, pending: PendingSignIn) -> str:
    return seal_struct(key, pending, _PURPOSE)


def open_pending(key: bytes, text: str) -> PendingSignIn | None:
    """Return None for a missing or foreign cookie."""
    return unseal_struct(key, text, PendingSignIn, _PURPOSE)


def check_answer(
    pending: PendingSignIn | None, provider: SsoProvider, metadata: Metadata, answer: Mapping[str, str]
) -> PendingSignIn:
    """Check everything but the code. Raise SsoRefused."""
    if pending is None:
        raise SsoRefused(SsoReason.NOT_STARTED_HERE)
    if pending.provider != provider.name:
        raise SsoRefused(SsoReason.OTHER_PROVIDER)
    if not hmac.compare_digest(answer.get("state", "").encode("utf-8", "replace"), pending.state.encode()):
        raise SsoRefused(SsoReason.WRONG_STATE)
    if time.time() - pending.started_at > SIGN_IN_SECONDS:
        raise SsoRefused(SsoReason.SIGN_IN_EXPIRED)
    default_issuer = None if metadata.authorization_response_iss_parameter_supported else metadata.issuer
    if answer.get("iss", default_issuer) != metadata.issuer:  # RFC 9207
        raise SsoRefused(SsoReason.OTHER_PROVIDER)
    if "error" in answer or not 0 < len(answer.get("code", "")) <= LONGEST_CODE:
        raise SsoRefused(SsoReason.PROVIDER_DECLINED)
    return pending


def seal_id_token(key: bytes, provider: str, id_token: str) -> bytes:
    return seal(key, id_token, _session(provider))


def make_logout_url(
    provider: SsoProvider, metadata: Metadata, id_token: bytes | None, key: bytes, return_to: str
) -> str | None:
    """Return the address of the provider's logout, which leads back to `return_to`; None if it has none."""
    if metadata.end_session_endpoint is None:
        return None
    parameters = {"client_id": provider.client_id, "post_logout_redirect_uri": return_to}
    if id_token is not None:
        with suppress(Unsealable):
            parameters["id_token_hint"] = unseal(key, id_token, _session(provider.name)).decode()
    return add_parameters(metadata.end_session_endpoint, parameters)


def _session(provider: str) -> bytes:
    return f"sso session {provider}".encode()


async def exchange_code(
    documents: ProviderDocuments,
    provider: SsoProvider,
    metadata: Metadata,
    code_form: Mapping[str, str],
    client: tuple[str | None, str],
) -> SignInTokens:
    """Return verified claims, with those of UserInfo where the ID token lacks them. `client` is its secret
    and the expected nonce. Raise SsoRefused.
    """
    secret, nonce = client
    call = make_token_call(provider.client_id, secret, metadata, code_form)
    answer = await send(documents.egress, call)
    body = read_object(answer)
    if body is None or answer.cut or not succeeded(answer):
        raise SsoRefused(SsoReason.CODE_REFUSED)
    id_token, access_token = body.get("id_token"), body.get("access_token")
    if not isinstance(id_token, str) or not isinstance(access_token, str):
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    expected_claims = ExpectedClaims(metadata.issuer, provider.client_id, time.time())
    claims = await documents.verify(
        metadata, lambda keys: check_id_token(id_token, keys, expected_claims, nonce, access_token)
    )
    settings = provider.settings
    required_claims = {"email", settings.verified_claim, *settings.required}
    required_claims |= {settings.groups_claim} if any(rule.group for rule in settings.rules) else set()
    if metadata.userinfo_endpoint is not None and not required_claims <= claims.keys():
        userinfo = await _fetch_userinfo(documents, metadata.userinfo_endpoint, access_token, claims["sub"])
        claims = userinfo | claims
    return SignInTokens(id_token, claims)


def make_token_call(
    client_id: str, secret: str | None, metadata: Metadata, form: Mapping[str, str]
) -> EgressRequest:
    fields = {**form, "grant_type": "authorization_code"}
    if secret is None:
        return make_form_call(metadata.token_endpoint, **fields, client_id=client_id)
    if "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
        credentials = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"  # RFC 6749, section 2.3.1
        header = {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
        return msgspec.structs.replace(make_form_call(metadata.token_endpoint, **fields), headers=header)
    return make_form_call(metadata.token_endpoint, **fields, client_id=client_id, client_secret=secret)


async def _fetch_userinfo(
    documents: ProviderDocuments, url: str, access_token: str, subject: str
) -> dict[str, Any]:
    """Return the claims of the same subject. Raise SsoRefused."""
    if not access_token.isascii() or not access_token.isprintable():
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    answer = await send(documents.egress, EgressRequest(url=url, method="GET", headers=bearer(access_token)))
    claims = read_object(answer)
    if claims is None or answer.cut or not succeeded(answer) or claims.get("sub") != subject:
        raise SsoRefused(SsoReason.USERINFO)
    return claims


SEALED = SealedColumn("sessions", "id_token", ("provider",), _session)
