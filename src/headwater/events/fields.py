"""The fields an event row can show: each as JSON, by an SQL expression, and the tables it needs.

A row of the page is `c`; `e`, `l`, `h` and `g` are the event, its label, what its contact
answered last when asked how they heard of the business, and the touchpoint's tag set;
`campaign`, `adset`, `ad` and `account` are the catalogue's names of the tag set's ids: joined by
primary key only when a chosen field reads them.

A line is put together by `||`: `row_to_json` would look up the type of every field of every row,
which takes a third of an export's time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import LiteralString

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from headwater.attribution.models import Model, SharedAmount
from headwater.attribution.query import BOTH_AMOUNTS, OWN_AMOUNT
from headwater.database.json_lines import ColumnType, LineColumn
from headwater.spend.ads.catalogue import KINDS as AD_KINDS


def _text(value: LiteralString) -> SQL:
    return SQL("to_json(" + value + ")::text")


def _quoted(value: LiteralString) -> SQL:
    """A value in which JSON has nothing to escape."""
    return SQL("'\"' || " + value + " || '\"'")


def _unquoted(value: LiteralString) -> SQL:
    """A number, or true and false."""
    return SQL("(" + value + ")::text")


@dataclass(frozen=True)
class Field:
    """One field of an event row."""

    json: SQL
    """The value as JSON, or NULL. `{credit}` stands for the row's amount or credit, and
    `{space_credit}` for the same in the Space's currency.
    """
    joins: tuple[str, ...] = ()
    """The aliases of the joined tables that `json` reads."""
    of_touch: bool = False
    """True of a field that exists only with `sources`."""
    of_event: bool = True
    """True of a field that is the same in all rows of an event."""
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
"""The joins, each after the tables that it is joined to. Each reads the first row from its key on,
in the order of the primary key: of a table that has grown since it was analysed, no plan can read
all for a row.
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


def _of_tag_set(json: SQL, *joins: str) -> Field:
    return Field(json, ("g", *joins), of_touch=True, of_event=False)


IN_SPACE_CURRENCY = "amount_in_space_currency"
"""The name of the field whose amounts have to be exchanged before its rows are read."""
FIELDS = {
    "id": Field(_unquoted("c.event_id"), type=ColumnType.WHOLE),
    "profile_id": Field(_quoted("c.contact_id")),
    "company_id": Field(_quoted("c.company_id")),
    "space_id": Field(_quoted("%(space_id)s::bigint")),
    "event_name": Field(_text("c.event_name")),
    "configured_name": Field(_text("coalesce(l.label, c.event_name)"), ("l",)),
    "amount": Field(_unquoted("trim_scale({credit})"), of_event=False, type=ColumnType.AMOUNT),
    "is_upsell": Field(_unquoted("e.is_upsell"), ("e",), type=ColumnType.BOOLEAN),
    "event_time_utc": Field(_quoted("iso_utc(c.event_time)"), type=ColumnType.MOMENT),
    "order_id": Field(_text("e.order_id"), ("e",)),
    "order_name": Field(_text("e.order_name"), ("e",)),
    "event_url": Field(_text("e.event_url"), ("e",)),
    "heard_about_us": Field(_text("e.heard_about_us"), ("e",)),
    "self_reported_source": Field(_quoted("h.self_reported_source"), ("h",)),
    "ad_id": _of_tag_set(_text("g.ad_id")),
    "ad_name": _of_tag_set(_text("coalesce(g.ad_name, ad.name)"), "ad"),
    "adset_id": _of_tag_set(_text("g.adset_id")),
    "adset_name": _of_tag_set(_text("coalesce(g.adset_name, adset.name)"), "adset"),
    "campaign_id": _of_tag_set(_text("g.campaign_id")),
    "campaign_name": _of_tag_set(_text("coalesce(g.campaign_name, campaign.name)"), "campaign"),
    "account_id": _of_tag_set(_text("g.account_id")),
    "account_name": _of_tag_set(_text("coalesce(g.account_name, account.name)"), "account"),
    "touchpoint_id": Field(
        _unquoted("c.touchpoint_id"), of_touch=True, of_event=False, type=ColumnType.WHOLE
    ),
    "source": Field(
        # Of names, which are all as long, the nth is found without passing over those before it.
        _quoted("(%(source_names)s::name[])[c.source_id]"),
        of_touch=True,
        of_event=False,
    ),
    "currency": Field(
        _quoted("coalesce(e.currency, (SELECT s.currency FROM spaces s WHERE s.id = %(space_id)s))"), ("e",)
    ),
    IN_SPACE_CURRENCY: Field(_unquoted("trim_scale({space_credit})"), of_event=False, type=ColumnType.AMOUNT),
}

ALWAYS = ("id", "event_time_utc")


def columns(names: Iterable[str]) -> tuple[LineColumn, ...]:
    """The columns of a file with these fields."""
    return tuple(LineColumn(name, FIELDS[name].type) for name in names)


def complete(chosen: Iterable[str], *, credited: bool) -> tuple[str, ...]:
    """The chosen fields and those that come with them, in the table's order."""
    wanted = {*ALWAYS, *chosen}
    if credited:
        wanted.add("touchpoint_id")
    if wanted & set(AD_FIELDS):
        wanted.add("source")
    return tuple(name for name in FIELDS if name in wanted)


@dataclass(frozen=True)
class RowCredit:
    """The expressions of a row's amount or credit, and of the same in the Space's currency."""

    own: Composable
    in_space_currency: Composable


OF_EVENT = RowCredit(SQL("c.amount"), SQL("c.space_amount"))


def credit_of(model: Model) -> RowCredit:
    """Return the expressions of the credit that rows have by a model."""
    return RowCredit(*(model.share.credit_of(amount) for amount in SharedAmount))


def amounts_of_rows(names: Collection[str]) -> Sequence[SharedAmount]:
    """Return the amounts that rows with these fields are made of."""
    return BOTH_AMOUNTS if IN_SPACE_CURRENCY in names else OWN_AMOUNT


@dataclass(frozen=True)
class LinePart:
    """Some fields of a line that follow one another."""

    column: Identifier
    """The name of a column for this text."""
    json: Composed
    """The text of these fields, as an SQL expression."""
    names: tuple[str, ...]
    of_event: bool
    """True when the text is the same in all rows of an event."""


def line_parts(names: Sequence[str], credit: RowCredit) -> list[LinePart]:
    """The parts that together are a row's line of JSON."""
    parts: list[LinePart] = []
    for of_event, group in groupby(names, lambda name: FIELDS[name].of_event):
        chosen = tuple(group)
        members = [
            SQL("{} || coalesce({}, 'null')").format(
                Literal(f'{"{" if name == names[0] else ","}"{name}":'),
                FIELDS[name].json.format(credit=credit.own, space_credit=credit.in_space_currency),
            )
            for name in chosen
        ]
        closed = [*members, SQL("'}}'").format()] if chosen[-1] == names[-1] else members
        column = Identifier(f"part_{len(parts)}")
        parts.append(LinePart(column, SQL(" || ").join(closed), chosen, of_event))
    return parts


def line(names: Sequence[str], credit: RowCredit) -> Composed:
    """The expression of a row's line of JSON with these fields."""
    return SQL(" || ").join(part.json for part in line_parts(names, credit))


def joins(names: Iterable[str], present: Collection[str] = ()) -> Composed:
    """The joins these fields need, apart from the tables already present."""
    needed = {alias for name in names for alias in FIELDS[name].joins}.difference(present)
    return SQL("\n").join(join for alias, join in JOINS.items() if alias in needed)
