"""Response bodies of the endpoints of watched files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.http.answers import DataList, Moment
from headwater.http.inputs.instants import written_in_utc
from headwater.intake.imports.answers import STATUSES, describe_progress
from headwater.intake.imports.job_models import ImportJob
from headwater.intake.imports.kinds import KINDS
from headwater.intake.watched.faults import WatchFault
from headwater.intake.watched.watched_files import WatchedFileRow

MOST_IMPORTS = 20


class WatchedImport(Struct, frozen=True):
    """An import of a watched file."""

    import_id: int
    status: Annotated[str, Meta(extra_json_schema={"enum": STATUSES})]
    created_at: Moment
    stored: int
    refused: int
    message: str


class WatchedFileAnswer(Struct, frozen=True, kw_only=True):
    """A file that is fetched from an address and imported when it changes."""

    id: int
    kind: Annotated[str, Meta(description="What it has.", extra_json_schema={"enum": [*KINDS]})]
    name: str
    address: str
    settings: Annotated[dict[str, Any], Meta(description="How it is read; omitted ones are detected.")]
    secrets: Annotated[list[str], Meta(description="The names of its secrets.")]
    status: Annotated[
        Literal["active", "paused", "held"],
        Meta(description="A held one waits for a change, or to be resumed; `fault` says why."),
    ]
    created_at: Moment
    next_fetch_at: Moment
    fetched_at: Annotated[Moment | None, Meta(description="The last fetch that worked.")]
    failures: Annotated[int, Meta(description="Fetches that failed since.")]
    failing_since: Moment | None
    fault: Annotated[str | None, Meta(extra_json_schema={"enum": [*map(str, WatchFault), None]})]
    message: Annotated[str | None, Meta(description="The fault in words.")]
    imports: Annotated[
        list[WatchedImport] | UnsetType,
        Meta(description=f"Its last {MOST_IMPORTS} imports, the latest first; not in lists."),
    ] = UNSET


class WatchedFileList(DataList[WatchedFileAnswer], frozen=True):
    """The watched files of a Space, oldest first."""


def describe_watched_file(
    row: WatchedFileRow, jobs: Sequence[ImportJob] | UnsetType = UNSET
) -> WatchedFileAnswer:
    return WatchedFileAnswer(
        id=row.id,
        kind=row.kind,
        name=row.name,
        address=row.address,
        settings=row.settings,
        secrets=row.secret_names,
        status=row.status,
        created_at=row.created_at,
        next_fetch_at=row.next_fetch_at,
        fetched_at=row.fetched_at,
        failures=row.failures,
        failing_since=row.failing_since,
        fault=row.fault,
        message=row.fault_message,
        imports=UNSET if isinstance(jobs, UnsetType) else [_describe_import(job) for job in jobs],
    )


def _describe_import(job: ImportJob) -> WatchedImport:
    return WatchedImport(
        import_id=job.id,
        status=job.status,
        created_at=written_in_utc(job.created_at),
        stored=job.stored,
        refused=job.refused,
        message=describe_progress(job),
    )
