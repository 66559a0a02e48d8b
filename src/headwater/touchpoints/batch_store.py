"""Touchpoints that events bring with their attribution parameters, or that were sent by themselves:
what one is; and the rows of these and of those that page views make.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from psycopg import Connection

from headwater.browsing.views import DIRECTLY
from headwater.database.json_rows import rows
from headwater.database.queries import Queries
from headwater.events.accepted import AcceptedEvent
from headwater.identity.senders import Sender
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import explain
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.hierarchy import ad_at
from headwater.sources.outcomes import Ad, Source
from headwater.sources.resolve import resolve
from headwater.touchpoints.accepted import AcceptedTouchpoint
from headwater.touchpoints.models import Likeness, Touch

queries = Queries(__name__, "batch_store.sql")


def touch_of_event(event: AcceptedEvent, at: int) -> Touch | None:
    """The touch that an event at `at` (µs since 1970) carries, if it has any parameter of one."""
    if not (
        event.trk_source or event.trk_network or event.trk_campaign or event.trk_ad_group
        or event.trk_ad_id or event.trk_keyword or event.trk_type
    ):  # fmt: skip
        return None
    parameters = SourceParameters(event.trk_source, event.trk_network, event.trk_type)
    source, rule = resolve(parameters, event.url)
    told = {
        "trk_campaign": event.trk_campaign, "trk_ad_group": event.trk_ad_group,
        "trk_ad_id": event.trk_ad_id, "trk_keyword": event.trk_keyword,
    }  # fmt: skip
    said = {name: value for name, value in told.items() if value is not None}
    ad = ad_at(event.url, said, source)
    return Touch(at=at, source_id=SOURCE_IDS[source], source_rule=rule, ad=ad, url=event.url)


def touch_of(touchpoint: AcceptedTouchpoint, at: int) -> Touch:
    """The touch that was sent by itself, at `at` (µs since 1970). What is not told of its ad is
    read from its URL. It came from somewhere, so where a visit would make no touch it is direct.
    """
    parameters = SourceParameters(touchpoint.source)
    told = explain(Landing(touchpoint.url, touchpoint.referrer, parameters))
    source, rule = (
        (told.outcome.name, told.outcome.rule)
        if isinstance(told.outcome, Source)
        else ("direct", told.outcome.reason.value)
    )
    given = {name: getattr(touchpoint, name) for name in Ad.__struct_fields__}
    ad = Ad(**given) if any(given.values()) else told.ad
    return Touch(
        at=at, source_id=SOURCE_IDS[source], source_rule=rule, ad=ad, url=touchpoint.url,
        referrer_host=_host(touchpoint.referrer),
    )  # fmt: skip


def _host(address: str | None) -> str | None:
    """The host of a URL, or of an address that lacks its scheme; None when there is none."""
    if address is None:
        return None
    try:
        return urlsplit(address if "//" in address else f"//{address.strip()}").hostname
    except ValueError:
        return None


class StoredTouchpoint(Ad, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """A touchpoint's row as it is first written. Times are µs since 1970."""

    id: int
    contact_id: int
    occurred_at: int
    source_id: int
    source_rule: str
    origin_id: int | None = None
    company_id: int | None = None
    url: str | None = None
    referrer_host: str | None = None
    sent: bool = False
    by_hit: bool = False
    cookies: dict[str, str] | None = None
    warnings: list[str] | None = None
    sender: Sender = Sender.BROWSER


class TouchpointRange(msgspec.Struct, frozen=True, gc=False):
    """The part of a stored contact's path to load, in µs since 1970, both ends included."""

    contact_id: int
    first: int
    last: int


class StoredTouch(NamedTuple):
    """A stored touch, as far as others depend on it."""

    contact_id: int
    id: int
    at: int
    is_direct_view: bool
    """Whether it is a page view's that nothing told the source of."""
    likeness: Likeness


def request_touches(
    connection: Connection[Any], space_id: int, spans: Collection[TouchpointRange]
) -> Callable[[], Iterable[StoredTouch]]:
    """Ask for the stored touches in these spans; calling the result fetches each once."""
    if not spans:
        return tuple
    values = {"space_id": space_id, "spans": rows(spans), "directly": DIRECTLY}
    cursor = connection.execute(queries["load"], values)

    def fetch() -> Iterable[StoredTouch]:
        found = (StoredTouch(*row[:4], likeness=row[4:]) for row in cursor.fetchall())
        return {touch.id: touch for touch in found}.values()

    return fetch


def delete_touchpoints(connection: Connection[Any], space_id: int, ids: Collection[int]) -> None:
    """Delete touchpoints that page views made and no longer make."""
    if ids:
        connection.execute(queries["delete"], {"space_id": space_id, "ids": list(ids)})


def write_touchpoints(
    connection: Connection[Any], space_id: int, touchpoints: Collection[StoredTouchpoint]
) -> None:
    """Store new touchpoints."""
    if touchpoints:
        values = {"space_id": space_id, "touchpoints": rows(touchpoints)}
        connection.execute(queries["write"], values)
