"""Secrets of other services at rest: encrypted with a key derived from the installation's secret, and bound
to their row, so that a copy elsewhere cannot be decrypted.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

NONCE_BYTES = 12
KEY_BYTES = 32
_decode = msgspec.json.Decoder(dict[str, str]).decode

T = TypeVar("T", bound=Struct)


class Unsealable(Exception):
    """The secret cannot be decrypted with this key: the installation's secret has changed."""


class SealedColumn(Struct, frozen=True):
    """A column of encrypted secrets, and the columns that name the row which `bind` binds each to."""

    table: str
    column: str
    keys: tuple[str, ...]
    bind: Callable[..., bytes]


def derive_key(installation_secret: str, former_secret: str | None = None) -> bytes:
    """Return the 256-bit key for all stored secrets, whose purpose is part of `bound_to`; behind it that of a
    former secret, which only decrypts. The label names only the first purpose, but changing it would
    invalidate every stored secret.
    """
    keys = b""
    for secret in (installation_secret, former_secret):
        if secret is not None:
            kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"headwater webhook secrets")
            keys += kdf.derive(secret.encode())
    return keys


def seal(key: bytes, secret: str, bound_to: bytes) -> bytes:
    """Encrypt a secret; `bound_to` names its row."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key[:KEY_BYTES]).encrypt(nonce, secret.encode(), bound_to)


def unseal(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    nonce, ciphertext = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    for start in range(0, len(key), KEY_BYTES):
        try:
            return AESGCM(key[start : start + KEY_BYTES]).decrypt(nonce, ciphertext, bound_to)
        except InvalidTag:
            continue
    raise Unsealable


def reseal(key: bytes, sealed: bytes, bound_to: bytes) -> bytes | None:
    """Encrypt a secret of a former key again; None if it is under the current one. Raise Unsealable."""
    try:
        unseal(key[:KEY_BYTES], sealed, bound_to)
    except Unsealable:
        return seal(key, unseal(key, sealed, bound_to).decode(), bound_to)
    return None


def seal_values(key: bytes, values: dict[str, str], bound_to: bytes) -> bytes | None:
    """Encrypt secrets by name. Return None for an empty mapping."""
    return seal(key, msgspec.json.encode(values).decode(), bound_to) if values else None


def unseal_values(key: bytes, sealed: bytes | None, bound_to: bytes) -> dict[str, str]:
    """Raise Unsealable if the key has changed."""
    return {} if sealed is None else _decode(unseal(key, sealed, bound_to))


def seal_struct(key: bytes, value: Struct, bound_to: bytes) -> str:
    """Encrypt a value that waits in a browser, as text for a cookie or a form."""
    return base64.urlsafe_b64encode(seal(key, msgspec.json.encode(value).decode(), bound_to)).decode()


def unseal_struct(key: bytes, text: str, kind: type[T], bound_to: bytes) -> T | None:
    """Return None for missing or foreign text."""
    try:
        return msgspec.json.decode(unseal(key, base64.urlsafe_b64decode(text.encode()), bound_to), type=kind)
    except (Unsealable, ValueError):
        return None
