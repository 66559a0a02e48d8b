"""Verify a provider's signed tokens: signature, algorithm, issuer, audience, times, nonce. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
from collections.abc import Collection
from typing import Any, TypeGuard, cast

from joserfc import jws
from joserfc.errors import InvalidKeyIdError, JoseError, UnsupportedAlgorithmError
from joserfc.jwk import JWKRegistry, Key, KeySet
from joserfc.jws import JWSRegistry
from msgspec import Struct

from headwater.spaces.sso.refusals import SsoReason, SsoRefused

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
"""Only asymmetric ones: a public key must never be taken for a shared secret."""
LEEWAY_SECONDS = 60
LONGEST_TOKEN = 32 * 1024
LONGEST_IDENTIFIER = 255
MOST_KEYS = 50
MODULUS_CHARACTERS = range(342, 1367)
"""RSA keys of 2,048 to 8,192 bits, in base64url. Longer ones take too long to use."""
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"

_KEY_TYPES = ("RSA", "EC", "OKP")
_UNREADABLE = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What the library raises for a malformed key or token."""


class _Registry(JWSRegistry):
    max_header_length = 8 * 1024
    """Some providers send their certificates."""


_REGISTRY = _Registry(algorithms=ALGORITHMS, strict_check_header=False)


class ExpectedClaims(Struct, frozen=True):
    issuer: str
    client_id: str
    current_time: float


def read_keys(documents: Collection[Any]) -> KeySet | None:
    """Return the usable public keys among a provider's, or None."""
    keys: list[Key] = []
    for document in list(documents)[:MOST_KEYS]:
        if not (isinstance(document, dict) and _is_usable(cast("dict[str, Any]", document))):
            continue
        try:
            key = JWKRegistry.import_key(cast("dict[str, Any]", document))
            key.ensure_kid()
        except _UNREADABLE:
            continue
        keys.append(key)
    return KeySet(keys) if keys else None


def _is_usable(document: dict[str, Any]) -> bool:
    kind, modulus = document.get("kty"), document.get("n")
    if kind not in _KEY_TYPES or document.get("use", "sig") != "sig":
        return False
    return kind != "RSA" or (isinstance(modulus, str) and len(modulus) in MODULUS_CHARACTERS)


def check_id_token(
    text: str, keys: KeySet, expected_claims: ExpectedClaims, nonce: str, access_token: str
) -> dict[str, Any]:
    """Return the claims. Raise SsoRefused."""
    header, claims = _decode(text, keys)
    _check_common(claims, expected_claims)
    if not _same(claims.get("nonce"), nonce):
        raise SsoRefused(SsoReason.NONCE)
    if "at_hash" in claims and not _same(claims["at_hash"], hash_access_token(header["alg"], access_token)):
        raise SsoRefused(SsoReason.ACCESS_TOKEN_HASH)
    if not is_identifier(claims.get("sub")):
        raise SsoRefused(SsoReason.NO_SUBJECT)
    return claims


def check_logout_token(text: str, keys: KeySet, expected_claims: ExpectedClaims) -> dict[str, Any]:
    """Return the claims of a back-channel logout, which has no nonce. Raise SsoRefused."""
    _, claims = _decode(text, keys)
    _check_common(claims, expected_claims)
    events = claims.get("events")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    identifiers = [claims[name] for name in ("sub", "sid") if claims.get(name) is not None]
    if not identifiers or not all(map(is_identifier, identifiers)):
        raise SsoRefused(SsoReason.NO_SUBJECT)
    return claims


def is_identifier(value: Any) -> TypeGuard[str]:
    """Return whether a value can name an account or a session."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_IDENTIFIER and value.isprintable()


def hash_access_token(algorithm: str, access_token: str) -> str:
    """Return the value of `at_hash`: half of the digest of the algorithm's hash function."""
    name = "sha512" if algorithm == "Ed25519" else f"sha{algorithm[-3:]}"
    digest = hashlib.new(name, access_token.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def _decode(text: str, keys: KeySet) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(text) > LONGEST_TOKEN:
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    try:
        token = jws.deserialize_compact(text, keys, registry=_REGISTRY)
        claims: Any = json.loads(token.payload)
    except UnsupportedAlgorithmError:
        raise SsoRefused(SsoReason.ALGORITHM) from None
    except InvalidKeyIdError:
        raise SsoRefused(SsoReason.UNKNOWN_KEY) from None
    except JoseError as error:
        is_wrong_signature = error.error == "bad_signature"
        raise SsoRefused(SsoReason.SIGNATURE if is_wrong_signature else SsoReason.MALFORMED_TOKEN) from None
    except _UNREADABLE:
        raise SsoRefused(SsoReason.MALFORMED_TOKEN) from None
    if not isinstance(claims, dict):
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    return token.headers(), cast("dict[str, Any]", claims)


def _check_common(claims: dict[str, Any], expected_claims: ExpectedClaims) -> None:
    if not _same(claims.get("iss"), expected_claims.issuer):
        raise SsoRefused(SsoReason.ISSUER)
    if not _is_audience(claims, expected_claims.client_id):
        raise SsoRefused(SsoReason.AUDIENCE)
    expires_at, issued_at, valid_from = (_read_time(claims.get(name)) for name in ("exp", "iat", "nbf"))
    if expires_at is None or issued_at is None or (valid_from is None and "nbf" in claims):
        raise SsoRefused(SsoReason.MALFORMED_TOKEN)
    if expires_at <= expected_claims.current_time - LEEWAY_SECONDS:
        raise SsoRefused(SsoReason.TOKEN_EXPIRED)
    if max(issued_at, valid_from or 0) > expected_claims.current_time + LEEWAY_SECONDS:
        raise SsoRefused(SsoReason.TOKEN_NOT_YET_VALID)


def _is_audience(claims: dict[str, Any], client_id: str) -> bool:
    """Accept several audiences only with an authorized party, which must be this client."""
    audience, party = claims.get("aud"), claims.get("azp")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences or (len(audiences) > 1 and party is None):
        return False
    return party is None or party == client_id


def _read_time(value: Any) -> float | int | None:
    """Return None for anything but a finite number."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _same(value: Any, expected_claims: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(
        value.encode("utf-8", "replace"), expected_claims.encode()
    )
