"""A report's one statement for a period, put together from closed tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from headwater.attribution.models import MODELS, CreditedTouches
from headwater.attribution.query import Attribution, credited_touches
from headwater.database.queries import Queries
from headwater.reports.dimensions import CAMPAIGN_FILTER, CAMPAIGN_JOINS, DIMENSIONS, Dimension
from headwater.reports.models import CREDITED, Group, Measure, ReportQuery

queries = Queries(__name__, "reports.sql")

WHOLE_EVENT = 5 * lcm(*range(1, 41))
"""The units in which an event itself is shared out, by the same functions as money. Every model's
shares of a path of up to 40 touches are whole numbers of them, and of a longer one nearly so;
either way they add up to the event.
"""

_ORDER: dict[Measure, SQL] = {
    Measure.EVENTS: SQL("g.events"),
    Measure.REVENUE: SQL("coalesce(g.revenue, 0)"),
    Measure.CREDITED_EVENTS: SQL("coalesce(g.weight, 0)"),
    Measure.CREDITED_REVENUE: SQL("coalesce(g.credit, 0)"),
    Measure.CONTACTS: SQL("g.contacts"),
    Measure.AVERAGE_ORDER_VALUE: SQL("round(g.revenue / nullif(g.priced, 0), 4)"),
}
_NUMBERS = (1, 2)
_COMMA, _AND, _LINE = SQL(", "), SQL(" AND "), SQL("\n")
_NO_TEXT, _NO_NUMBER = SQL("NULL::text"), SQL("NULL::bigint")


@dataclass(frozen=True)
class StatementShape:
    """The parts of a query that decide the form of its statement."""

    query: ReportQuery
    attribution: Attribution | None
    """None when neither a group nor a measure nor a filter needs touches."""

    @property
    def keys(self) -> dict[int, Dimension]:
        """The groups by the number of their key."""
        dimensions = [DIMENSIONS[group] for group in self.query.group_by]
        return dict(zip(_NUMBERS, dimensions, strict=False))

    @property
    def by_touch(self) -> bool:
        """True when groups are of touches: then an event without any is in none of them."""
        return any(dimension.of_touch for dimension in self.keys.values())

    @property
    def puts_together(self) -> bool:
        """True when several touches could count one event's amount in one place."""
        return self.needs_whole and (self.by_touch or self.query.filters.of_touches)

    @property
    def needs_whole(self) -> bool:
        """True when whole events are counted or added up."""
        return self.needs(Measure.EVENTS, Measure.REVENUE, Measure.AVERAGE_ORDER_VALUE)

    def needs(self, *measures: Measure) -> bool:
        """True when the query has any of these measures."""
        return not set(measures).isdisjoint(self.query.measures)


def needs_touches(query: ReportQuery) -> bool:
    """True when a group, a measure or a filter is about touches and their credit."""
    by_touch = any(DIMENSIONS[group].of_touch for group in query.group_by)
    return by_touch or query.filters.of_touches or not CREDITED.isdisjoint(query.measures)


def report(shape: StatementShape, only: Composable, groups: Composable) -> Composed:
    """The statement of a period whose events `e` meet `only`, with the rows of `groups`."""
    contact = SQL("r.contact_id") if shape.needs(Measure.CONTACTS) else None
    summed = SQL("sum(p.{})" if shape.by_touch else "sum(p.led_{})")
    return queries["report"].format(
        parts=_parts(shape, only),
        contact=contact or _NO_NUMBER,
        contact_key=SQL("r.contact_id,") if contact else SQL(""),
        visible=SQL("p.touched" if shape.by_touch else "true"),
        groups=groups,
        sums=_sums(shape),
        labels=_LINE.join(_label_joins(shape)),
        **{f"name_{number}": _least_name(shape, number) for number in _NUMBERS},
        **{f"key_{number}": _text(shape, number) for number in _NUMBERS},
        **{f"label_{number}": _label(shape, number) for number in _NUMBERS},
        **{f"group_{name}": summed.format(SQL(name)) for name in ("events", "revenue", "priced")},
    )


def first_groups(query: ReportQuery) -> Composed:
    """The groups to list, as a part of `report`; of a tie those whose keys come first."""
    by = query.order_by or query.measures[0]
    keys = [SQL('g.key_{} COLLATE "C"').format(Literal(number)) for number in _NUMBERS]
    value = _ORDER[by] if isinstance(by, Measure) else keys[query.group_by.index(by)]
    direction = SQL("DESC" if query.descending else "ASC")
    order = _COMMA.join([SQL("{} {} NULLS LAST").format(value, direction), *keys])
    return queries["first_groups"].format(order=order)


def same_groups() -> Composable:
    """The groups that have certain keys, as a part of `report`."""
    return queries["same_groups"]


