"""Run a platform's exchanges: tokens, sending, retries and waits, with a deadline for each report."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import structlog

from headwater.base.egress.access_tokens import AccessTokens, HttpSender, TokenKeeper, TokenRefusal
from headwater.base.egress.models import EgressError, EgressRequest
from headwater.base.masking import Mask
from headwater.database.jobs.backoff import climb
from headwater.spend.connections.counters import count_call
from headwater.spend.platforms.platform import (
    Credentials,
    Exchange,
    Fault,
    FaultCause,
    Listed,
    Pause,
    SpendPlatform,
)

CALL_SECONDS = 60.0
"""For one answer."""
EXCHANGE_SECONDS = 1800.0
"""For one report, with its pages and waits."""
MOST_TRIES = 4
"""Of one request."""
RETRY_SECONDS = (1.0, 4.0, 16.0)
THROTTLE_SECONDS = (5.0, 20.0, 60.0)
LONGEST_WAIT = 60.0
"""Seconds that a report waits for a throttling platform; the pull stops for longer waits."""

Result = TypeVar("Result")

log = structlog.get_logger()


@dataclass
class Waits:
    """How the engine waits; tests wait in no time."""

    pause: Callable[[float], Awaitable[None]]
    clock: Callable[[], float] = time.time
    """In Unix seconds."""
    most_tries: int = MOST_TRIES


class PlatformSession:
    """The calls of one pull of a connection."""

    def __init__(
        self,
        platform: SpendPlatform,
        credentials: Credentials,
        caller: tuple[HttpSender, AccessTokens],
        waits: Waits,
        keep_token: TokenKeeper[Credentials],
    ) -> None:
        self._platform, self._credentials = platform, credentials
        self._egress, self._tokens = caller
        self._waits, self._keep_token = waits, keep_token
        self._lists: dict[str, Any] = {}

    async def run(self, exchange: Exchange[Result]) -> Result:
        """Return the exchange's result. Raises Fault."""
        deadline = self._waits.clock() + EXCHANGE_SECONDS
        try:
            step = next(exchange)
            while True:
                if self._waits.clock() > deadline:
                    raise Fault(FaultCause.TEMPORARY, "The report took too long.")
                if isinstance(step, Pause):
                    await self._waits.pause(step.seconds)
                    step = next(exchange)
                elif isinstance(step, Listed):
                    step = exchange.send(await self._list(step.request))
                else:
                    step = exchange.send(await self._call(step))
        except StopIteration as end:
            return end.value
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError) as error:
            log.warning("report not understood", platform=self._platform.name, error=type(error).__name__)
            words = f"{self._platform.title} sent an unexpected answer ({type(error).__name__})."
            raise Fault(FaultCause.REFUSED, words) from error

    async def _list(self, request: EgressRequest) -> Any:
        if request.url not in self._lists:
            self._lists[request.url] = await self._call(request)
        return self._lists[request.url]

    async def _call(self, request: EgressRequest) -> Any:
        """Send a request until it is answered. A refused token is replaced once."""
        tries, has_renewed = 0, False
        while True:
            try:
                return await self._send(request)
            except Fault as fault:
                if (
                    fault.cause is FaultCause.TOKEN
                    and not has_renewed
                    and self._tokens.has(self._credentials)
                ):
                    self._tokens.forget(self._credentials)
                    has_renewed = True
                    continue
                tries += 1
                wait = None if tries >= self._waits.most_tries else _wait_before_retry(fault, tries)
                if wait is None:
                    raise self._without_secrets(fault) from None
                await self._waits.pause(wait)

    async def _send(self, request: EgressRequest) -> Any:
        most_bytes = self._platform.limits.most_bytes
        try:
            credentials = await self._authorize()
            call = self._platform.authorize(request, credentials)
            answer = await self._egress.send(call, CALL_SECONDS, most_bytes=most_bytes)
        except EgressError as error:
            count_call(self._platform.name, None)
            raise Fault(FaultCause.TEMPORARY, str(error)) from None
        count_call(self._platform.name, answer.status)
        return self._platform.decode(answer)

    def _without_secrets(self, fault: Fault) -> Fault:
        """Mask tokens that the platform quotes."""
        credentials = self._credentials
        mask = Mask([*credentials.secrets.values(), credentials.access_token or ""])
        return Fault(fault.cause, mask.text(str(fault)), wait_seconds=fault.wait_seconds)

    async def _authorize(self) -> Credentials:
        """Return the credentials with a valid access token. Raises Fault and EgressError."""
        token = await self._tokens.fetch(
            self._platform, self._credentials, self._waits.clock(), self._keep_token
        )
        if token is None:
            return self._credentials
        if isinstance(token, TokenRefusal):
            kind = FaultCause.TEMPORARY if token.error.is_temporary else FaultCause.TOKEN
            raise Fault(kind, token.error.text)
        secrets = self._credentials.secrets
        if token.refresh_token is not None:
            secrets = {**secrets, "refresh_token": token.refresh_token}
        self._credentials = msgspec.structs.replace(
            self._credentials, secrets=secrets, access_token=token.text
        )
        return self._credentials


def _wait_before_retry(fault: Fault, tries: int) -> float | None:
    """Return None if a retry won't help now."""
    if fault.cause is FaultCause.TEMPORARY:
        return climb(RETRY_SECONDS, tries)
    if fault.cause is FaultCause.THROTTLED:
        wait = climb(THROTTLE_SECONDS, tries) if fault.wait_seconds is None else fault.wait_seconds
        return wait if wait <= LONGEST_WAIT else None
    return None
