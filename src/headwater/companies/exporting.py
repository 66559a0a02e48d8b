"""A Space's companies as lines of an export."""

from __future__ import annotations

from headwater.database.lines import Lines
from headwater.database.statements import Statements
from headwater.http.timerange import TimeRange

SQL = Statements(__name__, "exporting.sql")


def company_lines(space_id: int, time: TimeRange) -> Lines:
    """The companies created in a time, newest first."""
    parameters = {"space_id": space_id, "start": time.start, "end": time.end}
    return Lines(SQL["lines"], SQL["count"], "companies", parameters)
