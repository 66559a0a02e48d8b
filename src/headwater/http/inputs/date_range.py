"""The parameters `start_date` and `end_date`: a range in a Space's time zone."""

from __future__ import annotations

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

from msgspec import Struct

from headwater.http.inputs.fields import FieldType, is_blank, written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import MOMENT_SCHEMA, TimeRange, between, parse_day, parse_moment

MOMENT = written(MOMENT_SCHEMA, parse_moment)
MOMENT_OR_BLANK = MOMENT.documented(**{**MOMENT_SCHEMA, "pattern": f"^$|{MOMENT_SCHEMA['pattern']}"})


def _parse_date(text: str) -> date:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("must have the format YYYY-MM-DD.")
    return parse_day(text)


DAY = written({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, _parse_date)


def start_day(description: str, *, required: bool = False) -> Parameter[date]:
    """Return the parameter `start_date` as a day."""
    return Parameter(name="start_date", required=required, kind=DAY, description=description)


def end_day(description: str, *, required: bool = False) -> Parameter[date]:
    """Return the parameter `end_date` as a day."""
    return Parameter(name="end_date", required=required, kind=DAY, description=description)


class DateRange(Struct, frozen=True):
    """The first and last second of a range, both included."""

    start: Parameter[datetime]
    end: Parameter[datetime]

    @property
    def parameters(self) -> tuple[Parameter[datetime], Parameter[datetime]]:
        return self.start, self.end

    def read(self, query: Input) -> tuple[datetime, datetime] | None:
        """Return both local date-times; None if both are missing, or one is invalid or missing, which is
        recorded in the query.
        """
        start, end = self.start.read(query), self.end.read(query)
        has_start, has_end = (
            value is not None or parameter.name in query.errors
            for parameter, value in zip(self.parameters, (start, end), strict=True)
        )
        if has_start and not has_end:
            query.refuse(self.end.name, f"is required with {self.start.name}.")
        if has_end and not has_start:
            query.refuse(self.start.name, f"is required with {self.end.name}.")
        if start is None or end is None:
            return None
        if end <= start:
            query.refuse(self.end.name, f"must be after {self.start.name}.")
        return start, end

    def read_time(self, query: Input, zone: ZoneInfo, otherwise: TimeRange) -> TimeRange:
        """Return the range in a time zone, or `otherwise` without one."""
        local_range = self.read(query)
        return otherwise if local_range is None else between(*local_range, zone)

    def is_absent(self, query: Input) -> bool:
        """Return whether neither was sent; invalid values count as sent."""
        texts = (text for texts in self.texts(query) for text in texts)
        has_errors = any(parameter.name in query.errors for parameter in self.parameters)
        return not has_errors and all(map(is_blank, texts))

    def texts(self, query: Input) -> list[list[str]]:
        """Return both values unparsed, to bind a cursor to."""
        return [query.texts(parameter.name) for parameter in self.parameters]


def date_range(
    start: str, end: str, *, required: bool = False, kind: FieldType[datetime] = MOMENT
) -> DateRange:
    """Return the two parameters with these descriptions."""
    is_moment = "example" in kind.schema
    end_kind = kind.documented(**kind.schema | {"example": "2026-05-13 23:59:59"}) if is_moment else kind
    return DateRange(
        Parameter(name="start_date", kind=kind, required=required, description=start),
        Parameter(name="end_date", kind=end_kind, required=required, description=end),
    )
