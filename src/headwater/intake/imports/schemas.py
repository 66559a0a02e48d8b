"""The answers of the endpoints of imports: their JSON schemas, and what makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.http.inputs.instants import written_in_utc
from headwater.http.openapi import MOMENT, MOMENT_OR_NULL, TEXT, TEXT_OR_NULL, WHOLE, answer, object_schema
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.dialects import DELIMITERS, SEPARATORS
from headwater.intake.imports.formats.encodings import CHOICES as ENCODINGS
from headwater.intake.imports.formats.encodings import ENCODINGS as NAMES_OF_ENCODINGS
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.job_models import ImportJob, Reading, RefusedRow
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.reception import Received

STATUSES = ("uploaded", "checking", "checked", "queued", "running", "finished", "failed", "cancelled")
_TEXTS = {"type": "object", "additionalProperties": TEXT}
READING = object_schema(
    {
        "columns": {**_TEXTS, "description": "The field of each column, empty where it has none."},
        "constants": {**_TEXTS, "description": "Fields that are the same in every row."},
        "timezone": {**TEXT_OR_NULL, "description": "The zone of times without an offset."},
        "decimals": {**TEXT, "enum": [*DECIMALS]},
        "dates": {**TEXT, "enum": [*DATES]},
        "separator": {**TEXT, "enum": [*SEPARATORS]},
        "encoding": {**TEXT, "enum": [*ENCODINGS]},
    }
)
QUEUED = answer(
    "The file is stored and its import is queued.",
    object_schema(
        {
            "import_id": WHOLE,
            "status": {"type": "string", "const": "queued"},
            "message": TEXT,
            "reading": READING,
        }
    ),
)
REFUSAL = object_schema(
    {
        "row": {**WHOLE, "description": "Rows count from 1, below the header."},
        "line": {**WHOLE, "description": "The line of the file on which the row ends."},
        "reason": TEXT,
    }
)
JOB = answer(
    "The import as it stands. Poll until it is finished, failed or cancelled.",
    object_schema(
        {
            "import_id": WHOLE,
            "kind": {"type": "string", "enum": [*KINDS]},
            "name": TEXT,
            "status": {"type": "string", "enum": list(STATUSES)},
            "created_at": MOMENT,
            "ended_at": MOMENT_OR_NULL,
            "rows_done": WHOLE,
            "stored": WHOLE,
            "refused": WHOLE,
            "message": TEXT,
            "refusals": {
                "type": "array",
                "description": "The first 100 rows that were refused.",
                "items": REFUSAL,
            },
        }
    ),
)


def present_reading(kind: str, received: Received) -> dict[str, Any]:
    """Return the reading of a file, for its sender."""
    reading, dialect = received.reading or Reading({}), received.dialect
    constants = dict(reading.constants)
    zone = constants.pop("timezone", None) if kind == "spend" else reading.timezone
    return {
        "columns": reading.columns,
        "constants": constants,
        "timezone": zone,
        "decimals": reading.decimals,
        "dates": reading.dates,
        "separator": DELIMITERS[dialect.delimiter],
        "encoding": NAMES_OF_ENCODINGS[dialect.encoding].lower(),
    }


def present_job(job: ImportJob, refused: Sequence[RefusedRow]) -> dict[str, Any]:
    """Return an import as it stands."""
    return {
        "import_id": job.id,
        "kind": job.kind,
        "name": job.name,
        "status": job.status,
        "created_at": written_in_utc(job.created_at),
        "ended_at": job.ended_at and written_in_utc(job.ended_at),
        "rows_done": job.rows_done,
        "stored": job.stored,
        "refused": job.refused,
        "message": message_of(job),
        "refusals": [{"row": row.row, "line": row.line, "reason": row.reason} for row in refused],
    }


def message_of(job: ImportJob) -> str:
    """Return the progress of an import, or the reason for its end."""
    if job.error:
        again = "The import is queued to be tried again. " if job.is_at_work else ""
        return again + job.error
    if job.status in ("uploaded", "checking", "checked"):
        return "The file waits in the console, where its import can be started."
    if job.status == "queued":
        return "The import is queued."
    words = {"running": " so far", "cancelled": ", then it was stopped"}.get(job.status, "")
    return f"{job.stored} of {job.rows_done} rows stored{words}, {job.refused} refused."
