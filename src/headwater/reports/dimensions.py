"""The groups a report can have, as one table: the SQL of each group's key and label.

An event is `e`, its contact `k`; a credited touch is `c`, and `t` its tag set. A listed group
is `s`; the table that its key refers to has the alias it is joined under.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from psycopg.sql import SQL, Composable, Identifier, Placeholder

from headwater.reports.models import Group
from headwater.sources.catalogue import DIRECT_ID, PAID_IDS, SOURCES

_CONTACT = SQL("LEFT JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id")
_TAGS = SQL(
    "LEFT JOIN LATERAL (SELECT * FROM tag_sets t WHERE t.space_id = %(space_id)s"
    " AND t.id >= c.tag_set_id ORDER BY t.id LIMIT 1) t ON t.id = c.tag_set_id"
)
_CAMPAIGN = SQL(
    "LEFT JOIN ad_names a ON a.space_id = %(space_id)s AND a.kind = 'campaign'"
    " AND a.id = t.campaign_id AND t.campaign_name IS NULL"
)

CAMPAIGN_FILTER = SQL(
    "(strpos(lower(t.campaign_id), lower(%(campaign)s)) > 0"
    " OR strpos(lower(coalesce(t.campaign_name, a.name)), lower(%(campaign)s)) > 0)"
)
CAMPAIGN_JOINS = (_TAGS, _CAMPAIGN)

_EVENT_LABEL = SQL(
    "LEFT JOIN event_labels {alias}"
    " ON {alias}.space_id = %(space_id)s AND {alias}.event_name = s.{key}"
)
_COMPANY_LABEL = SQL(
    "LEFT JOIN companies {alias}"
    " ON {alias}.space_id = %(space_id)s AND {alias}.id = s.{key}::bigint"
)
_AD_LABEL = SQL(
    "LEFT JOIN ad_names {alias} ON {alias}.space_id = %(space_id)s"
    " AND {alias}.kind = {kind} AND {alias}.id = s.{key}"
)


@dataclass(frozen=True)
class Dimension:
    """One group in SQL."""

    key: Composable
    """The expression by which events or touches are grouped."""
    of_touch: bool = False
    joins: tuple[SQL, ...] = ()
    """The joins that `key` needs."""
    text: SQL = field(default_factory=lambda: SQL("{key}::text"))
    """The key as text, for ordering and for the result."""
    name: Composable | None = None
    """The name of the key in the tag set itself."""
    label: SQL = field(default_factory=lambda: SQL("s.{key}"))
    """May read the key, the `{name}` of a tag set and the table joined as `{alias}`."""
    label_join: SQL | None = None
    """May also name the `{kind}` of thing on an ad platform."""


def starts_of(group: Group) -> Placeholder:
    """The placeholder of the instants at which the steps of a time begin."""
    return Placeholder(f"starts_{group}")


def _of_ads(kind: str) -> Dimension:
    identity, name = Identifier("t", f"{kind}_id"), Identifier("t", f"{kind}_name")
    return Dimension(
        SQL("coalesce({}, {})").format(identity, name),
        of_touch=True,
        joins=(_TAGS,),
        name=name,
        label=SQL("coalesce(s.{name}, {alias}.name, s.{key})"),
        label_join=_AD_LABEL,
    )


def _of_time(group: Group) -> Dimension:
    """The dimension of a time: its key is the place among the steps of the range."""
    place = SQL("width_bucket(e.event_time, {}::timestamptz[])").format(starts_of(group))
    return Dimension(place, text=SQL("lpad({key}::text, 6, '0')"))


DIMENSIONS: dict[Group, Dimension] = {
    Group.SOURCE: Dimension(
        SQL("c.source_id"), of_touch=True, text=SQL("(%(source_names)s::text[])[{key}]")
    ),
    Group.CHANNEL: Dimension(SQL("(%(channels)s::text[])[c.source_id]"), of_touch=True),
    Group.CAMPAIGN: _of_ads("campaign"),
    Group.ADSET: _of_ads("adset"),
    Group.AD: _of_ads("ad"),
    Group.KEYWORD: Dimension(SQL("t.keyword"), of_touch=True, joins=(_TAGS,)),
    Group.EVENT: Dimension(
        SQL("e.event_name"), label=SQL("coalesce({alias}.label, s.{key})"), label_join=_EVENT_LABEL
    ),
    Group.DAY: _of_time(Group.DAY),
    Group.WEEK: _of_time(Group.WEEK),
    Group.MONTH: _of_time(Group.MONTH),
    Group.COUNTRY: Dimension(SQL("k.country"), joins=(_CONTACT,)),
    Group.COMPANY: Dimension(
        SQL("e.company_id"), label=SQL("{alias}.name"), label_join=_COMPANY_LABEL
    ),
}


def _channel(number: int, source: str) -> str:
    if number in PAID_IDS:
        return "paid"
    if number == DIRECT_ID:
        return "direct"
    return "organic" if source.endswith("_organic") else "other"


CHANNELS = [_channel(number, source) for number, source in enumerate(SOURCES, start=1)]
"""The channel of every source, in the order of their numbers."""
