"""Export jobs as rows: requested through the API, claimed by one process at a time.

The process holds a lease under a token and renews it while it works. After a kill it expires. A process that
was only slow finds its token replaced and discards its file.

    request ──▶ claim ──▶ read and write ──▶ complete
                  ▲            │ a contact in it is erased: the lease is revoked
                  └────────────┘ from now on the job blocks the Space's erasures while it runs
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from psycopg import AsyncConnection, Connection
from psycopg.types.json import Jsonb

from headwater.base.storage import Storage
from headwater.database.jobs.backoff import climb
from headwater.database.jobs.lease import LEASE
from headwater.database.queries import Queries, fetch_one, fetch_optional, make_cursor
from headwater.exports.formats import FileForm, part_names
from headwater.exports.models import ClaimedJob, ExportJob, ExportRequest
from headwater.http.errors import require_found
from headwater.http.inputs.timerange import TimeRange
from headwater.spaces.locks import lock_shared

queries = Queries(__name__, "jobs.sql")

TRIES = 4
PAUSES = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=20), timedelta())
RETENTION = timedelta(days=7)
_WAITS = {"lease": LEASE, "longest_pause": max(PAUSES)}

EXHAUSTED = "The export was interrupted every time it was tried."
FORGOTTEN = "The file was kept for 7 days and has been removed. Request the export again."


async def create_job(connection: AsyncConnection, space_id: int, request: ExportRequest) -> int:
    values = {
        "space_id": space_id,
        "kind": request.kind,
        "request": Jsonb(request.body),
        "start": request.time.start,
        "end": request.time.end,
        "extension": request.form.extension,
        "rows_per_file": request.rows_per_file,
    }
    row = await fetch_one(connection, queries["create"], values)
    return row[0]


async def fetch_job(connection: AsyncConnection, space_id: int, kind: str, export_id: int) -> ExportJob:
    """Raise NotFound for an unknown export."""
    values = {"space_id": space_id, "kind": kind, "export_id": export_id}
    return require_found(
        await fetch_optional(make_cursor(connection, ExportJob), queries["fetch"], values), "Export"
    )


def waiting_spaces(connection: Connection[Any]) -> list[int]:
    return sorted({row[0] for row in connection.execute(queries["waiting"], _WAITS)})


def claim_next(connection: Connection[Any], storage: Storage) -> ClaimedJob | None:
    """Claim the job waiting longest, and remove a killed attempt's files. The connection is in autocommit."""
    for space_id, export_id, left_behind, parts in connection.execute(queries["waiting"], _WAITS).fetchall():
        values = {
            "space_id": space_id,
            "export_id": export_id,
            "tries": TRIES,
            "exhausted": EXHAUSTED,
            "token": uuid4(),
            "name": str(uuid4()),
            **_WAITS,
        }
        with connection.transaction():
            # An erasure is in progress; rows read after it no longer contain the person.
            lock_shared(connection, space_id)
            row = connection.execute(queries["claim"], values).fetchone()
        if row is None:
            continue
        if left_behind is not None:
            storage.discard(part_names(left_behind, parts))
        status, lease, file, attempts, kind, body, start, end = row[:8]
        rows_per_file, folder, former_parts = row[8:]
        if status == "processing":
            form = FileForm.parse_name(file)
            request = ExportRequest(kind, body, TimeRange(start, end), form, rows_per_file)
            return ClaimedJob(space_id, export_id, lease, file, attempts, request, folder, former_parts)
    return None


def spaces_to_tidy(connection: Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute(queries["spaces_to_tidy"], {"kept": RETENTION})]


def tidy(connection: Connection[Any], storage: Storage, space_id: int) -> None:
    """Remove expired files, and files of failed or withdrawn exports."""
    expired = connection.execute(queries["to_forget"], {"space_id": space_id, "kept": RETENTION})
    for export_id, file, parts in expired.fetchall():
        if storage.discard(part_names(file, parts)):
            values = {"space_id": space_id, "export_id": export_id, "file": file, "error": FORGOTTEN}
            connection.execute(queries["forget"], values)


def renew(connection: Connection[Any], job: ClaimedJob, done: int, total: int | None) -> bool:
    """Record the progress, too. Returns False if the lease is lost."""
    values = _lease_values(job) | {"lease": LEASE, "done": done, "total": total}
    return connection.execute(queries["renew"], values).rowcount == 1


def add_part(connection: Connection[Any], job: ClaimedJob, parts: int) -> bool:
    """Record that another file will be created. Returns False if the lease is lost."""
    return connection.execute(queries["add_part"], _lease_values(job) | {"parts": parts}).rowcount == 1


def announce_parts(connection: Connection[Any], job: ClaimedJob, part_rows: list[int]) -> bool:
    """Record the files that will be moved into the job's folder. Returns False if the lease is lost."""
    values = _lease_values(job) | {"lease": LEASE, "part_rows": part_rows}
    return connection.execute(queries["announce_parts"], values).rowcount == 1


def complete(connection: Connection[Any], job: ClaimedJob, part_rows: list[int]) -> bool:
    """Record the rows of each file. Returns False if the lease is lost."""
    values = _lease_values(job) | {"done": sum(part_rows), "part_rows": part_rows}
    return connection.execute(queries["complete"], values).rowcount == 1


def put_back(connection: Connection[Any], job: ClaimedJob, error: str) -> None:
    """Record a failed attempt, retried unless it was the last."""
    values = _lease_values(job) | {"error": error, "pause": climb(PAUSES, job.attempts), "tries": TRIES}
    connection.execute(queries["put_back"], values)


def release(connection: Connection[Any], job: ClaimedJob) -> None:
    """Release a job because this process must stop."""
    connection.execute(queries["release"], _lease_values(job))


def end_holds(connection: Connection[Any]) -> None:
    """Let erasures continue, regardless of exports running when the database was copied."""
    connection.execute(queries["end_holds"])


def _lease_values(job: ClaimedJob) -> dict[str, Any]:
    return {"space_id": job.space_id, "export_id": job.id, "token": job.lease}
