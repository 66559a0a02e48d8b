"""The parameters of what has changed in a report: those of the report, and from when until when."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from headwater.http.inputs.fields import written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import parse_moment
from headwater.reports.change_models import ChangeQuery
from headwater.reports.engine.readings import ReportReading, parse_reading
from headwater.reports.query import Comparison
from headwater.reports.questions.report import PARAMETERS as OF_REPORTS
from headwater.reports.questions.report import RIPENESS, read_report_query
from headwater.reports.questions.shared import COMPARE
from headwater.spaces.models import Space

_RULE = "must be the reading of a report, or a moment such as 2026-05-13 00:00:00."


def _parse(text: str) -> ReportReading | datetime:
    try:
        return parse_reading(text)
    except ValueError:
        pass
    try:
        return parse_moment(text)
    except ValueError:
        raise ValueError(_RULE) from None


_POINT = written({"type": "string", "maxLength": 64}, _parse)
SINCE = Parameter(
    name="since",
    kind=_POINT,
    required=True,
    description="The earlier moment: the reading of a report, or a time on the Space's clock.",
)
CHANGES_SINCE = Parameter(
    name="changes_since", kind=_POINT, description="Adds why figures changed since a reading or time."
)
"""Of a report that says in one answer what it is and what has changed."""
UNTIL = Parameter(name="until", kind=_POINT, description="The later one; now if left out.")
PARAMETERS = (SINCE, UNTIL, *(each for each in OF_REPORTS if each.name not in {COMPARE.name, RIPENESS.name}))


def read_change_query(query: Input, space: Space, now: datetime) -> ChangeQuery:
    """Read what parameters ask for. Raises Invalid with every rule they break."""
    start, end = SINCE.read(query), UNTIL.read(query)
    report = read_report_query(query, space, now)
    assert start is not None, "a required parameter that is missing is refused"
    return ChangeQuery(replace(report, compare=Comparison.NONE, ripe_on=None), start, end)
