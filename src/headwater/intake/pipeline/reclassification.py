"""Reclassify stored touches after source names change."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import structlog
from psycopg import Connection

from headwater.attribution.history.revisions import DRAW_REVISION, ChangeCause, keep_touchpoints
from headwater.attribution.paths.changes import note_touches
from headwater.base.failpoints import failpoint
from headwater.database.jobs.connection import TRANSIENT_ERRORS
from headwater.database.jobs.duties import SCARCE_SECONDS, Duty
from headwater.database.queries import Queries, fetch_row
from headwater.events.batch_store import SourceSeen, add_seen_sources
from headwater.events.browsing.batch_store import HitOrigin, write_origins
from headwater.events.browsing.views import ViewOrigin, read_origin
from headwater.events.touchpoints.batch_store import TouchpointSource, write_sources
from headwater.events.touchpoints.tag_sets import TagSets
from headwater.intake.pipeline.batch import SpaceRules
from headwater.intake.pipeline.batch_runner import describe
from headwater.intake.pipeline.claim import lock_space
from headwater.people.contacts.batch_store import add_sources
from headwater.sources.catalogue import source_bit
from headwater.sources.outcomes import Ad
from headwater.sources.reclassification import ClassifiedTouch, TouchKind, classify_anew, name_in, networks_in
from headwater.sources.source_names import SourceNames
from headwater.spaces.reclassifications import (
    RECLASSIFIED,
    WorkPiece,
    finish_piece,
    network_in,
    next_piece,
    spaces_to_reclassify,
)

queries = Queries(__name__, "reclassification.sql")

BATCH_ROWS = 2_000
"""Of each kind. Small, because the Space is locked."""
STATEMENT_TIMEOUT = "20s"

_URL_AT = {"touchpoints": 4, "views": 3}

log = structlog.get_logger()


class _Stored(NamedTuple):
    """A touch or a possible one, with a changed name."""

    id: int
    contact_id: int
    at: int
    """In µs since 1970."""
    touch: ClassifiedTouch
    origin: ViewOrigin | None
    """For a page view."""
    is_touchpoint: bool
    name: str = ""
    """The changed name."""


@dataclass
class _Changes:
    tag_sets: TagSets = field(default_factory=TagSets)
    touchpoints: list[TouchpointSource] = field(default_factory=list[TouchpointSource])
    origins: list[HitOrigin] = field(default_factory=list[HitOrigin])
    touches: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Contact and time."""
    since: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """The earliest time, by contact and source bit."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """By name."""


Apply = Callable[[SpaceRules, Iterator[_Stored]], _Changes]


def reclassify_next(connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS) -> bool:
    """Return whether rows were left. Needs an autocommit connection.

    After an error, rows are retried one by one; failing rows stay unchanged.
    """
    try:
        return _reclassify(connection, space_id, limit)
    except TRANSIENT_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - a faulty row must not affect others
        log.warning("reclassification failed", space_id=space_id, error=describe(error))
    if limit > 1:
        return reclassify_next(connection, space_id, 1)
    return _reclassify(connection, space_id, 1, apply=_skip)


def _reclassify(connection: Connection[Any], space_id: int, limit: int, apply: Apply | None = None) -> bool:
    started_at = time.perf_counter()
    with connection.transaction():
        connection.execute(queries["bound_statements"], {"patience": STATEMENT_TIMEOUT})
        connection.execute(queries["bound_waiting"].format(patience=STATEMENT_TIMEOUT))
        rules = lock_space(connection, space_id)
        work_piece = next_piece(connection, space_id) if rules is not None else None
        if rules is None or work_piece is None:
            return False
        work_piece = _shorten(connection, space_id, work_piece, limit)
        stored_touches = _read(connection, space_id, work_piece, rules.source_names)
        changes = (apply or _decide)(rules, stored_touches)
        _write(connection, space_id, changes)
        ended_names = finish_piece(
            connection, space_id, work_piece.names, work_piece.until_id, changes.counts
        )
        failpoint("reclassification_before_commit")
    seconds = round(time.perf_counter() - started_at, 4)
    changed_count = changes.counts.total()
    log.debug("touchpoints reclassified", space_id=space_id, changed=changed_count, seconds=seconds)
    if ended_names:
        log.info("reclassification finished", space_id=space_id, names=ended_names)
    return True


RECLASSIFICATION_DUTY = Duty(
    spaces_to_reclassify, reclassify_next, pause_seconds=SCARCE_SECONDS, name="reclassification"
)


def _shorten(connection: Connection[Any], space_id: int, work_piece: WorkPiece, limit: int) -> WorkPiece:
    values = {"space_id": space_id, "after_id": work_piece.after_id, "until_id": work_piece.until_id}
    row = fetch_row(connection, queries["last_id"], values | {"most": limit})
    return work_piece._replace(until_id=row[0])


class _Names(NamedTuple):
    values: frozenset[str]
    """Values of utm_source."""
    networks: frozenset[str]
    """The Space's own paid networks."""
    sources: SourceNames

    @classmethod
    def read(cls, names: list[str], sources: SourceNames) -> _Names:
        networks = {network for name in names if (network := network_in(name)) is not None}
        return cls(frozenset(names), frozenset(networks), sources)

    def find(self, url: str, source: str | None = None) -> str | None:
        if (value := name_in(url)) in self.values:
            return value
        if not self.networks:
            return None
        matches = self.networks & {*networks_in(url, self.sources), source}
        return RECLASSIFIED + min(matches) if matches else None


