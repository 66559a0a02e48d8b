"""Answers of the endpoints of exports and scheduled exports."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.exports.formats import FileForm
from headwater.exports.schedule_days import Cadence
from headwater.exports.schedules import ScheduleStatus, build_folder
from headwater.http.answers import DataList, Instant, Moment, Uri

ExportStatus = Literal["queued", "processing", "completed", "failed"]
"""The status of an export, and of a schedule's run."""


class QueuedExport(Struct, frozen=True):
    """The export is queued."""

    export_id: int
    status: Literal["queued"]
    message: str


class ExportFile(Struct, frozen=True):
    """One file of an export."""

    download_url: Uri
    rows: int


class Export(Struct, frozen=True, kw_only=True):
    """An export's progress. Poll until it is completed or failed."""

    export_id: int
    status: ExportStatus
    created_at: Moment
    message: Annotated[
        str | UnsetType, Meta(description="The progress, or why it failed; absent when completed.")
    ] = UNSET
    download_url: Annotated[
        Uri | UnsetType, Meta(description="When completed: the file, or the first of several.")
    ] = UNSET
    files: Annotated[
        list[ExportFile] | UnsetType, Meta(description="When completed, with `rows_per_file`: all files.")
    ] = UNSET
    completed_at: Moment | UnsetType = UNSET
    expires_at: Annotated[
        Moment | UnsetType, Meta(description="When the link expires; every answer has a new one.")
    ] = UNSET


class ExportScheduleAnswer(Struct, frozen=True):
    """A scheduled export and the state of its files."""

    id: int
    name: str
    table: Literal["events", "contacts", "companies"]
    cadence: Cadence
    format: str
    folder: Annotated[str, Meta(description="Where its files are, in the place of all exports.")]
    start_date: str
    rewritten_days: int
    rows_per_file: int
    next_run_at: Instant
    completed_at: Annotated[Instant | None, Meta(description="The end of the latest run.")]
    waiting: Annotated[int, Meta(description="Folders that are being written, or waiting for it.")]
    failed: Annotated[int, Meta(description="Folders whose last run failed.")]
    message: Annotated[str | None, Meta(description="Why the last of them failed.")]


class ExportScheduleList(DataList[ExportScheduleAnswer], frozen=True):
    """The Space's scheduled exports."""


class ExportRun(Struct, frozen=True):
    """A folder of a scheduled export and its last run."""

    message: str | None
    folder: str
    status: ExportStatus
    rows: int
    files: int
    completed_at: Instant | None


class ExportRunList(DataList[ExportRun], frozen=True):
    """The folders of a scheduled export, the latest days first."""


def describe_schedule(space_id: int, schedule: ScheduleStatus) -> ExportScheduleAnswer:
    return ExportScheduleAnswer(
        id=schedule.id,
        name=schedule.name,
        table=schedule.kind,
        cadence=schedule.cadence,
        format=str(FileForm.parse_name(f"x{schedule.extension}").format),
        folder=build_folder(space_id, schedule.name),
        start_date=f"{schedule.first_day}",
        rewritten_days=schedule.rewritten_days,
        rows_per_file=schedule.rows_per_file,
        next_run_at=schedule.next_at,
        completed_at=schedule.completed_at,
        waiting=schedule.waiting,
        failed=schedule.failed,
        message=schedule.error,
    )
