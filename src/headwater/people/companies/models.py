"""Requests about companies, parsed and validated."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange


@dataclass(frozen=True)
class ListCompanies:
    """One page of a Space's companies."""

    created: TimeRange
    per_page: int
    at: Position | None
    """None for the first page."""


@dataclass(frozen=True)
class CompanyChange:
    """A change to a company."""

    values: dict[str, str | None]
    """New values by column: `domain`, `external_id`, `name`. Absent columns stay; None removes a
    domain or an external id.
    """
