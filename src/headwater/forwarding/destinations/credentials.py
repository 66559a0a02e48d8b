from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.platform import Platform
from headwater.spaces.encryption import SealedColumn, seal_values, unseal_values


@dataclass(frozen=True)
class DestinationColumns:
    """The columns that sending needs."""

    platform: str
    settings: dict[str, Any]
    secrets: bytes | None
    """Sealed."""
    event_names: dict[str, str | None]
    all_events: bool


def seal_secrets(key: bytes, space_id: int, destination_id: int, secrets: dict[str, str]) -> bytes | None:
    return seal_values(key, secrets, _row(space_id, destination_id))


def open_secrets(key: bytes, space_id: int, destination_id: int, sealed: bytes | None) -> dict[str, str]:
    """Raise Unsealable if the key has changed."""
    return unseal_values(key, sealed, _row(space_id, destination_id))


def unseal_destination(
    key: bytes, row: tuple[int, int], columns: DestinationColumns, platform: Platform, url: str
) -> Destination:
    """Unseal for sending; `row` is its Space's id and its own. Raises msgspec.ValidationError for settings no
    longer accepted, and Unsealable.
    """
    space_id, destination_id = row
    return Destination(
        space_id=space_id,
        id=destination_id,
        platform=platform.name,
        url=url,
        settings=msgspec.convert(columns.settings, platform.settings),
        secrets=open_secrets(key, space_id, destination_id, columns.secrets),
        event_names=columns.event_names,
        all_events=columns.all_events,
    )


def _row(space_id: int, destination_id: int) -> bytes:
    return b"destination %d of space %d" % (destination_id, space_id)


SEALED = SealedColumn("destinations", "secrets", ("space_id", "id"), _row)