def _parts(shape: StatementShape, only: Composable) -> Composed:
    of_events = {
        "keys": _COMMA.join(_key(shape, number, of_touch=False) for number in _NUMBERS),
        "joins": _joins(shape, of_touch=False),
        "only": only,
    }
    if shape.attribution is None:
        return queries["plain_parts"].format(**of_events)
    owners = {
        number: SQL("s" if number in shape.keys and shape.keys[number].of_touch else "e")
        for number in _NUMBERS
    }
    keys = [SQL("{}.{}").format(owners[number], _key_name(number)) for number in _NUMBERS]
    return queries["credited_parts"].format(
        keys=_COMMA.join(keys),
        events=queries["events"].format(**of_events),
        join=SQL("" if shape.query.filters.of_touches else "LEFT"),
        touches=_touches(shape, shape.attribution),
    )


def _touches(shape: StatementShape, attribution: Attribution) -> Composed:
    model, filters = MODELS[attribution.model], shape.query.filters
    share, nothing = model.share.units, _NO_NUMBER
    together = shape.puts_together and model.take is CreditedTouches.EACH
    only = [SQL("c.source_id = ANY(%(source_ids)s)")] if filters.sources else []
    only += [CAMPAIGN_FILTER] if filters.campaign is not None else []
    # The first touch leads, unless it may be filtered out.
    leads = SQL("row_number() OVER () = 1" if filters.of_touches else "bool_or(c.place = 1)")
    grouping = [_key_name(number) for number, key in shape.keys.items() if key.of_touch]
    names = {
        f"name_{number}": key.name if (key := shape.keys.get(number)) and key.name else _NO_TEXT
        for number in _NUMBERS
    }
    return queries["touches_by_key" if together else "each_touch"].format(
        keys=_COMMA.join(_key(shape, number, of_touch=True) for number in _NUMBERS),
        **names,
        leads=leads,
        units=share.format(units=SQL("e.units"))
        if shape.needs(Measure.CREDITED_REVENUE) else nothing,
        weight=share.format(units=SQL("%(whole_event)s::bigint"))
        if shape.needs(Measure.CREDITED_EVENTS) else nothing,
        touches=credited_touches(attribution),
        joins=_joins(shape, of_touch=True),
        only=_AND.join(only or [SQL("true")]),
        grouping=_COMMA.join(grouping or [SQL("c.place IS NULL")]),
    )  # fmt: skip


def _sums(shape: StatementShape) -> Composed:
    """The sums that are read. Others are left out, as each costs time for millions of parts."""
    whole = shape.by_touch and shape.needs_whole
    needed = {
        "events": (whole, SQL("count(*)")),
        "revenue": (whole, SQL("sum(r.amount)")),
        "priced": (whole, SQL("count(r.amount)")),
        "credit": (shape.needs(Measure.CREDITED_REVENUE), SQL("sum(r.credit)")),
        "weight": (shape.needs(Measure.CREDITED_EVENTS), SQL("sum(r.weight)")),
    }
    return _COMMA.join(
        SQL("{} AS {}").format(value if wanted else _NO_NUMBER, Identifier(name))
        for name, (wanted, value) in needed.items()
    )


def _least_name(shape: StatementShape, number: int) -> Composable:
    if number not in shape.keys or shape.keys[number].name is None:
        return _NO_TEXT
    return SQL("min(r.{})").format(Identifier(f"name_{number}"))


def _key_name(number: int) -> Identifier:
    return Identifier(f"key_{number}")


def _key(shape: StatementShape, number: int, *, of_touch: bool) -> Composed:
    dimension = shape.keys.get(number)
    fits = dimension is not None and dimension.of_touch is of_touch
    key = dimension.key if dimension is not None and fits else _NO_TEXT
    return SQL("{} AS {}").format(key, _key_name(number))


def _joins(shape: StatementShape, *, of_touch: bool) -> Composed:
    needed = [join for key in shape.keys.values() if key.of_touch is of_touch for join in key.joins]
    if of_touch and shape.query.filters.campaign is not None:
        needed += CAMPAIGN_JOINS
    return _LINE.join(join for at, join in enumerate(needed) if join not in needed[:at])


def _text(shape: StatementShape, number: int) -> Composable:
    key = Identifier("p", f"key_{number}")
    return shape.keys[number].text.format(key=key) if number in shape.keys else key


def _label(shape: StatementShape, number: int) -> Composable:
    if number not in shape.keys:
        return _NO_TEXT
    return shape.keys[number].label.format(**_places(shape.query.group_by[number - 1], number))


def _label_joins(shape: StatementShape) -> list[Composed]:
    return [
        key.label_join.format(**_places(shape.query.group_by[number - 1], number))
        for number, key in shape.keys.items()
        if key.label_join is not None
    ]


def _places(group: Group, number: int) -> dict[str, Composable]:
    return {
        "alias": Identifier(f"label_{number}"),
        "key": _key_name(number),
        "name": Identifier(f"name_{number}"),
        "kind": Literal(str(group)),
    }
