"""What an export is, asked for and under way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from headwater.http.timerange import TimeRange


@dataclass(frozen=True)
class ExportRequest:
    """An export that was asked for, checked."""

    kind: str
    """events, contacts or companies."""
    body: dict[str, Any]
    """What was asked, in the words of the body that asked it."""
    time: TimeRange


@dataclass(frozen=True)
class ExportJob:
    """A job as the API tells of it."""

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
    """Its name in the object store, once completed."""


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
    def shown_as(self) -> str:
        """The name that people save the file under."""
        return shown_as(self.request.kind, self.request.body, self.file)


def shown_as(kind: str, body: dict[str, Any], file: str) -> str:
    """A name that tells what an export holds, its kind and its dates, and ends in that of its file,
    so that no two downloads have the same.
    """
    dates = [str(body[name]) for name in ("date", "start_date", "end_date") if name in body]
    return f"{kind}-{re.sub('[^0-9-]+', '_', '_'.join(dates))}-{file}"
