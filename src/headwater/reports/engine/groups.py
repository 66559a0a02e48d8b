"""Load a Space's report dimensions: numbers of events and touches, with texts and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composable, Identifier

from headwater.attribution.paths.path_data import Column, IntArray, join_numbers, read_numbers
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.events.accepted import EVENT_NAMES
from headwater.people.contacts.filters import Condition, compose_all
from headwater.reports.engine.dimensions import (
    KIND_KEYS,
    NO_KEY,
    ClockPart,
    Dimension,
    EventNames,
    Mapped,
    Stored,
    make_channel_dimension,
    make_platform_dimension,
)
from headwater.reports.engine.path_dimensions import (
    DAYS,
    TOUCHES,
    StepNames,
    TouchPath,
    make_path_dimension,
    name_steps,
)
from headwater.reports.engine.time_buckets import TimeBuckets, name_key
from headwater.reports.query import OF_PATHS, Group, ReportQuery
from headwater.sources.answers import SELF_REPORTED
from headwater.sources.catalogue import CHANNELS
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space
from headwater.spend.ads.catalogue import fetch_names

_ID = re.compile("[1-9][0-9]{0,17}", re.ASCII)


class GroupKeys(Protocol):
    in_order: ClassVar[bool]
    """True if keys sort like their texts."""

    def text(self, key: int) -> str: ...

    def find(self, text: str) -> int | None: ...


@dataclass(frozen=True)
class ListedKeys:
    texts: Sequence[str]
    first: int = 0
    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return self.texts[key - self.first]

    def find(self, text: str) -> int | None:
        return self._keys.get(text)

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {text: key for key, text in enumerate(self.texts, self.first)}


@dataclass(frozen=True)
class SourceKeys:
    sources: SourceNames
    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return self.sources.get_name(key)

    def find(self, text: str) -> int | None:
        return self.sources.numbers.get(text)


class IdKeys:
    in_order: ClassVar[bool] = False

    def text(self, key: int) -> str:
        return str(key)

    def find(self, text: str) -> int | None:
        return int(text) if _ID.fullmatch(text) else None


WEEKDAYS = ListedKeys([str(number) for number in range(1, 8)], first=1)
CUSTOMERS = ListedKeys(("new", "returning"))
KINDS = ListedKeys(KIND_KEYS)
HOURS = ListedKeys([f"{number:02}" for number in range(24)])


def step_keys(steps: TimeBuckets) -> ListedKeys:
    """Number time buckets from 1."""
    return ListedKeys([name_key(index, steps) for index in range(1, 1 + len(steps.days))], first=1)


def find_key(keys: GroupKeys, text: str | None) -> int | None:
    """Return NO_KEY for None."""
    return NO_KEY if text is None else keys.find(text)


@dataclass(frozen=True)
class PathKeys:
    names: StepNames
    in_order: ClassVar[bool] = True

    def text(self, key: int) -> str:
        return str(self.names.path(key))

    def find(self, text: str) -> int | None:
        path = TouchPath.read(text)
        return None if path is None else self.names.key(path)


TOUCH_RANGES, DAYS_RANGES = ListedKeys([*TOUCHES]), ListedKeys([*DAYS])
queries = Queries(__name__, "labels.sql")


class TagProperty(Struct, frozen=True):
    key: str
    """Column of the key."""
    name: str | None = None
    """Replaces a missing key."""

    @property
    def sql(self) -> tuple[Composable, Composable]:
        """The key and the name of a tag set `s`."""
        key = Identifier("s", self.key)
        if self.name is None:
            return key, SQL("NULL::text")
        name = Identifier("s", self.name)
        return SQL("coalesce({}, {})").format(key, name), name


TAG_PROPERTIES = {
    Group.CAMPAIGN: TagProperty("campaign_id", "campaign_name"),
    Group.ADSET: TagProperty("adset_id", "adset_name"),
    Group.AD: TagProperty("ad_id", "ad_name"),
    Group.KEYWORD: TagProperty("keyword"),
    Group.LANDING_PAGE: TagProperty("landing_page"),
}
IN_CATALOGUE = frozenset({Group.CAMPAIGN, Group.ADSET, Group.AD})
"""Named by the Space's ad catalogue, and known to spend."""


@dataclass(frozen=True)
class ReportDimension:
    group: Group
    dimension: Dimension
    keys: GroupKeys
    names: Sequence[str | None] | None = None
    """By key, if tag sets have names."""

    def key_text(self, key: int) -> str | None:
        return None if key == NO_KEY else self.keys.text(key)


async def load_dimension(
    connection: AsyncConnection, space: Space, group: Group, query: ReportQuery
) -> ReportDimension:
    """Load a dimension independent of other events."""
    if group in OF_PATHS or group in (Group.SOURCE, Group.PLATFORM):
        return _make_source_dimension(group, query.window_days, space.sources)
    if group is Group.COUNTRY:
        return await _load_countries(connection, space)
    if group is Group.SELF_REPORTED_SOURCE:
        return await _load_self_reported(connection, space)
    if group in TAG_PROPERTIES:
        return await _load_tag_sets(connection, space, group)
    if group in (Group.WEEKDAY, Group.HOUR):
        clock_part = ClockPart(space.zone, group is Group.WEEKDAY, query.of_touch_dates)
        return ReportDimension(group, clock_part, WEEKDAYS if group is Group.WEEKDAY else HOURS)
    return _STATIC[group]


