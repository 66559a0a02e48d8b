"""A destination's tokens at rest: one JSON object, sealed to the row that it belongs to."""

from __future__ import annotations

import msgspec

from headwater.spaces.encryption import seal, unseal

_decode = msgspec.json.Decoder(dict[str, str]).decode


def seal_secrets(
    key: bytes, space_id: int, destination_id: int, secrets: dict[str, str]
) -> bytes | None:
    """Return secrets as they are stored; None when there are none."""
    if not secrets:
        return None
    return seal(key, msgspec.json.encode(secrets).decode(), _row(space_id, destination_id))


def open_secrets(
    key: bytes, space_id: int, destination_id: int, sealed: bytes | None
) -> dict[str, str]:
    """Return the secrets that `seal_secrets` sealed. Raises Unsealable."""
    if sealed is None:
        return {}
    return _decode(unseal(key, sealed, _row(space_id, destination_id)))


def _row(space_id: int, destination_id: int) -> bytes:
    return b"destination %d of space %d" % (destination_id, space_id)
