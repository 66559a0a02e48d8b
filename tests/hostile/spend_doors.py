"""Readers of ad platforms' answers to spend requests, and of watched files' URLs. The puller may take longer
than a request, because no sender waits.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any

import msgspec

from headwater.base.egress.answers import read_object
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.intake.watched.addresses import read_address as read_watched_address
from headwater.spend.platforms import google, meta, reddit, rows, snapchat
from headwater.spend.platforms.platform import Credentials
from headwater.spend.platforms.registry import PLATFORMS
from tests.hostile.growth import Door

KB, MB = 1024, 1024 * 1024
FIELD = 2048

_PAGE = EgressRequest(url="https://platform.example/report", method="GET")
_SNAPCHAT = PLATFORMS["snapchat"]
_CREDENTIALS = Credentials(
    space_id=1,
    id=1,
    url=_SNAPCHAT.url,
    settings=msgspec.convert({"ad_account_id": "a-1"}, _SNAPCHAT.settings),
)


def _read_figures(text: str) -> None:
    """Read a text as each figure of a row. Most texts are refused."""
    for reader in (rows.read_day, rows.read_money, rows.read_micros, rows.read_count):
        with suppress(ValueError):
            reader(text)


def _read_purchases(text: str) -> object:
    return meta._read_purchases([{"action_type": "omni_purchase", "value": text}])


def _read_wait(text: str) -> object:
    headers = {"x-business-use-case-usage": text}
    return meta._read_wait(EgressResponse(status=429, headers=headers, body=b""))


def _read_pages(text: str) -> None:
    """Follow a text as the URL of the next page."""
    _send(reddit._read_pages(_PAGE), {"pagination": {"next_url": text}})
    _send(snapchat._read_pages(_CREDENTIALS, "/ads"), {"paging": {"next_link": text}})


def _send(exchange: Generator[Any, Any, Any], body: dict[str, Any]) -> None:
    next(exchange)
    with suppress(StopIteration):
        exchange.send(body)


def _decode(body: bytes) -> None:
    """Decode a body as each platform's answer."""
    answer = EgressResponse(status=200, body=body)
    google._read_first(answer)
    read_object(answer)
    PLATFORMS["pinterest"].decode(answer)


SPEND_TEXT_DOORS = [
    Door("spend.figures", _read_figures, MB),
    Door("spend.purchases", _read_purchases, MB),
    Door("spend.wait", _read_wait, 64 * KB),
    Door("spend.pages", _read_pages, FIELD),
    Door("watched.address", lambda text: read_watched_address(f"https://{text}"), FIELD),
]
SPEND_JSON_DOORS = [Door("spend.answer", _decode, MB, slow=0.3)]
