"""The period of a list, in words or dates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headwater.http.inputs.date_range import date_range
from headwater.http.inputs.fields import is_blank, text_up_to
from headwater.http.inputs.parameters import JsonInput, Parameter
from headwater.http.inputs.period_words import LONGEST_WORDS, UNREADABLE, DateSpan, read_period
from headwater.spaces.models import Space

WORDS = text_up_to(LONGEST_WORDS, rule="must be a string.", length_rule=UNREADABLE)
PERIOD = Parameter(name="period", kind=WORDS, description="In words; see query_report.")
DATES = date_range("Instead of period: YYYY-MM-DD HH:MM:SS.", "Inclusive; needs start_date.")
PERIODS = (PERIOD, *DATES.parameters)


def with_dates(
    arguments: dict[str, Any], space: Space, current_time: datetime, default: str = ""
) -> dict[str, Any]:
    """Replace a period in words by dates, by default `default`. Raise Invalid."""
    has_dates = any(not is_blank(arguments.get(date.name)) for date in DATES.parameters)
    query = JsonInput({PERIOD.name: arguments.get(PERIOD.name)})
    today = current_time.astimezone(space.zone).date()
    dates = read_period(query, PERIOD, today, dated=has_dates, default=default)
    query.finish()
    other_arguments = {name: value for name, value in arguments.items() if name != PERIOD.name}
    return other_arguments if dates is None else {**other_arguments, **written(dates)}


def written(dates: DateSpan) -> dict[str, str]:
    return {"start_date": f"{dates.first} 00:00:00", "end_date": f"{dates.last} 23:59:59"}
