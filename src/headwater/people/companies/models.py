"""Validated requests for companies."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange


@dataclass(frozen=True)
class ListCompanies:
    created: TimeRange
    per_page: int
    position: Position | None
    """None for the first page."""


@dataclass(frozen=True)
class CompanyChange:
    values: dict[str, str | None]
    """New values of `domain`, `external_id` and `name`. Absent columns stay."""