def _make_source_dimension(group: Group, window_days: int, sources: SourceNames) -> ReportDimension:
    if group is Group.SOURCE:
        return ReportDimension(group, Stored(Column.SOURCES, of_touch=True), SourceKeys(sources))
    if group is Group.PLATFORM:
        names = ListedKeys(tuple(sources.platform_sources), first=1)
        return ReportDimension(group, make_platform_dimension(sources), names)
    dimension = make_path_dimension(group, window_days, sources)
    return ReportDimension(group, dimension, _path_keys(group, sources))


def _path_keys(group: Group, sources: SourceNames) -> GroupKeys:
    match group:
        case Group.TOUCH_RANGE:
            return TOUCH_RANGES
        case Group.DAYS_RANGE:
            return DAYS_RANGES
        case Group.FIRST_SOURCE | Group.LAST_SOURCE:
            return SourceKeys(sources)
        case _:
            return PathKeys(name_steps(group, sources))


_STATIC = {
    dimension.group: dimension
    for dimension in (
        ReportDimension(Group.CHANNEL, make_channel_dimension(), ListedKeys(CHANNELS, first=1)),
        ReportDimension(Group.EVENT, EventNames(EVENT_NAMES), ListedKeys(EVENT_NAMES)),
        ReportDimension(Group.COMPANY, Stored(Column.COMPANIES, nothing=0), IdKeys()),
        ReportDimension(Group.CONTACT, Stored(Column.CONTACTS), IdKeys()),
    )
}
"""The same in every Space."""


async def _load_countries(connection: AsyncConnection, space: Space) -> ReportDimension:
    cursor = connection.cursor(binary=True)
    rows = await fetch_all(cursor, queries["countries"], {"space_id": space.id})
    members = [read_numbers(packed_numbers) for _, packed_numbers in rows]
    numbers, keys = _flatten(members)
    texts = ListedKeys([country for country, _ in rows])
    return ReportDimension(Group.COUNTRY, Mapped(Column.CONTACTS, numbers, keys), texts)


async def _load_self_reported(connection: AsyncConnection, space: Space) -> ReportDimension:
    cursor = connection.cursor(binary=True)
    rows = await fetch_all(cursor, queries["self_reported"], {"space_id": space.id})
    numbers, places = _flatten([read_numbers(packed_numbers) for _, packed_numbers in rows])
    source_keys = np.array([SELF_REPORTED.index(source) for source, _ in rows], dtype=np.int64)
    dimension = Mapped(Column.CONTACTS, numbers, source_keys[places])
    return ReportDimension(Group.SELF_REPORTED_SOURCE, dimension, ListedKeys(SELF_REPORTED))


async def _load_tag_sets(connection: AsyncConnection, space: Space, group: Group) -> ReportDimension:
    key, name = TAG_PROPERTIES[group].sql
    query = queries["tag_sets"].format(key=key, name=name)
    rows = await fetch_all(connection, query, {"space_id": space.id})
    numbers, keys = _flatten([np.array(ids, dtype=np.int64) for *_, ids in rows])
    dimension = Mapped(Column.TAG_SETS, numbers, keys, of_touch=True)
    texts = ListedKeys([value for value, _, _ in rows])
    return ReportDimension(group, dimension, texts, [name for _, name, _ in rows])


def _flatten(members: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the numbers of all sets, ascending, and the index of each one's set."""
    numbers = join_numbers(members)
    keys = np.repeat(np.arange(len(members)), [len(ids) for ids in members])
    order = np.argsort(numbers)
    return numbers[order], keys[order]


async def fetch_labels(
    connection: AsyncConnection, space_id: int, dimension: ReportDimension, keys: Sequence[int]
) -> dict[int, str | None]:
    texts = {key: dimension.keys.text(key) for key in set(keys) if key != NO_KEY}
    names = await _fetch_names(connection, space_id, dimension, list(texts.values()))
    tag_names = dimension.names
    return {
        key: (tag_names[key] if tag_names is not None else None) or names.get(text) or text
        for key, text in texts.items()
    }


async def _fetch_names(
    connection: AsyncConnection, space_id: int, dimension: ReportDimension, keys: list[str]
) -> Mapping[str, str | None]:
    bound = {"space_id": space_id, "keys": keys}
    match dimension.group:
        case Group.EVENT:
            name = "event_labels"
        case Group.COMPANY:
            name = "company_labels"
        case Group.CONTACT:
            name = "contact_labels"
        case group:
            return await fetch_ad_names(connection, space_id, group, keys)
    return dict(await fetch_all(connection, queries[name], bound))


async def fetch_ad_names(
    connection: AsyncConnection, space_id: int, group: Group, ids: list[str]
) -> dict[str, str]:
    """Return the names of campaigns, ad sets or ads in the ad catalogue; nothing for other groups."""
    return await fetch_names(connection, space_id, str(group), ids) if ids and group in IN_CATALOGUE else {}


async def fetch_contacts_meeting(
    connection: AsyncConnection, space_id: int, conditions: Sequence[Condition]
) -> IntArray:
    """Select contacts by custom fields, ascending."""
    statement, bound = compose_all(conditions)
    query = queries["contacts"].format(conditions=statement)
    values = bound | {"space_id": space_id}
    (packed_numbers,) = await fetch_one(connection.cursor(binary=True), query, values)
    return read_numbers(packed_numbers)


async def fetch_campaign_tag_sets(connection: AsyncConnection, space_id: int, level: str) -> IntArray:
    """Return, ascending, the tag sets of campaigns whose id or name contains a text, ignoring case.

    Python compares: the database's locale may know only English letters.
    """
    rows = await fetch_all(connection, queries["campaigns"], {"space_id": space_id})
    folded = level.lower()
    numbers = [
        number
        for *names, members in rows
        if any(folded in (name or "").lower() for name in names)
        for number in members
    ]
    return np.array(sorted(numbers), dtype=np.int64)
