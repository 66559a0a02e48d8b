"""Export requests, and jobs in progress."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from headwater.exports.formats import FileForm, part_names
from headwater.http.inputs.timerange import TimeRange


@dataclass(frozen=True)
class ExportRequest:
    kind: str
    """events, contacts or companies."""
    body: dict[str, Any]
    """The request body, unchanged."""
    time: TimeRange
    form: FileForm
    rows_per_file: int | None
    """None for a single file of any size."""


class ExportJob(Struct, frozen=True):
    id: int
    kind: str
    status: Literal["queued", "processing", "completed", "failed"]
    created_at: str
    completed_at: str | None
    request: dict[str, Any]
    rows_done: int
    rows_total: int | None
    error: str | None
    file: str | None
    part_rows: list[int] | None
    """The rows of each file, once completed or in the folder of a schedule."""
    rows_per_file: int | None

    def files(self) -> list[tuple[str, int]]:
        if self.status != "completed" or self.file is None:
            return []
        rows = self.part_rows or []
        return list(zip(part_names(self.file, len(rows)), rows, strict=True))


class ClaimedJob(Struct, frozen=True):
    """A job leased by this process."""

    space_id: int
    id: int
    lease: UUID
    file: str
    attempts: int
    request: ExportRequest
    folder: str | None = None
    """For a scheduled run: the folder for its files."""
    former_parts: int = 0
    """The most files that earlier attempts may have left in it."""

    def names(self, number: int) -> tuple[str, str]:
        """Return a file's name, numbered from 1, and its name for saving."""
        file = part_names(self.file, number)[-1]
        return file, download_name(self.request.kind, self.request.body, file)


def download_name(kind: str, body: dict[str, Any], file: str) -> str:
    """Return a unique name with kind and any dates, ending in the file's own name."""
    dates = [str(body[name]) for name in ("date", "start_date", "end_date") if name in body]
    span = re.sub("[^0-9-]+", "_", "_".join(dates))
    return "-".join(filter(None, (kind, span, file)))
