"""Response bodies of the endpoints of watched files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.http.answers import DataList, Moment
from headwater.http.inputs.instants import written_in_utc
from headwater.intake.imports.answers import STATUSES, describe_progress
from headwater.intake.imports.job_models import ImportJob
from headwater.intake.watched.watched_files import WatchedFile, WatchedFileRow

MOST_IMPORTS = 20


class WatchedImport(Struct, frozen=True):
    """An import of a watched file."""

    import_id: int
    status: Annotated[str, Meta(extra_json_schema={"enum": STATUSES})]
    created_at: Moment
    stored: int
    refused: int
    message: str


class WatchedFileAnswer(WatchedFile, frozen=True, kw_only=True):
    """A file that is fetched from an address and imported when it changes."""

    imports: Annotated[
        list[WatchedImport] | UnsetType,
        Meta(description=f"Its last {MOST_IMPORTS} imports, the latest first; not in lists."),
    ] = UNSET


class WatchedFileList(DataList[WatchedFileAnswer], frozen=True):
    """The watched files of a Space, oldest first."""


def describe_watched_file(
    row: WatchedFileRow, jobs: Sequence[ImportJob] | UnsetType = UNSET
) -> WatchedFileAnswer:
    members = {name: getattr(row, name) for name in WatchedFile.__struct_fields__}
    imports = UNSET if isinstance(jobs, UnsetType) else [_describe_import(job) for job in jobs]
    return WatchedFileAnswer(**members, imports=imports)


def _describe_import(job: ImportJob) -> WatchedImport:
    return WatchedImport(
        import_id=job.id,
        status=job.status,
        created_at=written_in_utc(job.created_at),
        stored=job.stored,
        refused=job.refused,
        message=describe_progress(job),
    )
