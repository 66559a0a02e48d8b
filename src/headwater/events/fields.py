"""The fields an event row can show: each an SQL expression, and the tables it needs.

A row of the page is `c`; `e`, `l` and `g` are the event, its label and the touchpoint's tag set;
`campaign`, `adset`, `ad` and `account` are the catalogue's names of the tag set's ids: joined by
primary key only when a chosen field reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.sql import SQL, Composable, Identifier, Literal

from headwater.ads.catalogue import KINDS as AD_KINDS
from headwater.http.openapi import NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, WHOLE
from headwater.sources.catalogue import SOURCES


@dataclass(frozen=True)
class Field:
    """One field of an event row."""

    value: SQL
    """`{credit}` stands for the row's amount or credit."""
    schema: dict[str, Any]
    joins: tuple[str, ...] = ()
    """The aliases of the joined tables that `value` reads."""
    of_touch: bool = False
    """True of a field that exists only with `sources`."""


_BY_KEY = (
    "{join} LATERAL (SELECT * FROM {table} {alias} WHERE {alias}.space_id = %(space_id)s{also}"
    " AND {alias}.id >= {id} ORDER BY {alias}.id LIMIT 1) {alias} ON {alias}.id = {id}"
)


def _by_key(
    join: LiteralString, alias: str, table: LiteralString, id_: LiteralString
) -> Composable:
    return SQL(_BY_KEY).format(
        join=SQL(join), table=SQL(table), alias=Identifier(alias), also=SQL(""), id=SQL(id_)
    )


JOINS: dict[str, Composable] = {
    "e": SQL("JOIN events e ON e.space_id = %(space_id)s AND e.id = c.event_id"),
    "l": SQL(
        "LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = c.event_name"
    ),
    "g": _by_key("LEFT JOIN", "g", "tag_sets", "c.tag_set_id"),
    **{
        kind: SQL(
            "LEFT JOIN ad_names {alias} ON {alias}.space_id = %(space_id)s"
            " AND {alias}.kind = {kind} AND {alias}.id = g.{id} AND g.{name} IS NULL"
        ).format(
            alias=Identifier(kind),
            kind=Literal(kind),
            id=Identifier(f"{kind}_id"),
            name=Identifier(f"{kind}_name"),
        )
        for kind in AD_KINDS
    },
}
"""The joins, each after the tables that it is joined to. Tag sets are found by their key here too:
of a table that has grown since it was analysed, the planner might read all for each row.
"""

JOINS_BY_KEY: dict[str, Composable] = JOINS | {
    "e": _by_key("JOIN", "e", "events", "c.event_id"),
    **{
        kind: SQL(_BY_KEY + " AND g.{name} IS NULL").format(
            join=SQL("LEFT JOIN"),
            table=SQL("ad_names"),
            alias=Identifier(kind),
            also=SQL(" AND {alias}.kind = {kind}").format(
                alias=Identifier(kind), kind=Literal(kind)
            ),
            id=SQL("g.{id}").format(id=Identifier(f"{kind}_id")),
            name=Identifier(f"{kind}_name"),
        )
        for kind in AD_KINDS
    },
}
"""The same joins for the few rows of a page: each reads the first row from its key on, in the order
of the primary key, so that no plan can read a whole Space for a row."""


AD_FIELDS = (
    "ad_id", "ad_name", "adset_id", "adset_name",
    "campaign_id", "campaign_name", "account_id", "account_name",
)  # fmt: skip

FIELDS = {
    "id": Field(SQL("c.event_id"), WHOLE),
    "profile_id": Field(SQL("c.contact_id::text"), TEXT),
    "company_id": Field(SQL("c.company_id::text"), TEXT_OR_NULL),
    "space_id": Field(SQL("%(space_id)s::bigint::text"), TEXT),
    "event_name": Field(SQL("c.event_name"), TEXT),
    "configured_name": Field(SQL("coalesce(l.label, c.event_name)"), TEXT, ("l",)),
    "amount": Field(SQL("trim_scale({credit})"), NUMBER_OR_NULL),
    "is_upsell": Field(SQL("e.is_upsell"), {"type": "boolean"}, ("e",)),
    "event_time_utc": Field(
        SQL("iso_utc(c.event_time)"), {"type": "string", "format": "date-time"}
    ),
    "order_id": Field(SQL("e.order_id"), TEXT_OR_NULL, ("e",)),
    "order_name": Field(SQL("e.order_name"), TEXT_OR_NULL, ("e",)),
    "event_url": Field(SQL("e.event_url"), TEXT_OR_NULL, ("e",)),
    "ad_id": Field(SQL("g.ad_id"), TEXT_OR_NULL, ("g",), of_touch=True),
    "ad_name": Field(SQL("coalesce(g.ad_name, ad.name)"), TEXT_OR_NULL, ("g", "ad"), of_touch=True),
    "adset_id": Field(SQL("g.adset_id"), TEXT_OR_NULL, ("g",), of_touch=True),
    "adset_name": Field(
        SQL("coalesce(g.adset_name, adset.name)"), TEXT_OR_NULL, ("g", "adset"), of_touch=True
    ),
    "campaign_id": Field(SQL("g.campaign_id"), TEXT_OR_NULL, ("g",), of_touch=True),
    "campaign_name": Field(
        SQL("coalesce(g.campaign_name, campaign.name)"),
        TEXT_OR_NULL,
        ("g", "campaign"),
        of_touch=True,
    ),
    "account_id": Field(SQL("g.account_id"), TEXT_OR_NULL, ("g",), of_touch=True),
    "account_name": Field(
        SQL("coalesce(g.account_name, account.name)"), TEXT_OR_NULL, ("g", "account"), of_touch=True
    ),
    "touchpoint_id": Field(SQL("c.touchpoint_id"), WHOLE, of_touch=True),
    "source": Field(
        SQL("(%(source_names)s::text[])[c.source_id]"),
        {"type": "string", "enum": list(SOURCES)},
        of_touch=True,
    ),
}

ALWAYS = ("id", "event_time_utc")


def complete(chosen: Iterable[str], *, credited: bool) -> tuple[str, ...]:
    """The chosen fields and those that come with them, in the table's order."""
    wanted = {*ALWAYS, *chosen}
    if credited:
        wanted.add("touchpoint_id")
    if wanted & set(AD_FIELDS):
        wanted.add("source")
    return tuple(name for name in FIELDS if name in wanted)


def columns(names: Iterable[str], credit: Composable) -> Composable:
    """The select list of these fields; `credit` is the expression of their amount."""
    return SQL(", ").join(
        SQL("{} AS {}").format(FIELDS[name].value.format(credit=credit), Identifier(name))
        for name in names
    )


def joins(names: Iterable[str], present: Collection[str] = ()) -> Composable:
    """The joins these fields need, apart from the tables already present."""
    needed = {alias for name in names for alias in FIELDS[name].joins}.difference(present)
    return SQL("\n").join(join for alias, join in JOINS.items() if alias in needed)


def joins_by_key(names: Iterable[str]) -> Composable:
    """The joins these fields need, for the few rows of a page."""
    needed = {alias for name in names for alias in FIELDS[name].joins}
    return SQL("\n").join(join for alias, join in JOINS_BY_KEY.items() if alias in needed)
