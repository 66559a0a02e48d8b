"""Page views: of recent sample journeys, and in every run of a few new visitors."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from headwater.demo.client import HttpClient
from headwater.demo.journeys import Payload, SamplePerson
from headwater.demo.shops import Shop

RECENT = timedelta(days=6)
"""Visits up to this age are sent as page views: a browser keeps unsent ones for a week."""
WALK_INS = 9
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
        headers = {
            "Content-Type": "text/plain",
            "Origin": origin,
            "User-Agent": _BROWSERS[sum(token.encode()) % len(_BROWSERS)],
        }
        return self._http.send("POST", self._endpoint, json.dumps(body), headers).status

    def report_visits(self, shop: Shop, visits: Sequence[Payload], current_time: datetime) -> None:
        """Report visits, each with the pages opened after the first."""
        for visit in visits:
            self.report(shop.origin, visit["trk_token"], _list_pages(shop, visit, current_time))


def is_recent(visit: Payload, current_time: datetime) -> bool:
    return current_time - _moment(visit) < RECENT


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
    given = {name: value for name, value in values.items() if value is not None}
    return {"type": kind, "key": str(uuid5(NAMESPACE_URL, key)), "ago": milliseconds, **given}


def _list_pages(shop: Shop, visit: Payload, current_time: datetime) -> list[Payload]:
    key = f"{visit['trk_token']}/{visit['occurred_at']}"
    dice = random.Random(key)  # noqa: S311 # repeatable on purpose
    moment, url = _moment(visit), visit["url"]
    items = [make_item("page", key, moment, url=url, referrer=visit.get("referrer"))]
    for number in range(dice.randrange(4)):
        moment += timedelta(seconds=dice.randrange(10, 120))
        if moment > current_time:
            break
        before, url = url, f"{shop.origin}/{dice.choice(shop.pages)}"
        items.append(make_item("page", f"{key}/{number}", moment, url=url, referrer=before))
    return items


def _moment(visit: Payload) -> datetime:
    return datetime.fromisoformat(visit["occurred_at"])
