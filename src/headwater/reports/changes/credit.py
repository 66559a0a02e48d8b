"""Explain the changed figures of a report, split by cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.history.past import PastReader, PastSpan
from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.history.states import MOMENTS, EventState, Family
from headwater.attribution.trained_models.choice import ChosenModel, find_trained_model
from headwater.reports.changes.change import (
    NONE_CHANGED,
    CauseShare,
    ChangedEvent,
    ChangedRow,
    ChangeQuery,
    CreditChangeReport,
    ExplainedChange,
    FigureChange,
    Figures,
    check_changes,
)
from headwater.reports.changes.event_sums import (
    ChangedEvents,
    FormerAmounts,
    add_up_states,
    build_paths,
    find_largest,
    load_former_amounts,
    name_figures,
    needs_first_orders,
    split_up,
)
from headwater.reports.engine.addition import BatchSums
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.engine.conversion import CurrencyExchange, LeftOutMoney, join_left_out
from headwater.reports.engine.measures import Sum, Sums, compute_figure, strip_zeros
from headwater.reports.engine.passes import PeriodPlan, PlanLoader, add_up_plans, find_left_out, load_left_out
from headwater.reports.engine.report import name_keys
from headwater.reports.engine.report_reader import ReportReader, open_reader, run_in_thread
from headwater.reports.engine.result import Keys, PeriodSums
from headwater.reports.engine.snapshots import SnapshotRefused, Snapshots, find_snapshots
from headwater.reports.query import Comparison, ReportProblem, list_columns
from headwater.spend.rates.store import RatePoint, have_changed

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def query_changes(connection: AsyncConnection, space_id: int, query: ChangeQuery) -> CreditChangeReport:
    """Return a report's changes between two snapshots. Needs a fresh transaction available for
    CONNECTION_SECONDS.

    Raises Invalid for a broken rule, NotFound for an unknown Space, and ReportRefused for incomparable
    snapshots or after SECONDS.
    """
    check_changes(query)
    report = replace(query.report, compare=Comparison.NONE, complete_on=None)
    async with open_reader(connection, space_id, report.currency, money=report.is_about_money) as reader:
        (period_plan,) = await PlanLoader(reader, [report]).plans(report)
        snapshots = await find_snapshots(reader, query.start, query.end, period_plan)
        (changes,) = await load_changes(reader, [period_plan], snapshots)
        rows = await run_in_thread(changes.rows) if report.group_by else []
        total, overall, unattributed = changes.total(), changes.overall(), changes.unattributed()
        changes_shown = (total, overall, unattributed, *(change for _, change in rows))
        moving = {cause for change in changes_shown if change is not None for cause in change.causes}
        events = await load_largest(reader, changes, changes.events.causes)
        shares = [CauseShare(cause, *events.get(cause, NONE_CHANGED)) for cause in changes.sums.causes]
        listed_rows = rows[: report.limit]
        names = await name_keys(
            reader, period_plan.period, period_plan.dimensions, [keys for keys, _ in listed_rows]
        )
        return CreditChangeReport(
            start=snapshots.start,
            end=snapshots.end,
            trained_models=changes.trained_models,
            columns=changes.columns,
            total=total,
            overall=overall,
            unattributed=unattributed,
            rows=tuple(ChangedRow(names[keys], change) for keys, change in listed_rows),
            left_out=len(rows) - len(listed_rows),
            causes=tuple(
                share for share in shares if (share.cause in moving if share.events is None else share.events)
            ),
            span=period_plan.period.span,
            timezone=reader.space.timezone,
            currency=reader.currency,
            left_out_money_before=changes.left_out[0],
            left_out_money=changes.left_out[1],
        )


@dataclass(frozen=True)
class Terms:
    """The inputs of a report besides events and touches."""

    cause: ChangeCause | None
    """None for the first terms."""
    trained_model: ChosenModel | None
    half_life_days: int
    rates_at: RatePoint | None
    """None means now."""

    def apply(self, planned: PeriodPlan) -> PeriodPlan:
        scope = replace(
            planned.plan.scope, trained_model=self.trained_model, half_life_days=self.half_life_days or None
        )
        return replace(planned, plan=replace(planned.plan, scope=scope))


async def _load_terms(
    reader: ReportReader, current_model: ChosenModel | None, snapshots: Snapshots
) -> list[Terms]:
    """Return the earlier terms, then one item per changed term. Raises SnapshotRefused without a model."""
    start, end, _ = snapshots
    rates = await _load_rate_points(reader, snapshots)
    trained_models = [
        await _load_trained_model(reader, field, snapshot.trained_model_id, current_model)
        for field, snapshot in (("since", start), ("until", end))
    ]
    terms = [Terms(None, trained_models[0], start.half_life_days, rates[0])]
    if rates[0] != rates[1]:
        terms.append(replace(terms[-1], cause=ChangeCause.RATES, rates_at=rates[1]))
    if start.trained_model_id != end.trained_model_id:
        terms.append(replace(terms[-1], cause=ChangeCause.TRAINED_MODELS, trained_model=trained_models[1]))
    if start.half_life_days != end.half_life_days:
        terms.append(replace(terms[-1], cause=ChangeCause.HALF_LIFE, half_life_days=end.half_life_days))
    return terms


async def _load_rate_points(
    reader: ReportReader, snapshots: Snapshots
) -> tuple[RatePoint | None, RatePoint | None]:
    """Return the points of the exchange rates of both snapshots; None means now."""
    if not reader.is_about_money:
        return None, None
    start, end, current_rates = (snapshot.rates_at for snapshot in snapshots)
    end_point = None if end == current_rates else end
    has_changed = await have_changed(reader.connection, reader.space.id, start, end)
    return start if has_changed else end_point, end_point


async def _load_trained_model(
    reader: ReportReader, field: str, trained_model_id: int, current_model: ChosenModel | None
) -> ChosenModel | None:
    if not trained_model_id or (current_model is not None and current_model.id == trained_model_id):
        return current_model
    trained_model = await find_trained_model(reader.connection, reader.space.id, trained_model_id)
    if trained_model is None:
        raise SnapshotRefused(field, ReportProblem.MODEL_DELETED)
    return trained_model


class CreditChanges(Struct, frozen=True):
    planned: PeriodPlan
    """Under the later terms."""
    sums: ExplainedChange[PeriodSums]
    events: ChangedEvents
    index: int
    terms: Sequence[Terms]
    left_out: tuple[tuple[LeftOutMoney, ...], tuple[LeftOutMoney, ...]]
    """At both snapshots."""

    @property
    def trained_models(self) -> tuple[ChosenModel | None, ChosenModel | None]:
        return self.terms[0].trained_model, self.terms[-1].trained_model

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(str, list_columns(self.planned.plan.query)))

    def change(self, make: Callable[[PeriodSums], Figures]) -> FigureChange:
        return FigureChange.of(self.sums.map(make))

    def figures(self, sums: Sums) -> Figures:
        return name_figures(self.planned.plan.query, sums)

    def total(self) -> FigureChange:
        return self.change(lambda sums: self.figures(sums.total))

    def overall(self) -> FigureChange | None:
        if self.planned.plan.query.of_touch_dates:
            return None
        return self.change(lambda sums: self.figures(sums.overall))

    def unattributed(self) -> FigureChange | None:
        query = self.planned.plan.query
        if not query.is_about_touches or query.of_some_touches:
            return None
        columns = [column for column in list_columns(query) if column.model or len(query.models) == 1]

        def figures(sums: PeriodSums) -> Figures:
            unattributed_sums = {model: sums.unattributed(model, tuple(NoCredit)) for model in query.models}
            pairs = [(column, unattributed_sums[column.model or query.models[0]]) for column in columns]
            return {
                str(column): compute_figure(query, column, column_figure, column_figure)
                for column, column_figure in pairs
            }

        return self.change(figures)

    def rows(self) -> list[tuple[Keys, FigureChange]]:
        parts = self.sums.causes.values()
        all_keys = sorted({sums.keys(index) for sums in parts for index in range(sums.groups.groups)})
        sums_by_keys = self.sums.map(lambda sums: sums.find(all_keys))
        rows: list[tuple[Keys, FigureChange]] = []
        for keys in all_keys:
            figures = sums_by_keys.map(partial(self._figures_at, keys))
            change = FigureChange.of(figures)
            if change.causes:
                rows.append((keys, change))
        return sorted(rows, key=lambda row: self.order(row[0], row[1].difference))

    def _figures_at(self, keys: Keys, sums_by_keys: Mapping[Keys, Sums]) -> Figures:
        return self.figures(sums_by_keys.get(keys, Sums({})))

    def order(self, keys: Keys, difference: Figures) -> tuple[Fraction, list[str]]:
        pairs = zip(self.planned.dimensions, keys, strict=True)
        return -abs(Fraction(difference[self.columns[0]] or 0)), [d.key_text(key) or "" for d, key in pairs]


# Changed events are measured under the later terms, changed terms on the earlier events. With another trained
# model and two changes of events:
#
#                     earlier events                 later events
#     earlier model   START
#                       │ trained models
#     later model       ▼ ── late_events ── merges ──▶ END
#
async def load_changes(
    reader: ReportReader, plans: Sequence[PeriodPlan], snapshots: Snapshots
) -> list[CreditChanges]:
    """Explain reports about the same events. Raises ReportRefused."""
    terms = await _load_terms(reader, plans[0].plan.scope.trained_model, snapshots)
    readers = {term.rates_at: reader.with_rates(term.rates_at) for term in terms}
    versions = [[term.apply(period_plan) for period_plan in plans] for term in terms]
    current_sums = [
        await add_up_plans(readers[term.rates_at], version)
        for term, version in zip(terms, versions, strict=True)
    ]
    families = await _load_families(reader, plans, snapshots)
    amounts = [await _load_amounts(reader, term, families) for term in terms]
    first, last = snapshots.start.point.revision, snapshots.end.point.revision
    moments = range(MOMENTS * (first + 1) - 1, MOMENTS * (last + 1))
    current_plans = [period_plan.plan for period_plan in versions[-1]]
    events = await run_in_thread(split_up, current_plans, families, moments, amounts[-1], reader.require_time)
    states = (
        {event_id: event.start for event_id, event in events.states.items()},
        {event_id: event.end for event_id, event in events.states.items()},
    )
    current_states = _list_existing({event_id: event.current for event_id, event in events.states.items()})

    def sums_at(index: int, states: Mapping[int, EventState | None]) -> list[list[BatchSums]]:
        """Return the sums under some terms, with changed events in other states."""
        reader.require_time()
        version = [period_plan.plan for period_plan in versions[index]]
        subtracted_sums = add_up_states(version, current_states, amounts[index], negated=True)
        former_sums = add_up_states(version, _list_existing(states), amounts[index])
        return [
            [*a, *b, *c] for a, b, c in zip(current_sums[index], subtracted_sums, former_sums, strict=True)
        ]

    start = [await run_in_thread(sums_at, term_number, states[0]) for term_number in range(len(terms))]
    end = await run_in_thread(sums_at, -1, states[1])
    left_out = (
        await _load_left_out(readers[terms[0].rates_at], versions[0][0], states[0], amounts[0]),
        await _load_left_out(readers[terms[-1].rates_at], versions[-1][0], states[1], amounts[-1]),
    )
    result: list[CreditChanges] = []
    for index, period_plan in enumerate(versions[-1]):
        join = partial(PeriodSums.join, period_plan.plan.query, period_plan.period)
        parts = {
            cause: join(events.causes[cause][index].pieces) for cause in ChangeCause if cause in events.causes
        }
        for term_number in reversed(range(1, len(terms))):
            cause = terms[term_number].cause
            assert cause is not None, "all terms except the first have a cause"
            before = [batch.negated() for batch in start[term_number - 1][index]]
            parts[cause] = join([*start[term_number][index], *before])
        sums = ExplainedChange(join(start[0][index]), join(end[index]), parts)
        result.append(CreditChanges(period_plan, sums, events, index, terms, left_out))
    _require_counted(result[0], snapshots)
    return result


def _require_counted(changes: CreditChanges, snapshots: Snapshots) -> None:
    """Raise SnapshotRefused if the sums cover other events than the snapshots."""
    sides = (("since", snapshots.start, changes.sums.start), ("until", snapshots.end, changes.sums.end))
    for field, snapshot, sums in sides:
        if snapshot.events not in {None, sums.event_count}:
            raise SnapshotRefused(field, ReportProblem.UNCOUNTED)


async def _load_families(
    reader: ReportReader, plans: Iterable[PeriodPlan], snapshots: Snapshots
) -> list[Family]:
    (first_day, last_day), start = next(iter(plans)).days, snapshots.start
    if any(needs_first_orders(period_plan.plan.query) for period_plan in plans):
        first_day = date.min  # earlier orders decide whether an order is the first
    span = PastSpan(start.point.revision, start.taken_at, (first_day, last_day))
    return await PastReader(reader.connection, reader.space.id, span, reader.bound_time).families()


async def _load_amounts(reader: ReportReader, terms: Terms, families: Iterable[Family]) -> FormerAmounts:
    exchange = None
    if reader.is_about_money:
        exchange = CurrencyExchange(reader.space, reader.currency, terms.rates_at)
    return await load_former_amounts(reader.connection, exchange, families)


async def _load_left_out(
    reader: ReportReader, planned: PeriodPlan, states: Mapping[int, EventState | None], amounts: FormerAmounts
) -> tuple[LeftOutMoney, ...]:
    """Return the money left out at a snapshot; `states` has all events changed since."""
    unchanged = await load_left_out(reader, planned, frozenset(states))
    former_states = dict(_list_existing(states))
    left_out = amounts.left_out(former_states)
    affected_events = [(event_id, former_states[event_id]) for event_id in left_out.event_ids.tolist()]
    if not affected_events:
        return unchanged
    (ids,) = find_left_out([planned.plan], build_paths(affected_events, amounts))
    return join_left_out([unchanged, left_out.sum_money(ids)])


def _list_existing(states: Mapping[int, EventState | None]) -> list[tuple[int, EventState]]:
    return [(event_id, state) for event_id, state in states.items() if state is not None]


async def load_largest(
    reader: ReportReader, changes: CreditChanges, causes: Collection[ChangeCause]
) -> dict[ChangeCause, tuple[int, tuple[ChangedEvent, ...]]]:
    """Return each cause's number of changed events, and the largest differences."""
    query, period_plan = changes.planned.plan.query, changes.planned
    parts_by_cause = {
        cause: await run_in_thread(find_largest, query, changes.order, parts[changes.index])
        for cause, parts in changes.events.causes.items()
        if cause in causes
    }
    groups = {keys for _, events in parts_by_cause.values() for event in events for keys, _ in event.rows}
    names = await name_keys(reader, period_plan.period, period_plan.dimensions, groups)
    largest: dict[ChangeCause, tuple[int, tuple[ChangedEvent, ...]]] = {}
    for cause, (count, parts) in parts_by_cause.items():
        events: list[ChangedEvent] = []
        for row_part in parts:
            states = changes.events.states[row_part.event_id]
            occurred_at = (_EPOCH + timedelta(microseconds=states.latest.at)).astimezone(reader.space.zone)
            events.append(
                ChangedEvent(
                    row_part.event_id,
                    states.latest.name,
                    occurred_at.replace(tzinfo=None),
                    states.latest.contact_id,
                    states.current is not None,
                    row_part.total[Sum.EVENTS],
                    strip_zeros(Decimal(row_part.total.revenue).scaleb(-4)),
                    tuple((names[keys], figures) for keys, figures in row_part.rows),
                )
            )
        largest[cause] = count, tuple(events)
    return largest
