"""What a platform answered, fit to be shown: without what tells who somebody is, and without the
destination's tokens. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

MOST_ANSWER = 4096
MOST_ERROR = 500
LEFT_OUT = "…"

_PERSONAL = re.compile(
    # Bounded, so that a text made for it costs no more than its length.
    r"[^\s\"'<>()\[\]{},;:=&@\\]{1,64}(?:@|%40|\\u0040)[^\s\"'<>()\[\]{},;:=&@\\]{1,255}"
    r"|\b[0-9a-fA-F]{64}\b"
)


def shown(text: str, secrets: Iterable[str], most: int) -> str:
    """A text without e-mail addresses, SHA-256 hashes and secrets, of at most so many letters."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 4:
            for form in {secret, quote(secret, safe=""), _as_json(secret)}:
                text = text.replace(form, LEFT_OUT)
    return _PERSONAL.sub(LEFT_OUT, text).replace("\0", "")[:most]


def shown_answer(body: bytes, secrets: Iterable[str]) -> str | None:
    """The beginning of an answer's body; None when it is empty."""
    return shown(body.decode("utf-8", "replace"), secrets, MOST_ANSWER) or None


def _as_json(secret: str) -> str:
    return msgspec.json.encode(secret).decode()[1:-1]
