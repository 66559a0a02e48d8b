"""Readers of a browser's data for a second factor."""

from __future__ import annotations

from headwater.spaces.factors.passkeys import (
    LONGEST_ANSWER,
    RelyingParty,
    _decode,
    _read_answer,
    check_creation,
)
from headwater.spaces.factors.sealed_state import PasskeyRequest, open_state
from headwater.spaces.factors.totp import find_step
from tests.hostile.growth import Door

FORM = 256 * 1024
PARTY = RelyingParty("h.example", "https://h.example")
SECRET = "A" * 32

FACTOR_DOORS = [
    Door("factors.code", lambda text: find_step(SECRET, text, 1_800_000_000), FORM),
    Door("factors.state", lambda text: open_state(b"k" * 32, text, PasskeyRequest, b"browser"), FORM),
    Door("factors.passkey", _read_answer, LONGEST_ANSWER),
    Door("factors.passkey_id", _decode, LONGEST_ANSWER),
    Door("factors.new_passkey", lambda text: check_creation(PARTY, b"c", text), LONGEST_ANSWER),
]
