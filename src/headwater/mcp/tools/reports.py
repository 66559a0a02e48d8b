"""The tool that adds up: one call for a question such as which channels brought last month's
revenue. Arguments that are left out have the default that most questions mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time
from typing import Any

from headwater.attribution.models import MODELS
from headwater.contacts import filters
from headwater.events.parameters import EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.date_range import MOMENT_OR_BLANK, date_range
from headwater.http.fields import one_of, whole_number, written
from headwater.http.openapi import TEXT, object_schema
from headwater.http.parameters import Input, JsonInput, ListParameter, Parameter
from headwater.mcp.context import ToolContext
from headwater.mcp.dates import EXAMPLES, read_dates
from headwater.mcp.pages import MOST_ROWS
from headwater.mcp.tool import Arguments, Schema, Tool, arguments_of
from headwater.mcp.tools.attribution import WINDOW
from headwater.reports.models import (
    CREDITED,
    Comparison,
    DateTimeSpan,
    Figure,
    Filters,
    Group,
    GroupKey,
    Measure,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.report import CONNECTION_SECONDS, query_report
from headwater.reports.validation import LONGEST_CAMPAIGN, MOST_GROUPS
from headwater.sources.catalogue import SOURCES
from headwater.spaces.models import Space

DEFAULT_PERIOD = "last 30 days"
NAMED = frozenset(
    {Group.CAMPAIGN, Group.ADSET, Group.AD, Group.EVENT, Group.COMPANY, Group.WEEK}
)  # fmt: skip
"""Groups whose key is not the name that people use: they get a second column."""

_MEASURES = ListParameter(
    name="measures", kind=one_of([str(measure) for measure in Measure]), most=len(Measure),
    default=[Measure.CREDITED_REVENUE, Measure.CREDITED_EVENTS],
    description=(
        "credited_revenue and credited_events share each event out over the touchpoints that the "
        "attribution model credits, and add up. events, revenue, contacts and average_order_value "
        "are of whole events, and in groups of touchpoints (source to keyword) an event counts "
        "in each group that has a credited one."
    ),
)  # fmt: skip
_GROUP_BY = ListParameter(
    name="group_by", kind=one_of([str(group) for group in Group]), most=MOST_GROUPS,
    description=(
        "By what to group; at most two, [] for totals only. If left out: source where credit is "
        "asked for, else none. channel is paid, organic, direct or other."
    ),
)  # fmt: skip
_PERIOD = Parameter(
    name="period",
    kind=written({"type": "string", "maxLength": 100}, str),
    default=DEFAULT_PERIOD,
    description=f"The time in words, instead of start_date and end_date. One of: {EXAMPLES}.",
)
_TIME = date_range(
    "First second of the range, on the Space's clock; with end_date.",
    "Last second of the range, included; with start_date.",
    kind=MOMENT_OR_BLANK,
)
_MODEL = Parameter(
    name="attribution_model", kind=one_of(tuple(MODELS)), default="last_touch",
    description="How credit is shared out over the touchpoints before an event.",
)  # fmt: skip
_SOURCES = ListParameter(
    name="sources", kind=one_of(SOURCES), most=len(SOURCES),
    description="Only the credit of these sources.",
)  # fmt: skip
_CAMPAIGN = Parameter(
    name="campaign", kind=written({"type": "string", "maxLength": LONGEST_CAMPAIGN}, str),
    description="Only the credit of campaigns whose name or id contains this.",
)  # fmt: skip
_COMPARE = Parameter(
    name="compare", kind=one_of([str(comparison) for comparison in Comparison]), default="none",
    description="With which time to compare every figure.",
)  # fmt: skip
_LIMIT = Parameter(
    name="limit", kind=whole_number(1, MOST_ROWS), default=50,
    description="How many groups to show at most. The totals are of all.",
)  # fmt: skip
_ORDER_BY = Parameter(
    name="order_by", kind=one_of([str(column) for column in (*Measure, *Group)]),
    description="A measure (largest first) or group (in order) of those asked for; the first "
    "measure if left out, or the time if grouped by one.",
)  # fmt: skip
_ARGUMENTS = (
    _MEASURES, _GROUP_BY, _PERIOD, *_TIME.parameters, _MODEL, WINDOW, QUERY_MODE,
    EVENT_NAMES_PARAMETER, _SOURCES, _CAMPAIGN, _COMPARE, _LIMIT, _ORDER_BY,
)  # fmt: skip
_TIMES = (Group.DAY, Group.WEEK, Group.MONTH)


async def _query_report(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        space = await context.space(connection)
    query = _read(arguments, space, datetime.now(UTC))
    async with context.transaction(CONNECTION_SECONDS) as connection:
        report = await query_report(connection, context.space_id, query)
    return _answer(query, report)


def _read(arguments: Arguments, space: Space, now: datetime) -> ReportQuery:
    """Read the report that arguments describe. Raises Invalid with every rule they break."""
    none = arguments.get(_GROUP_BY.name) == []
    query = JsonInput({k: v for k, v in arguments.items() if not (none and k == _GROUP_BY.name)})
    span = _read_span(query, space, now)
    measures = tuple(Measure(name) for name in _MEASURES.read(query))
    groups = tuple(Group(name) for name in _GROUP_BY.read(query))
    if not groups and not none and not CREDITED.isdisjoint(measures):
        groups = (Group.SOURCE,)
    by = _read_order(query, measures, groups)
    clock = filters.DateContext(space.zone, now.astimezone(space.zone).date())
    report_query = ReportQuery(
        start=span.start, end=span.end, measures=measures, group_by=groups,
        model=_MODEL.read(query) or "", window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=Filters(
            EVENT_NAMES_PARAMETER.read(query),
            filters.read_conditions(query, space.field_labels, clock),
            _SOURCES.read(query), _CAMPAIGN.read(query),
        ),
        compare=Comparison(_COMPARE.read(query) or Comparison.NONE),
        limit=_LIMIT.read(query) or 0, order_by=by, descending=by not in groups,
    )  # fmt: skip
    query.finish()
    return report_query


def _read_span(query: Input, space: Space, now: datetime) -> DateTimeSpan:
    words = None if query.single(_PERIOD.name) is None else _PERIOD.read(query)
    dated = any(query.single(date.name) is not None for date in _TIME.parameters)
    if dated and words is not None:
        query.refuse(_PERIOD.name, "must not be given with start_date and end_date.")
    elif (local := _TIME.read(query)) is not None:
        return DateTimeSpan(*local)
    today = now.astimezone(space.zone).date()
    try:
        dates = read_dates(words or DEFAULT_PERIOD, today)
    except ValueError as error:
        query.refuse(_PERIOD.name, str(error))
        dates = read_dates(DEFAULT_PERIOD, today)
    return DateTimeSpan(
        datetime.combine(dates.first, time()), datetime.combine(dates.last, time(23, 59, 59))
    )


def _read_order(
    query: Input, measures: tuple[Measure, ...], groups: tuple[Group, ...]
) -> Measure | Group | None:
    word = _ORDER_BY.read(query)
    if word is None:
        return next((group for group in groups if group in _TIMES), None)
    for column in (*measures, *groups):
        if column == word:
            return column
    query.refuse(_ORDER_BY.name, "must be one of the measures or groups that are asked for.")
    return None


def _answer(query: ReportQuery, report: Report) -> dict[str, Any]:
    compared = report.compared_span
    return {
        "columns": [*_key_columns(query), *_figure_columns(query)],
        "rows": [[*_keys(query, row), *_figures(query, row)] for row in report.rows],
        "left_out": report.left_out,
        "totals": _named(query, report.total),
        "unattributed": report.unattributed and _named(query, report.unattributed),
        "period": _written(report.span),
        "compared_period": compared and _written(compared),
        "timezone": report.timezone,
        "currency": report.currency,
        "attribution_model": query.model,
        "attribution_window": query.window_days,
        "query_mode": "company" if query.by_company else "profile",
    }


def _key_columns(query: ReportQuery) -> Iterator[str]:
    for group in query.group_by:
        yield group
        if group in NAMED:
            yield f"{group}_name"


def _figure_columns(query: ReportQuery) -> Iterator[str]:
    for measure in query.measures:
        yield measure
        if query.compare is not Comparison.NONE:
            yield f"{measure}_before"
            yield f"{measure}_change"


def _keys(query: ReportQuery, row: ReportRow) -> Iterator[str | None]:
    for group, key in zip(query.group_by, row.keys, strict=True):
        yield _key_text(group, key)
        if group in NAMED:
            yield key.label


def _key_text(group: Group, key: GroupKey) -> str | None:
    return key.label if group is Group.MONTH else key.value


def _figures(query: ReportQuery, row: ReportRow) -> Iterator[float | None]:
    for measure in query.measures:
        yield _number(row.figures[measure])
        if query.compare is not Comparison.NONE:
            change = row.changes.get(measure) if row.changes is not None else None
            yield None if row.compared is None else _number(row.compared[measure])
            yield None if change is None else _number(change.ratio)


def _named(query: ReportQuery, row: ReportRow) -> dict[str, float | None]:
    return dict(zip(_figure_columns(query), _figures(query, row), strict=True))


def _number(figure: Figure) -> float | None:
    """A figure as JSON has it; parts of events to four decimals."""
    return figure if figure is None or isinstance(figure, int) else round(float(figure), 4)


def _written(span: DateTimeSpan) -> dict[str, str]:
    return {"start_date": f"{span.start}", "end_date": f"{span.end}"}


def _described() -> dict[str, Schema]:
    arguments = arguments_of(*_ARGUMENTS) | filters.ARGUMENT
    arguments[_GROUP_BY.name] |= {"minItems": 0}
    return arguments


_DATES = object_schema({"start_date": TEXT, "end_date": TEXT})
_BY_MEASURE: Schema = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}

TOOLS = (
    Tool(
        name="query_report",
        title="Query a report",
        description=(
            "Revenue, events and contacts in total and by channel, campaign, day, country and "
            "more; every argument may be left out. Which channels brought last month's revenue: "
            '{"period": "last month"}. Answers columns and rows: a group whose key is null has '
            "none. With `compare`, …_before is the figure of the other time and …_change the "
            "change as a ratio. `unattributed` is what no touchpoint in the window is credited "
            "with: credited_revenue and unattributed revenue add up to all revenue."
        ),
        arguments=_described(),
        answer=object_schema(
            {
                "columns": {"type": "array", "items": TEXT},
                "rows": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": ["string", "number", "null"]}},
                },
                "left_out": {"type": "integer", "description": "Groups beyond the limit."},
                "totals": {**_BY_MEASURE, "description": "Over all groups, each event once."},
                "unattributed": {**_BY_MEASURE, "type": ["object", "null"]},
                "period": _DATES,
                "compared_period": {**_DATES, "type": ["object", "null"]},
                "timezone": TEXT, "currency": TEXT,
                "attribution_model": TEXT, "attribution_window": {"type": "integer"},
                "query_mode": TEXT,
            }
        ),
        call=_query_report,
    ),
)  # fmt: skip
