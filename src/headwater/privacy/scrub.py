"""Erase a person. The caller holds the Space's lock and owns the transaction."""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from headwater.attribution.history.revisions import forget_tag_sets
from headwater.base.failpoints import failpoint
from headwater.database.queries import Queries
from headwater.intake.imports.job_refusals import hash_identifier
from headwater.privacy.columns import list_personal_columns
from headwater.privacy.redaction import PayloadMatcher

queries = Queries(__name__, "scrub.sql")

WITHDRAWN_UPLOAD = (
    "A person was erased from this Space after the file was uploaded, so the file was removed. "
    "Upload it again without them."
)
WITHDRAWN = "The file contained a person who has since been erased. Request the export again."


def scrub(connection: Connection[Any], space_id: int, contact_id: int) -> None:
    """Erase a person from every table. New code that stores personal data must be added here."""
    values = {"space_id": space_id, "contact_id": contact_id}
    group = [row[0] for row in connection.execute(queries["group"], values)]
    values = {"space_id": space_id, "group": group}
    person = PayloadMatcher(connection.execute(queries["identifiers"], values).fetchall())
    # Before the queues: running imports of uploaded files still fill them.
    _hold_imports(connection, space_id, person)
    # Before the queues: a delivery can be replayed into one until it is deleted.
    _delete_deliveries(connection, space_id, group, person)
    _redact(connection, space_id, "inbox", person)
    _redact(connection, space_id, "rejected", person)
    connection.execute(_DELETE_IDENTIFIERS, values)
    connection.execute(_CLEAR_CONTACTS, values)
    failpoint("erasure_half_done")
    for statement in (_CLEAR_EVENTS, _CLEAR_TOUCHPOINTS, _CLEAR_ATTEMPTS, _CLEAR_DELIVERIES):
        connection.execute(statement, values)
    connection.execute(queries["delete_clicks"], values)
    connection.execute(_DELETE_JOINS, values)
    # Before the page views, which identify these tag sets.
    withdrawn = [row[0] for row in connection.execute(queries["withdrawn_tag_sets"], values)]
    connection.execute(_DELETE_HITS, values)
    connection.execute(_DELETE_VISITS, values)
    delete_tag_sets(connection, space_id, withdrawn)
    connection.execute(queries["withdraw_exports"], {**values, "withdrawn": WITHDRAWN})


def _hold_imports(connection: Connection[Any], space_id: int, person: PayloadMatcher) -> None:
    """Withdraw waiting uploads, exclude the person from running imports, and delete refused rows that mention
    them.
    """
    values = {"space_id": space_id, "withdrawn_upload": WITHDRAWN_UPLOAD}
    connection.execute(queries["withdraw_uploads"], values)
    for import_id, file in connection.execute(queries["imports_under_way"], values).fetchall():
        hashes = [hash_identifier(file, value) for value in person.values]
        values_of_import = {"space_id": space_id, "import_id": import_id, "hashes": hashes}
        connection.execute(queries["bar_from_import"], values_of_import)
    rows = connection.cursor().stream(queries["refused_rows"], values)
    mentioning = [
        {"space_id": space_id, "import_id": import_id, "row": row}
        for import_id, row, *texts in rows
        if any(map(person.is_in, texts))
    ]
    if mentioning:
        connection.cursor().executemany(queries["delete_refused_row"], mentioning)


def _redact(connection: Connection[Any], space_id: int, queue: str, person: PayloadMatcher) -> None:
    table = {"queue": Identifier(queue)}
    rows = connection.cursor().stream(queries["payloads"].format(**table), {"space_id": space_id})
    redacted = [
        {"space_id": space_id, "id": row_id, "payload": remainder}
        for row_id, kind, payload in rows
        if (remainder := person.redact(kind, payload)) != payload
    ]
    if redacted:
        connection.cursor().executemany(queries["redact"].format(**table), redacted)


def _delete_deliveries(
    connection: Connection[Any], space_id: int, group: list[int], person: PayloadMatcher
) -> None:
    """Delete deliveries that became or repeated the person's events, report refunds of their orders, or
    mention them.
    """
    values = {"space_id": space_id, "group": group}
    rows = connection.cursor().stream(queries["deliveries"], values)
    ids = [row_id for row_id, is_theirs, texts in rows if is_theirs or any(map(person.is_in, texts))]
    if ids:
        connection.execute(queries["delete_deliveries"], {"space_id": space_id, "ids": ids})


def delete_tag_sets(connection: Connection[Any], space_id: int, ids: list[int]) -> None:
    """Delete the given tag sets, except if a touchpoint or a page view still has them."""
    if ids:
        deleted_rows = connection.execute(queries["delete_tag_sets"], {"space_id": space_id, "ids": ids})
        forget_tag_sets(connection, space_id, [row[0] for row in deleted_rows])


def fill_in_personal_columns(statement: SQL, alias: str, table: str) -> Composed:
    """Return a statement that clears the personal columns of a table's rows."""
    names = [Identifier(column) for column in list_personal_columns(table)]
    comma = SQL(", ")
    return statement.format(
        table=Identifier(table),
        cleared=comma.join(SQL("{} = NULL").format(name) for name in names),
        held=comma.join(SQL("{}.{}").format(Identifier(alias), name) for name in names),
    )


_CLEAR_CONTACTS = fill_in_personal_columns(queries["clear_contacts"], "c", "contacts")
_CLEAR_EVENTS = fill_in_personal_columns(queries["clear_rows"], "r", "events")
_CLEAR_TOUCHPOINTS = fill_in_personal_columns(queries["clear_rows"], "r", "touchpoints")
_CLEAR_ATTEMPTS = fill_in_personal_columns(queries["clear_attempts"], "a", "delivery_attempts")
_CLEAR_DELIVERIES = fill_in_personal_columns(queries["clear_deliveries"], "d", "deliveries")
_DELETE_IDENTIFIERS, _DELETE_JOINS, _DELETE_HITS, _DELETE_VISITS = (
    queries["delete_rows"].format(table=Identifier(table))
    for table in ("contact_identifiers", "unsigned_joins", "hits", "visits")
)
