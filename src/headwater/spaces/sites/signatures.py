"""Signatures of a business for the contact that a page identifies, trusted like its own server's
identifications. Pure.

The signature covers the identifiers and a time, in one line that every templating language can write: `<Unix
seconds> <email> <tracking_id>`, the address trimmed and in lower case, and an absent one empty. An address
holds blanks between quotes only, so the line has one meaning.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

from msgspec import Struct

MAX_AGE = 86_400
"""Seconds that a signature is valid: a visitor may leave a page open."""
LEEWAY = 300
"""Seconds that the signing server's clock may be ahead."""


@dataclass(frozen=True, slots=True)
class SigningSecret:
    secret: bytes = field(repr=False)
    until: float | None = None
    """The expiry of a replaced secret, in Unix time."""


class WrongTimeError(ValueError):
    """A signature's time is in the future or too long ago."""


class Signature(Struct, frozen=True):
    """A signature: the signed time, and the digest in hexadecimal digits."""

    signed_at: str
    digest: str

    def check(
        self,
        email: str | None,
        tracking_id: str | None,
        secrets: tuple[SigningSecret, ...],
        current_time: float,
    ) -> None:
        """Raise ValueError, completing the sentence "The signature …", unless one of a site's secrets signed
        these identifiers in time; WrongTimeError for the time alone.
        """
        if not (email or tracking_id):
            raise ValueError("must contain an email or a tracking_id.")
        if not secrets:
            raise ValueError("cannot be checked: the site has no signing secret.")
        expected = [
            sign(secret.secret, self.signed_at, email, tracking_id)
            for secret in secrets
            if secret.until is None or current_time < secret.until
        ]
        digest = self.digest.lower().encode()
        matches = [hmac.compare_digest(digest, text.encode()) for text in expected]
        if not any(matches):
            raise ValueError("does not match the email, the tracking_id and signed_at.")
        age = current_time - int(self.signed_at)
        if age > MAX_AGE:
            raise WrongTimeError(f"is more than {MAX_AGE // 3600} hours old.")
        if age < -LEEWAY:
            raise WrongTimeError("is in the future. Check the signing server's clock.")


def sign(secret: bytes, signed_at: str, email: str | None, tracking_id: str | None) -> str:
    line = f"{signed_at} {email or ''} {tracking_id or ''}"
    return hmac.digest(secret, line.encode(), "sha256").hex()


def new_secret() -> str:
    return secrets.token_hex(32)
