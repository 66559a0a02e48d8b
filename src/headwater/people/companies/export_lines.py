from __future__ import annotations

from headwater.database.json_lines import ColumnType, LineColumn, Lines
from headwater.database.queries import Queries
from headwater.http.inputs.timerange import TimeRange

queries = Queries(__name__, "export_lines.sql")

COLUMNS = (
    LineColumn("id", ColumnType.WHOLE),
    LineColumn("domain", ColumnType.TEXT),
    LineColumn("external_id", ColumnType.TEXT),
    LineColumn("name", ColumnType.TEXT),
    LineColumn("created_at", ColumnType.MOMENT),
)


def compose_company_lines(space_id: int, time: TimeRange) -> Lines:
    parameters = {"space_id": space_id, "start": time.start, "end": time.end}
    return Lines(queries["lines"], queries["count"], parameters, COLUMNS)
