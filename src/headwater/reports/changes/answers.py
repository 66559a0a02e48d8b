"""`GET /reports/changes` and `GET /reports/spend/changes`: parameters and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.trained_models.choice import ChosenModel, cite
from headwater.http.csv_table import CsvTable
from headwater.http.inputs.fields import written
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import parse_moment
from headwater.reports.changes.change import (
    CauseShare,
    ChangedEvent,
    ChangeQuery,
    CreditChangeReport,
    FigureChange,
    Figures,
    SpendChangeReport,
)
from headwater.reports.changes.spend import SUMS
from headwater.reports.engine.report import GroupKey
from headwater.reports.engine.snapshots import ReportSnapshot, parse_snapshot
from headwater.reports.hints import Hints
from headwater.reports.query import Group, ReportQuery
from headwater.reports.questions.report import COMPLETENESS, name_keys, read_report_query
from headwater.reports.questions.report import PARAMETERS as REPORT_PARAMETERS
from headwater.reports.questions.shared import (
    COMPARE,
    Citation,
    ReportDates,
    UncountedMoney,
    UncountedSpend,
    describe_left_out,
    describe_left_out_spend,
    format_figure,
    format_moment,
    format_span,
    number,
)
from headwater.reports.questions.spend import FIGURES, read_spend_query, spend_number
from headwater.reports.questions.spend import PARAMETERS as SPEND_REPORT_PARAMETERS
from headwater.spaces.models import Space
from headwater.spend.changes import ChangedSpend
from headwater.spend.models import LEVELS
from headwater.spend.restatements import describe_restatement

_RULE = "must be the snapshot of a report, or a moment such as 2026-05-13 00:00:00."
_LEDGER_UNITS = (1e6, 1, 1, 1e6, 1e6)
"""The stored value of one unit of each ledger figure."""

Numbers = Mapping[str, float | None]


def _parse_point(text: str) -> ReportSnapshot | datetime:
    for parse in (parse_snapshot, parse_moment):
        try:
            return parse(text)
        except ValueError:
            continue
    raise ValueError(_RULE)


_POINT = written({"type": "string", "maxLength": 64}, _parse_point)
SINCE = Parameter(
    name="since",
    kind=_POINT,
    required=True,
    description="The earlier moment: the snapshot of a report, or a time on the Space's clock.",
)
CHANGES_SINCE = Parameter(
    name="changes_since", kind=_POINT, description="Adds why figures changed since a snapshot or time."
)
UNTIL = Parameter(name="until", kind=_POINT, description="The later one; now if left out.")
_REPORT_ONLY = {COMPARE.name, COMPLETENESS.name}
PARAMETERS = (SINCE, UNTIL, *(p for p in REPORT_PARAMETERS if p.name not in _REPORT_ONLY))
SPEND_PARAMETERS = (SINCE, UNTIL, *(p for p in SPEND_REPORT_PARAMETERS if p.name not in _REPORT_ONLY))


def read_change_query(query: Input, space: Space, current_time: datetime) -> ChangeQuery:
    """Raise Invalid with every broken rule."""
    return _read_changes(query, space, current_time, read_report_query)


def read_spend_change_query(query: Input, space: Space, current_time: datetime) -> ChangeQuery:
    """Raise Invalid with every broken rule."""
    return _read_changes(query, space, current_time, read_spend_query)


def _read_changes(
    query: Input, space: Space, current_time: datetime, read: Callable[[Input, Space, datetime], ReportQuery]
) -> ChangeQuery:
    start, end = SINCE.read(query), UNTIL.read(query)
    report = read(query, space, current_time)
    assert start is not None, "a required parameter that is missing is refused"
    return ChangeQuery(report, start, end)


class ReportVersion(Struct, frozen=True):
    """A report at one moment."""

    snapshot: str
    taken_at: str | None
    trained_model: Citation
    half_life_days: int | None


class ChangedFigures(Struct, frozen=True):
    """Figures at both snapshots, and their differences."""

    before: Numbers
    after: Numbers
    difference: Numbers
    causes: Annotated[
        Mapping[str, Numbers],
        Meta(description=f"The parts of the differences, which add up to them: {', '.join(ChangeCause)}."),
    ]


class EventDifference(Struct, frozen=True):
    """An event that changed figures."""

    event_id: int
    event_name: str
    event_time: str | None
    contact_id: int
    is_stored: bool
    events: Annotated[int, Meta(description="The change in the number of events.")]
    revenue: float | None
    rows: Annotated[list[dict[str, Any]] | UnsetType, Meta(description="The differences in each group.")] = (
        UNSET
    )


class SpendDifference(Struct, frozen=True):
    """A row of spend with its differences, in its own currency."""

    date: str
    platform: str
    account_id: str | None
    campaign_id: str | None
    adset_id: str | None
    ad_id: str | None
    country: str | None
    currency: str
    amount: float
    impressions: float
    clicks: float
    platform_conversions: float
    platform_revenue: float
    is_stored: bool
    restatement: Annotated[
        str | None, Meta(description="What the platform changed, and when it was pulled; null otherwise.")
    ]


class EventCause(Struct, frozen=True):
    """The events that a cause changed; null for a cause that changes none of them."""

    events: int | None
    largest: list[EventDifference]


class SpendCause(Struct, frozen=True):
    """The events and the rows of spend that a cause changed; null for a cause that changes none of them."""

    events: int | None
    largest_events: list[EventDifference]
    rows: int | None
    largest_rows: list[SpendDifference]


class ReportChanges(Struct, frozen=True):
    """The changed figures of a report, by group and by cause."""

    since: ReportVersion
    until: ReportVersion
    columns: tuple[str, ...]
    totals: ChangedFigures
    overall: ChangedFigures | None
    unattributed: ChangedFigures | None
    rows: list[dict[str, Any]]
    left_out: Annotated[int, Meta(description="Changed groups beyond the limit.")]
    causes: dict[str, EventCause]
    unexplained: Annotated[Numbers, Meta(description="The differences without a cause: 0.")]
    period: ReportDates
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    left_out_money_before: list[UncountedMoney]
    hints: Hints = UNSET


class SpendReportChanges(Struct, frozen=True):
    """The changed figures of a report of spend, by group and by cause."""

    since: ReportVersion
    until: ReportVersion
    columns: tuple[str, ...]
    totals: ChangedFigures
    unmatched: Annotated[ChangedFigures, Meta(description="Spend that belongs to no row.")]
    rows: list[dict[str, Any]]
    left_out: Annotated[int, Meta(description="Changed groups beyond the limit.")]
    causes: dict[str, SpendCause]
    unexplained: Annotated[Numbers, Meta(description="The differences without a cause: 0.")]
    period: ReportDates
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    left_out_money_before: list[UncountedMoney]
    left_out_spend: list[UncountedSpend]
    left_out_spend_before: list[UncountedSpend]
    cost_rate: float | None
    hints: Hints = UNSET


def changes_answer(query: ChangeQuery, report: CreditChangeReport) -> ReportChanges:
    groups = query.report.group_by
    return ReportChanges(
        _snapshot(report.start, report.trained_models[0], report.timezone),
        _snapshot(report.end, report.trained_models[1], report.timezone),
        report.columns,
        _write_change(report.total),
        report.overall and _write_change(report.overall),
        report.unattributed and _write_change(report.unattributed),
        [{**name_keys(groups, row.keys), **_members(row.change)} for row in report.rows],
        report.left_out,
        {
            str(share.cause): EventCause(
                share.events, [_event_with_rows(groups, event) for event in share.largest_events]
            )
            for share in report.causes
        },
        _numbers(report.unexplained),
        format_span(report.span),
        report.timezone,
        report.currency,
        describe_left_out(report.left_out_money),
        describe_left_out(report.left_out_money_before),
    )


def spend_changes_answer(report: SpendChangeReport) -> SpendReportChanges:
    group = report.group
    return SpendReportChanges(
        _snapshot(report.start, report.trained_models[0], report.timezone),
        _snapshot(report.end, report.trained_models[1], report.timezone),
        FIGURES,
        _write_change(report.total),
        _write_change(report.unmatched),
        [
            {f"{group}": key.value, f"{group}_name": key.label, **_members(row.change)}
            for row in report.rows
            for key in row.keys
        ],
        report.left_out,
        {str(share.cause): _spend_cause(share, report.timezone) for share in report.causes},
        {name: figure for name, figure in _numbers(report.total.unexplained).items() if name in SUMS},
        format_span(report.span),
        report.timezone,
        report.currency,
        describe_left_out(report.left_out_money),
        describe_left_out(report.left_out_money_before),
        describe_left_out_spend(report.left_out_spend),
        describe_left_out_spend(report.left_out_spend_before),
        None if report.cost_rate is None else float(report.cost_rate),
    )


def changes_csv(query: ChangeQuery, report: CreditChangeReport) -> bytes:
    """Return rows as CSV (the total without groups), a line per snapshot, difference and cause."""
    groups = query.report.group_by
    if not groups:
        return _csv([], report.columns, [([], report.total)])
    names = name_keys(groups, (GroupKey(None, None),) * len(groups))
    rows = [([*name_keys(groups, row.keys).values()], row.change) for row in report.rows]
    return _csv(names, report.columns, rows)


def spend_changes_csv(report: SpendChangeReport) -> bytes:
    """Return rows, unmatched spend and total as CSV. Causes have no ratios."""
    if report.group is None:
        return _csv([], FIGURES, [([], report.total)])
    rows = [([key.value, key.label], row.change) for row in report.rows for key in row.keys]
    rows += [(["", "unmatched"], report.unmatched), (["", "total"], report.total)]
    return _csv([report.group, f"{report.group}_name"], FIGURES, rows)


def _csv(
    names: Iterable[str], columns: Iterable[str], rows: Iterable[tuple[Sequence[str | None], FigureChange]]
) -> bytes:
    table = CsvTable([*names, "part", *columns])
    for keys, change in rows:
        for row_part, figures in _parts(change):
            table.add([*keys, row_part, *(format_figure(figures.get(column)) for column in columns)])
    return table.content()


def _parts(change: FigureChange) -> Iterator[tuple[str, Numbers]]:
    answer = _write_change(change)
    yield from (("before", answer.before), ("after", answer.after), ("difference", answer.difference))
    yield from answer.causes.items()


def _snapshot(snapshot: ReportSnapshot, trained_model: ChosenModel | None, timezone: str) -> ReportVersion:
    taken_at = snapshot.moment.astimezone(ZoneInfo(timezone)).replace(tzinfo=None)
    return ReportVersion(
        str(snapshot),
        format_moment(taken_at),
        trained_model and cite(trained_model),
        snapshot.half_life_days or None,
    )


def _write_change(change: FigureChange) -> ChangedFigures:
    causes = {str(cause): _numbers(parts) for cause, parts in change.causes.items()}
    return ChangedFigures(_numbers(change.start), _numbers(change.end), _numbers(change.difference), causes)


def _members(change: FigureChange) -> dict[str, Any]:
    answer = _write_change(change)
    return {name: getattr(answer, name) for name in answer.__struct_fields__}


def _numbers(figures: Figures) -> dict[str, float | None]:
    return {name: spend_number(name, figure) for name, figure in figures.items()}


def _event_with_rows(groups: tuple[Group, ...], event: ChangedEvent) -> EventDifference:
    rows = [{**name_keys(groups, keys), **_numbers(figures)} for keys, figures in event.rows]
    return structs.replace(_event(event), rows=rows)


def _event(event: ChangedEvent) -> EventDifference:
    return EventDifference(
        event.event_id,
        event.name,
        format_moment(event.at.replace(microsecond=0)),
        event.contact_id,
        event.is_stored,
        event.events,
        number(event.revenue),
    )


def _spend_cause(share: CauseShare, timezone: str) -> SpendCause:
    events = [_event(event) for event in share.largest_events]
    rows = [_ledger_row(row, timezone) for row in share.largest_rows]
    return SpendCause(share.events, events, share.rows, rows)


def _ledger_row(change: ChangedSpend, timezone: str) -> SpendDifference:
    row = change.row
    account, campaign, adset, ad = (*row.path, *("",) * (len(LEVELS) - len(row.path)))
    return SpendDifference(
        f"{row.date}",
        row.platform,
        account or None,
        campaign or None,
        adset or None,
        ad or None,
        row.country or None,
        row.currency,
        *(figure / unit for figure, unit in zip(row.figures, _LEDGER_UNITS, strict=True)),
        is_stored=change.is_stored,
        restatement=describe_restatement(change, timezone),
    )
