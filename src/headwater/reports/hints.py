"""Hints on a report's filters: unknown campaigns, ads and countries, with similar known ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from msgspec import UNSET, Struct, UnsetType
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed, Identifier

from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.reports.engine.groups import IN_CATALOGUE, TAG_PROPERTIES, fetch_campaign_tag_sets
from headwater.reports.query import Filters, Group, KeyCondition

queries = Queries(__name__, "hints.sql")

MOST_VALUES = 1_000
"""The latest values that are searched."""
MOST_NEAREST = 3
_LIKENESS = 0.5
"""A difflib ratio."""


class Hint(Struct, frozen=True):
    """An unknown value of a filter, with similar known ones."""

    field: str
    value: str
    nearest: list[str]


Hints = list[Hint] | UnsetType
"""Absent if all values are known."""


async def find_hints(connection: AsyncConnection, space_id: int, filters: Filters) -> Hints:
    hints = [
        *await _hints_on_campaign(connection, space_id, filters.campaign),
        *[
            hint
            for condition in dict.fromkeys(filters.only)
            for hint in await _hints_on_key(connection, space_id, condition)
        ],
    ]
    return hints or UNSET


async def _hints_on_campaign(connection: AsyncConnection, space_id: int, level: str | None) -> list[Hint]:
    if level is None or len(await fetch_campaign_tag_sets(connection, space_id, level)):
        return []
    values = await _latest_values(connection, space_id, Group.CAMPAIGN)
    keys_by_text = {name or key: name or key for key, name in values}
    return [Hint("campaign", level, await _nearest(level, keys_by_text))]


async def _hints_on_key(connection: AsyncConnection, space_id: int, condition: KeyCondition) -> list[Hint]:
    group, key = condition.group, condition.key
    if key is None or group not in _GROUPS:
        return []
    bound = {"space_id": space_id, "key": key, **_bind_kind(group)}
    (is_known,) = await fetch_one(connection, _query("is_known", group), bound)
    if is_known:
        return []
    values = await _latest_values(connection, space_id, group)
    keys_by_text = {text: key for key, name in values for text in (key, name) if text}
    nearest = [f"{group}:{near_key}" for near_key in await _nearest(key, keys_by_text)]
    return [Hint("only", f"{group}:{key}", nearest)]


async def _latest_values(
    connection: AsyncConnection, space_id: int, group: Group
) -> list[tuple[str, str | None]]:
    bound = {"space_id": space_id, "most": MOST_VALUES, **_bind_kind(group)}
    rows = await fetch_all(connection, _query("latest", group), bound)
    return [(key, name) for key, name in rows]


async def _nearest(text: str, keys_by_text: Mapping[str, str]) -> list[str]:
    return await asyncio.to_thread(find_nearest, text, keys_by_text)


def find_nearest(text: str, keys_by_text: Mapping[str, str]) -> list[str]:
    """Return the keys of the most similar texts, first those that contain the text or are part of it."""
    folded: dict[str, str] = {}
    for word, key in keys_by_text.items():
        folded.setdefault(word.casefold(), key)
    folded_text = text.casefold()
    parts: Iterable[str] = [word for word in folded if folded_text in word or word in folded_text]
    similar_words = get_close_matches(folded_text, folded, MOST_NEAREST, _LIKENESS)
    keys = dict.fromkeys(folded[word] for word in (*parts, *similar_words))
    return list(keys)[:MOST_NEAREST]


_GROUPS = (*TAG_PROPERTIES, Group.COUNTRY)


def _bind_kind(group: Group) -> dict[str, str]:
    return {"kind": str(group)} if group in IN_CATALOGUE else {}


def _query(name: str, group: Group) -> Composed | SQL:
    if group is Group.COUNTRY:
        return queries[f"{name}_country"]
    key, label = TAG_PROPERTIES[group].sql
    statement = queries[name].format(key=key, name=label)
    if group not in IN_CATALOGUE:
        return statement
    spend_statement = queries[f"{name}_spent"].format(column=Identifier("s", f"{group}_id"))
    union = SQL("{} UNION ALL {}") if name == "latest" else SQL("SELECT ({}) OR ({})")
    return union.format(statement, spend_statement)
