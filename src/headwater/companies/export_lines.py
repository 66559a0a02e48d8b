"""A Space's companies as lines of an export."""

from __future__ import annotations

from headwater.database.json_lines import Lines
from headwater.database.queries import Queries
from headwater.http.timerange import TimeRange

queries = Queries(__name__, "export_lines.sql")


def company_lines(space_id: int, time: TimeRange) -> Lines:
    """The companies created in a time, newest first."""
    parameters = {"space_id": space_id, "start": time.start, "end": time.end}
    return Lines(queries["lines"], queries["count"], "companies", parameters)
