"""Page views of the sample history, and in every run of a few new visitors.

The tracker accepts page views up to a week old, so those of the history are put into the inbox, as the
tracker would have put them there at the time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.demo.client import HttpClient
from headwater.demo.journeys import DAYS, Payload, SamplePerson
from headwater.demo.shops import Shop
from headwater.events.browsing.accepted import AcceptedHit
from headwater.events.browsing.agents import read_agent
from headwater.intake.inbox.accepted_rows import NewRow, append
from headwater.people.identity.senders import Sender

WALK_INS = 9
_FURTHER_PAGES = (0, 0, 0, 0, 1, 1, 2, 3)
"""Pages opened after the first one: none in half of the visits."""
_BROWSERS = (
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
        " Chrome/131.0.0.0 Safari/537.36"
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like"
        " Gecko) Version/18.1 Mobile/15E148 Safari/604.1"
    ),
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
)


class TrackerClient:
    def __init__(self, base_url: str, endpoint: str, site_key: str) -> None:
        self._http, self._endpoint, self._site_key = HttpClient(base_url), endpoint, site_key

    def report(self, origin: str, token: str, items: Sequence[Payload]) -> int:
        body = {"site": self._site_key, "token": token, "items": items}
        headers = {"Content-Type": "text/plain", "Origin": origin, "User-Agent": _choose_browser(token)}
        return self._http.send("POST", self._endpoint, json.dumps(body), headers).status

    def report_visits(self, shop: Shop, visits: Sequence[Payload], current_time: datetime) -> None:
        """Report visits, each with the pages opened after the first."""
        for visit in visits:
            items = [
                make_item("page", view.key, view.moment, url=view.url, referrer=view.referrer)
                for view in _list_page_views(shop, visit, current_time)
            ]
            self.report(shop.origin, visit["trk_token"], items)


def make_hits(shop: Shop, visits: Sequence[Payload], current_time: datetime) -> list[AcceptedHit]:
    """Return the page views of all visits as the tracker accepts them, in order of time."""
    hits = [
        _make_hit(visit["trk_token"], view)
        for visit in visits
        for view in _list_page_views(shop, visit, current_time)
    ]
    return sorted(hits, key=lambda hit: hit.occurred_at)


async def store_hits(connection: AsyncConnection, space_id: int, hits: Sequence[AcceptedHit]) -> None:
    """Put page views into the inbox. The caller commits."""
    new_rows = [NewRow("hit", msgspec.json.encode(hit), Sender.BROWSER) for hit in hits]
    await append(connection, [space_id] * len(new_rows), new_rows)


def passers_by(shop: Shop, current_time: datetime) -> list[Payload]:
    """Return visits of browsers that never sign up or order, over the whole history."""
    dice = random.Random(f"{shop.seed}/passers-by")  # noqa: S311 # repeatable on purpose
    visits: list[Payload] = []
    for number in range(shop.passers_by):
        start = current_time - timedelta(days=dice.uniform(0.02, DAYS))
        person = SamplePerson(shop, number, dice, start, f"{shop.slug}-passer-by-{number}")
        person.visit()
        visits += person.visits
    return visits


def walk_ins(shop: Shop, current_time: datetime) -> list[Payload]:
    """Return half an hour of visits from new browsers."""
    dice = random.Random(f"{shop.seed}/{current_time}")  # noqa: S311 # for variety alone
    people = [
        SamplePerson(
            shop,
            number,
            dice,
            current_time - timedelta(minutes=dice.uniform(0.2, 25)),
            f"{shop.slug}-{current_time:%Y%m%d%H%M%S}-{number}",
        )
        for number in range(WALK_INS)
    ]
    for person in people:
        person.visit()
    return [visit for person in people for visit in person.visits]


def make_item(kind: str, key: str, moment: datetime, **values: str | None) -> Payload:
    """Return an item dated one second early: a page is opened before any action on it."""
    ago = datetime.now(UTC) - moment + timedelta(seconds=1)
    milliseconds = max(0, int(ago.total_seconds() * 1000))
    item_values = {name: value for name, value in values.items() if value is not None}
    return {"type": kind, "key": _make_uuid(key), "ago": milliseconds, **item_values}


class _PageView(Struct, frozen=True):
    key: str
    moment: datetime
    url: str
    referrer: str | None


def _list_page_views(shop: Shop, visit: Payload, current_time: datetime) -> list[_PageView]:
    key = f"{visit['trk_token']}/{visit['occurred_at']}"
    dice = random.Random(key)  # noqa: S311 # repeatable on purpose
    moment, url = datetime.fromisoformat(visit["occurred_at"]), visit["url"]
    views = [_PageView(key, moment, url, visit.get("referrer"))]
    for number in range(dice.choice(_FURTHER_PAGES)):
        moment += timedelta(seconds=dice.randrange(10, 120))
        if moment > current_time:
            break
        before, url = url, f"{shop.origin}/{dice.choice(shop.pages)}"
        views.append(_PageView(f"{key}/{number}", moment, url, before))
    return views


def _make_hit(token: str, view: _PageView) -> AcceptedHit:
    agent = read_agent(_choose_browser(token))
    return AcceptedHit(
        key=_make_uuid(view.key),
        occurred_at=int(view.moment.timestamp() * 1000) - 1000,  # like make_item
        trk_token=token,
        url=view.url,
        referrer=view.referrer,
        device_type=agent.device_type,
        browser=agent.browser,
        os=agent.os,
    )


def _make_uuid(key: str) -> str:
    return str(uuid5(NAMESPACE_URL, key))


def _choose_browser(token: str) -> str:
    return _BROWSERS[sum(token.encode()) % len(_BROWSERS)]