def _read(
    connection: Connection[Any], space_id: int, work_piece: WorkPiece, sources: SourceNames
) -> Iterator[_Stored]:
    names = _Names.read(work_piece.names, sources)
    values = {
        "space_id": space_id,
        "after_id": work_piece.after_id,
        "until_id": work_piece.until_id,
        "networks": [sources.numbers[network] for network in names.networks],
    }
    readers: dict[str, Callable[[tuple[Any, ...], SourceNames], _Stored | None]]
    readers = {"touchpoints": _read_touch, "views": _read_view}
    for kind, read_kind in readers.items():
        for row in connection.execute(queries[kind], values).fetchall():
            url = row[_URL_AT[kind]] or ""
            if not names.networks and names.find(url) is None:
                continue
            stored_touch = read_kind(row, sources)
            if stored_touch is not None and (name := names.find(url, stored_touch.touch.source)) is not None:
                yield stored_touch._replace(name=name)


def _read_touch(row: tuple[Any, ...], sources: SourceNames) -> _Stored:
    touch_id, contact_id, occurred_at, is_sent, url, referrer_host = row[:6]
    source_id: int = row[6]
    touch = ClassifiedTouch(
        kind=TouchKind.SENT if is_sent else TouchKind.EVENT,
        url=url or "",
        referrer_host=referrer_host,
        source=sources.get_name(source_id),
        rule=row[7],
        ad=Ad(*row[8:]),
    )
    return _Stored(touch_id, contact_id, occurred_at, touch, None, is_touchpoint=True)


def _read_view(row: tuple[Any, ...], sources: SourceNames) -> _Stored | None:
    """Return None if it can't make a touch."""
    view_id, contact_id, occurred_at, url, referrer_host, text, is_touchpoint = row
    origin = read_origin(text)
    if origin.source_id is None:
        return None
    touch = ClassifiedTouch(
        kind=TouchKind.VIEW,
        url=url,
        referrer_host=referrer_host,
        source=sources.get_name(origin.source_id),
        rule=origin.rule,
        ad=origin.ad,
        stale=frozenset(origin.stale),
    )
    return _Stored(view_id, contact_id, occurred_at, touch, origin, is_touchpoint)


def _decide(rules: SpaceRules, stored_touches: Iterator[_Stored]) -> _Changes:
    changes = _Changes()
    for stored_touch in stored_touches:
        touch = classify_anew(stored_touch.touch, rules.exclusions, rules.source_names)
        if touch == stored_touch.touch:
            continue
        source_id = rules.source_names.numbers[touch.source]
        tag_set = changes.tag_sets.add(touch.ad, touch.url, by_hit=stored_touch.origin is not None)
        if stored_touch.origin is not None:
            origin = msgspec.structs.replace(
                stored_touch.origin, rule=touch.rule, source_id=source_id, ad=touch.ad
            )
            changes.origins.append(HitOrigin(stored_touch.id, source_id, origin, tag_set))
        if stored_touch.is_touchpoint:
            source = TouchpointSource(
                id=stored_touch.id, source_id=source_id, source_rule=touch.rule, tag_set=tag_set
            )
            _change_touchpoint(changes, stored_touch, touch, source)
    return changes


def _skip(_rules: SpaceRules, _stored: Iterator[_Stored]) -> _Changes:
    return _Changes()


def _change_touchpoint(
    changes: _Changes, stored_touch: _Stored, touch: ClassifiedTouch, source: TouchpointSource
) -> None:
    changes.touchpoints.append(source)
    changes.touches.append((stored_touch.contact_id, stored_touch.at))
    if touch.source != stored_touch.touch.source:
        contact_source = stored_touch.contact_id, source_bit(source.source_id)
        changes.since[contact_source] = min(
            stored_touch.at, changes.since.get(contact_source, stored_touch.at)
        )
    changes.counts[stored_touch.name] += 1


def _write(connection: Connection[Any], space_id: int, changes: _Changes) -> None:
    connection.execute(DRAW_REVISION, {"space_id": space_id})
    changed_ids = [touch.id for touch in changes.touchpoints]
    keep_touchpoints(connection, space_id, changed_ids, ChangeCause.CLASSIFICATION)
    write_sources(connection, space_id, changes.touchpoints, changes.tag_sets)
    write_origins(connection, space_id, changes.origins, changes.tag_sets)
    masks: Counter[int] = Counter()
    for contact_id, bit in changes.since:
        masks[contact_id] |= bit
    add_sources(connection, space_id, masks)
    sightings = [SourceSeen(contact, since, bit) for (contact, bit), since in changes.since.items()]
    add_seen_sources(connection, space_id, sightings)
    note_touches(connection, space_id, changes.touches)
