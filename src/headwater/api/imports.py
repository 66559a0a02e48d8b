"""API endpoints of imports: send a file, and read its progress. Each handler owns its transactions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Handler, Operation, PathParameter
from headwater.http.bodies import MEGABYTE, stream_file
from headwater.http.errors import Invalid, NotFound
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import file_body
from headwater.http.rate_limits import RateLimit
from headwater.intake.imports.answers import (
    ImportAnswer,
    ImportWithdrawn,
    QueuedImport,
    describe_import,
    describe_reading,
)
from headwater.intake.imports.detection import detect_reading
from headwater.intake.imports.formats.dialects import OpenEncodingError, UnreadableError, WrongEncodingError
from headwater.intake.imports.jobs import create_job, fetch_job, list_refused
from headwater.intake.imports.parameters import list_parameters, read_request
from headwater.intake.imports.reception import Upload, receive_file
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.keys import Scope
from headwater.spaces.spaces import fetch_space

MAX_LISTED = 100
FORM = "The body must be the file itself, not a form with it (curl: --data-binary @FILE)."
ASK = "The import is queued. Ask for its status until it is finished."
ENCODING_OPEN = "The encoding must be given, such as windows-1252: the bytes are ambiguous."


def creates(kind: str) -> Handler:

    async def create_import(call: Call) -> QueuedImport:
        request = read_request(kind, call.query)
        _refuse_forms(call.request.headers)
        shared, space_id = call.services, call.space_id
        pieces = stream_file(call.request, shared.settings.max_upload_mb * MEGABYTE)
        async with call.change() as connection:
            space = await fetch_space(connection, space_id)
            job_id, file = await create_job(connection, space_id, kind, request.name, None)
            call.note(AuditChange("import", job_id, after={"kind": kind}))
        upload = Upload(space_id, job_id, file, kind, request.choices)
        choose = partial(
            detect_reading, kind, space=space, choices=request.choices, constants=request.constants
        )
        try:
            received_file = await receive_file(shared.database, shared.storage, upload, pieces, choose)
        except UnreadableError as error:
            raise _invalid(error) from None
        return QueuedImport(job_id, "queued", ASK, describe_reading(kind, received_file))

    return create_import


def _refuse_forms(headers: Mapping[str, str]) -> None:
    if headers.get("content-type", "").lower().startswith("multipart/"):
        raise Invalid({"file": [FORM]})


def _invalid(error: UnreadableError) -> Invalid:
    """Return the error for a file that is not a table, or has an ambiguous encoding."""
    if isinstance(error, OpenEncodingError):
        return Invalid({"encoding": [ENCODING_OPEN]})
    name = "encoding" if isinstance(error, WrongEncodingError) else "file"
    return Invalid({name: [str(error)]})


def gets(kind: str) -> Handler:

    async def get_import(call: Call) -> ImportAnswer:
        import_id = call.path_id("import_id")
        async with call.services.database.connection() as connection:
            job = await fetch_job(connection, call.space_id, import_id)
            if job.kind != kind:
                raise NotFound("Import")
            refused_rows = await list_refused(connection, call.space_id, import_id, MAX_LISTED)
        return describe_import(job, refused_rows)

    return get_import


IMPORT_ID = PathParameter("import_id", "The import's id.", INTEGER_ID)


def _creation(kind: str, one: str, scope: Scope) -> Operation:
    operation_id = f"create_{one}_import"
    return Operation(
        id=operation_id,
        method="POST",
        path=f"/{kind}/imports",
        tag="Imports",
        summary=f"Import a file of {kind}",
        description="Send a CSV file as the body. Its separator, encoding, columns, "
        "numbers and dates are detected; a 422 names each parameter that it needs besides. Rows "
        "that break a rule are listed with the import, and all others are stored.",
        scope=scope,
        limit=RateLimit(operation_id, 5),
        parameters=[parameter.openapi() for parameter in list_parameters(kind)],
        body=file_body("The file. Every content type is accepted except a form's."),
        status=202,
        answer=QueuedImport,
        conflict=ImportWithdrawn,
        handler=creates(kind),
    )


def _status(kind: str, one: str, scope: Scope) -> Operation:
    operation_id = f"get_{one}_import"
    return Operation(
        id=operation_id,
        method="GET",
        path=f"/{kind}/imports/{{import_id}}",
        tag="Imports",
        summary=f"Get an import of {kind}",
        description="Return the progress of an import and its refused rows, whether it was made "
        "over the API or in the console.",
        scope=scope,
        limit=RateLimit(operation_id, 30),
        path_parameters=[IMPORT_ID],
        answer=ImportAnswer,
        errors=[404],
        handler=gets(kind),
    )


_SUBJECTS: tuple[tuple[str, str, Scope], ...] = (
    ("events", "event", "events:write"),
    ("orders", "order", "events:write"),
    ("contacts", "contact", "contacts:write"),
    ("touchpoints", "touchpoint", "events:write"),
    ("spend", "spend", "spend:write"),
    ("ads", "ad", "events:write"),
)
OPERATIONS = tuple(make(*subject) for subject in _SUBJECTS for make in (_creation, _status))
