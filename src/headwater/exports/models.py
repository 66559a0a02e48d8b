"""Exports: requests, and jobs at work on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from headwater.http.timerange import TimeRange


@dataclass(frozen=True)
class ExportRequest:
    """A validated request of an export."""

    kind: str
    """events, contacts or companies."""
    body: dict[str, Any]
    """The body of the request, as it was sent."""
    time: TimeRange


@dataclass(frozen=True)
class ExportJob:
    """A job as the API presents it."""

    id: int
    kind: str
    status: str
    """queued, processing, completed or failed."""
    created_at: str
    completed_at: str | None
    request: dict[str, Any]
    rows_done: int
    rows_total: int | None
    error: str | None
    file: str | None
    """The file's name in the storage, once completed."""


@dataclass(frozen=True)
class ClaimedJob:
    """A job that this process works on, as long as its lease is its own."""

    space_id: int
    id: int
    lease: UUID
    file: str
    """The name of the file to be made."""
    attempts: int
    request: ExportRequest

    @property
    def download_name(self) -> str:
        """The name under which the file is saved."""
        return download_name(self.request.kind, self.request.body, self.file)


def download_name(kind: str, body: dict[str, Any], file: str) -> str:
    """A name of an export's kind and dates. It ends in the name of its file, so that no two
    downloads have the same.
    """
    dates = [str(body[name]) for name in ("date", "start_date", "end_date") if name in body]
    return f"{kind}-{re.sub('[^0-9-]+', '_', '_'.join(dates))}-{file}"
