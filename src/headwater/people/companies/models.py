"""Validated requests for companies."""

from __future__ import annotations

from msgspec import Struct

from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange


class ListCompanies(Struct, frozen=True):
    created: TimeRange
    per_page: int
    position: Position | None
    """None for the first page."""


class CompanyChange(Struct, frozen=True):
    values: dict[str, str | None]
    """New values of `domain`, `external_id` and `name`. Absent columns stay."""
