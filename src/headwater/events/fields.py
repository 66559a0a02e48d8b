"""The fields of an event row: JSON as an SQL expression, and the tables it needs.

Aliases: `c` is a row of the page, `e` the event, `l` its label, `h` the contact's last answer to "How did you
hear about us?", `g` the touchpoint's tag set. `campaign`, `adset`, `ad` and `account` are catalogue names of
the tag set's ids, joined only if selected.

A line is concatenated with `||`: `row_to_json` looks up the type of every field of every row, a third of an
export's time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import LiteralString, cast

from msgspec import Struct
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from headwater.attribution.models import Model, SharedAmount
from headwater.attribution.query import BOTH_AMOUNTS, OWN_AMOUNT
from headwater.database.json_lines import ColumnType, LineColumn
from headwater.events.answers import ListedEvent
from headwater.spend.ads.catalogue import KINDS as AD_KINDS


def _text(value: LiteralString) -> SQL:
    return SQL("to_json(" + value + ")::text")


def _quoted(value: LiteralString) -> SQL:
    """Quote a value that needs no JSON escaping."""
    return SQL("'\"' || " + value + " || '\"'")


def _unquoted(value: LiteralString) -> SQL:
    return SQL("(" + value + ")::text")


class Field(Struct, frozen=True):
    json: SQL
    """The value as JSON, or NULL. `{credit}` is the row's amount or credit, and `{space_credit}` the same in
    the Space's currency.
    """
    joins: tuple[str, ...] = ()
    needs_sources: bool = False
    is_per_event: bool = True
    """True for a field that is equal in all rows of an event."""
    type: ColumnType = ColumnType.TEXT


_BY_KEY = (
    "{join} LATERAL (SELECT * FROM {table} {alias} WHERE {alias}.space_id = %(space_id)s{also}"
    " AND {alias}.id >= {id} ORDER BY {alias}.id LIMIT 1) {alias} ON {alias}.id = {id}"
)


def _by_key(join: LiteralString, alias: str, table: LiteralString, id_: LiteralString) -> Composable:
    return SQL(_BY_KEY).format(
        join=SQL(join), table=SQL(table), alias=Identifier(alias), also=SQL(""), id=SQL(id_)
    )


JOINS: dict[str, Composable] = {
    "e": _by_key("JOIN", "e", "events", "c.event_id"),
    "l": SQL("LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = c.event_name"),
    "h": SQL(
        "LEFT JOIN LATERAL (SELECT a.self_reported_source FROM events a"
        " WHERE a.space_id = %(space_id)s AND a.contact_id = c.contact_id"
        " AND a.self_reported_source IS NOT NULL"
        " ORDER BY a.event_time DESC, a.id DESC LIMIT 1) h ON true"
    ),
    "g": _by_key("LEFT JOIN", "g", "tag_sets", "c.tag_set_id"),
    **{
        kind: SQL(_BY_KEY + " AND g.{name} IS NULL").format(
            join=SQL("LEFT JOIN"),
            table=SQL("ad_names"),
            alias=Identifier(kind),
            also=SQL(" AND {alias}.kind = {kind}").format(alias=Identifier(kind), kind=Literal(kind)),
            id=SQL("g.{id}").format(id=Identifier(f"{kind}_id")),
            name=Identifier(f"{kind}_name"),
        )
        for kind in AD_KINDS
    },
}
"""Joins, in dependency order. Each reads the first row from its key on, so that no plan reads a whole table
that has grown since it was analysed.
"""


AD_FIELDS = (
    "ad_id",
    "ad_name",
    "adset_id",
    "adset_name",
    "campaign_id",
    "campaign_name",
    "account_id",
    "account_name",
)


def _tag_field(json: SQL, *joins: str) -> Field:
    return Field(json, ("g", *joins), needs_sources=True, is_per_event=False)


IN_SPACE_CURRENCY = "amount_in_space_currency"
_FIELDS = {
    "id": Field(_unquoted("c.event_id"), type=ColumnType.WHOLE),
    "profile_id": Field(_quoted("c.contact_id")),
    "company_id": Field(_quoted("c.company_id")),
    "space_id": Field(_quoted("%(space_id)s::bigint")),
    "event_name": Field(_text("c.event_name")),
    "configured_name": Field(_text("coalesce(l.label, c.event_name)"), ("l",)),
    "amount": Field(_unquoted("trim_scale({credit})"), is_per_event=False, type=ColumnType.AMOUNT),
    "is_upsell": Field(_unquoted("e.is_upsell"), ("e",), type=ColumnType.BOOLEAN),
    "event_time_utc": Field(_quoted("iso_utc(c.event_time)"), type=ColumnType.MOMENT),
    "self_reported_source": Field(_quoted("h.self_reported_source"), ("h",)),
    "ad_id": _tag_field(_text("g.ad_id")),
    "ad_name": _tag_field(_text("coalesce(g.ad_name, ad.name)"), "ad"),
    "adset_id": _tag_field(_text("g.adset_id")),
    "adset_name": _tag_field(_text("coalesce(g.adset_name, adset.name)"), "adset"),
    "campaign_id": _tag_field(_text("g.campaign_id")),
    "campaign_name": _tag_field(_text("coalesce(g.campaign_name, campaign.name)"), "campaign"),
    "account_id": _tag_field(_text("g.account_id")),
    "account_name": _tag_field(_text("coalesce(g.account_name, account.name)"), "account"),
    "touchpoint_id": Field(
        _unquoted("c.touchpoint_id"), needs_sources=True, is_per_event=False, type=ColumnType.WHOLE
    ),
    "source": Field(
        # A name array has fixed-size elements: the nth is found directly.
        _quoted("(%(source_names)s::name[])[c.source_id]"),
        needs_sources=True,
        is_per_event=False,
    ),
    "currency": Field(
        _quoted("coalesce(e.currency, (SELECT s.currency FROM spaces s WHERE s.id = %(space_id)s))"), ("e",)
    ),
    IN_SPACE_CURRENCY: Field(
        _unquoted("trim_scale({space_credit})"), is_per_event=False, type=ColumnType.AMOUNT
    ),
}
"""Every field except texts that are columns of events."""
FIELDS = {
    name: _FIELDS.get(name) or Field(_text(cast("LiteralString", f"e.{name}")), ("e",))
    for name in ListedEvent.__struct_fields__
}

ALWAYS = ("id", "event_time_utc")


def columns(names: Iterable[str]) -> tuple[LineColumn, ...]:
    return tuple(LineColumn(name, FIELDS[name].type) for name in names)


def complete_fields(selected: Iterable[str], *, credited: bool) -> tuple[str, ...]:
    """Add implied fields, in the order of FIELDS."""
    names = {*ALWAYS, *selected}
    if credited:
        names.add("touchpoint_id")
    if names & set(AD_FIELDS):
        names.add("source")
    return tuple(name for name in FIELDS if name in names)


class RowCredit(Struct, frozen=True):
    in_own_currency: Composable
    in_space_currency: Composable


EVENT_AMOUNTS = RowCredit(SQL("c.amount"), SQL("c.space_amount"))


def compose_credit(model: Model) -> RowCredit:
    return RowCredit(*(model.share.share_credit(amount) for amount in SharedAmount))


def select_amounts(names: Collection[str]) -> Sequence[SharedAmount]:
    return BOTH_AMOUNTS if IN_SPACE_CURRENCY in names else OWN_AMOUNT


class LinePart(Struct, frozen=True):
    column: Identifier
    json: Composed
    names: tuple[str, ...]
    is_per_event: bool
    """True if the text is equal in all rows of an event."""


def line_parts(names: Sequence[str], credit: RowCredit) -> list[LinePart]:
    parts: list[LinePart] = []
    for is_per_event, group in groupby(names, lambda name: FIELDS[name].is_per_event):
        part_names = tuple(group)
        members = [
            SQL("{} || coalesce({}, 'null')").format(
                Literal(f'{"{" if name == names[0] else ","}"{name}":'),
                FIELDS[name].json.format(
                    credit=credit.in_own_currency, space_credit=credit.in_space_currency
                ),
            )
            for name in part_names
        ]
        closed_members = [*members, SQL("'}}'").format()] if part_names[-1] == names[-1] else members
        column = Identifier(f"part_{len(parts)}")
        parts.append(LinePart(column, SQL(" || ").join(closed_members), part_names, is_per_event))
    return parts


def line(names: Sequence[str], credit: RowCredit) -> Composed:
    """Compose a row's JSON line."""
    return SQL(" || ").join(line_part.json for line_part in line_parts(names, credit))


def event_columns(names: Iterable[str]) -> list[Identifier]:
    """Return the columns of events that fields read, without the columns of a credited row."""
    return [Identifier(name) for name in names if "e" in FIELDS[name].joins]


def joins(names: Iterable[str], joined_aliases: Collection[str] = ()) -> Composed:
    """Compose joins, except of tables already joined."""
    needed_aliases = {alias for name in names for alias in FIELDS[name].joins}.difference(joined_aliases)
    return SQL("\n").join(join for alias, join in JOINS.items() if alias in needed_aliases)
