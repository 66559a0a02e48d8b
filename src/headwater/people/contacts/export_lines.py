"""Export a Space's contacts: list rows with every address and every custom field."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from psycopg import Connection
from psycopg.sql import SQL

from headwater.database.json_lines import ColumnType, LineColumn, Lines
from headwater.database.queries import fetch_row
from headwater.http.inputs.pagination import time_bounds
from headwater.http.inputs.timerange import TimeRange, bind_zone
from headwater.people.contacts.models import ContactRow
from headwater.people.contacts.queries import queries, row_line
from headwater.spaces.custom_fields import SLOT_NAMES, SLOT_TYPES

_PRIMARY = ("email", "name", "phone", "location")
TRK_TOKENS = LineColumn("trk_tokens", ColumnType.TEXTS)
COLUMNS = (
    LineColumn("id", ColumnType.WHOLE),
    *(LineColumn(name, ColumnType.TEXT) for name in _PRIMARY),
    LineColumn("emails", ColumnType.TEXTS),
    *(
        LineColumn(name, ColumnType.NUMBER if SLOT_TYPES[name] == "number" else ColumnType.TEXT)
        for name in SLOT_NAMES
    ),
)
"""The columns of every contact export. Tokens, if requested, come before the emails. Date fields are days or
moments.
"""


def compose_contact_lines(
    connection: Connection[Any], space_id: int, created: TimeRange, *, trk_tokens: bool
) -> Lines:
    """Return contacts created in a time range, highest id first."""
    row = fetch_row(connection, queries["timezone"], {"space_id": space_id})
    fields = {name: name for name in SLOT_NAMES}
    line, bound = row_line(ContactRow(trk_tokens, emails=True, fields=fields))
    bound = {"space_id": space_id, **bind_zone(ZoneInfo(row[0])), **bound, **time_bounds(created, None)}
    condition = queries["listed"]
    query = queries["lines"].format(line=line, condition=condition)
    count = SQL("SELECT count(*) FROM ({}) k").format(queries["of_time"].format(condition=condition))
    columns = (*COLUMNS[:5], TRK_TOKENS, *COLUMNS[5:]) if trk_tokens else COLUMNS
    return Lines(query, count, bound, columns)
