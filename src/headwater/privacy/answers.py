"""Answers of the endpoints that erase a person."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ErasureAnswer(Struct, frozen=True):
    """The erasure of a contact is queued."""

    contact_id: int
    status: Literal["queued"]
    message: str
