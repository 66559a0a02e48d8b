"""The orders of a shop's interface as rows of an import, fetched page by page. The thread that reads rows
waits for the event loop, which sends the requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from headwater.base.egress.answers import is_temporary, read_wait, succeeded
from headwater.base.egress.client import Egress
from headwater.base.egress.models import AddressRefused, BadUrl, EgressError, EgressResponse
from headwater.database.jobs.backoff import climb
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.orders.shop_apis import PAGE, ShopAccess, ShopApi, ShopOrder

CALL_SECONDS = 60.0
RETRY_SECONDS = (2.0, 10.0, 30.0)
LONGEST_WAIT = 120.0
"""Seconds; a longer Retry-After ends the import, which continues when it is run again."""
MOST_BYTES = 16 * 1024 * 1024
_RUN_AGAIN = "run the command again later, it continues where it stopped"
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, kw_only=True)
class ShopSource(RowSource):
    api: ShopApi
    access: ShopAccess
    egress: Egress
    loop: asyncio.AbstractEventLoop
    retry_seconds: tuple[float, ...]

    def rows(self) -> Generator[FileRow]:
        return self.rows_after(0, "")

    def rows_after(self, rows_done: int, position: str) -> Generator[FileRow]:
        """Raise UnreadableError if the shop refuses, or answers something else."""
        number = rows_done
        while True:
            orders = self._fetch(position)
            for order in orders:
                number += 1
                yield FileRow(number, number, order.fields, position=order.position)
            if len(orders) < PAGE:
                return
            position = orders[-1].position

    def _fetch(self, position: str) -> list[ShopOrder]:
        return asyncio.run_coroutine_threadsafe(self._fetch_page(position), self.loop).result()

    async def _fetch_page(self, position: str) -> list[ShopOrder]:
        tries = 0
        while True:
            tries += 1
            answer = await self._send(position)
            body = None if answer is None or not succeeded(answer) or answer.cut else _read_json(answer)
            if body is not None and not _is_throttled(body):
                return self._read(body, position)
            if answer is not None and not succeeded(answer) and not is_temporary(answer.status):
                raise UnreadableError(self._explain(answer.status))
            wait = None if answer is None else read_wait(answer)
            wait = climb(self.retry_seconds, tries) if wait is None else wait
            if tries > len(self.retry_seconds) or wait > LONGEST_WAIT:
                raise UnreadableError(f"{self.api.title} does not answer now: {_RUN_AGAIN}")
            await asyncio.sleep(wait)

    async def _send(self, position: str) -> EgressResponse | None:
        """Return None without an answer. Raises UnreadableError for an address that may not be called."""
        try:
            request = self.api.request(self.access, position)
            return await self.egress.send(request, CALL_SECONDS, most_bytes=MOST_BYTES)
        except (BadUrl, AddressRefused) as error:
            raise UnreadableError(str(error)) from None
        except EgressError:
            return None

    def _read(self, body: Any, position: str) -> list[ShopOrder]:
        try:
            return self.api.read(body, position)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            words = f"{self.api.title} sent an unexpected answer ({type(error).__name__})"
            raise UnreadableError(words) from None

    def _explain(self, status: int) -> str:
        if status in (401, 403):
            secrets = " and the ".join(self.api.secrets)
            return f"{self.api.title} refused the {secrets}, or does not let them read orders"
        return f"{self.api.title} answered {status}: check the address of the shop"


def open_shop(
    api: ShopApi,
    access: ShopAccess,
    egress: Egress,
    loop: asyncio.AbstractEventLoop,
    retry_seconds: tuple[float, ...] = RETRY_SECONDS,
) -> ShopSource:
    """Return the orders of a shop. The progress belongs to its address and the first day."""
    since = access.since.isoformat() if access.since else ""
    digest = hashlib.sha256(f"{api.title}\n{access.origin}\n{since}".encode()).digest()
    return ShopSource(
        io.BytesIO(),
        "ndjson",
        0,
        digest,
        chunk=PAGE,
        api=api,
        access=access,
        egress=egress,
        loop=loop,
        retry_seconds=retry_seconds,
    )


def _read_json(answer: EgressResponse) -> Any:
    try:
        return _decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _is_throttled(body: Any) -> bool:
    """Recognize Shopify's refusal for too many requests, which has the status of a success."""
    reasons = cast("dict[str, Any]", body).get("errors") if isinstance(body, dict) else None
    return "THROTTLED" in str(reasons)
