"""Secrets of other services at rest (signing secrets, platform tokens): encrypted with a key derived from the
installation's secret, and bound to their row, so that a copy elsewhere cannot be decrypted.
"""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

NONCE_BYTES = 12


class Unsealable(Exception):
    """The secret cannot be decrypted with this key: the installation's secret has changed."""


def derive_key(installation_secret: str) -> bytes:
    """Return the 256-bit key for all stored secrets. Their purpose is part of `bound_to`, so that a secret
    cannot be decrypted in another's place. The label names only the first purpose: another label would change
    the key, and every stored secret would have to be encrypted again.
    """
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"headwater webhook secrets")
    return kdf.derive(installation_secret.encode())


def seal(key: bytes, secret: str, bound_to: bytes) -> bytes:
    """Encrypt a secret; `bound_to` names its row."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, secret.encode(), bound_to)


def unseal(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    """Decrypt a secret. Raises Unsealable."""
    nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return AESGCM(key).decrypt(nonce, rest, bound_to)
    except InvalidTag:
        raise Unsealable from None
