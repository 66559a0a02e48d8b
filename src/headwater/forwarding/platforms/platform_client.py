"""Call a platform: token, request, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import structlog

from headwater.base.egress.access_tokens import AccessTokens, HttpSender, TokenKeeper, TokenRefusal
from headwater.base.egress.models import EgressError, EgressRequest, EgressResponse
from headwater.base.egress.oauth import TokenError
from headwater.forwarding.platforms.models import (
    Bisect,
    CallDeferred,
    CredentialsRefused,
    DeliveryKind,
    Destination,
    Verdict,
)
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.verdicts import VerdictAnswer, VerdictsDeferred

MOST_VERDICT_BYTES = 1024 * 1024
"""Answers name every event of a request, once per reason and warning."""

log = structlog.get_logger()


class CallContents(NamedTuple):
    parts: Sequence[dict[str, Any]]
    kind: DeliveryKind = "conversion"
    """Of all parts, if the platform takes corrections in calls of their own."""


class PlatformCall(NamedTuple):
    verdict: Verdict
    answer: EgressResponse | None = None
    """None without a response."""
    token: str | None = None
    """The access token used."""
    request_id: str | None = None
    """To ask for verdicts by."""


class PlatformClient:
    def __init__(self, egress: HttpSender, keep_token: TokenKeeper[Destination]) -> None:
        self._egress, self._keep_token = egress, keep_token
        self._tokens = AccessTokens(egress)

    async def call(
        self, platform: Platform, destination: Destination, contents: CallContents, current_time: float
    ) -> PlatformCall:
        """Send events. Replace a rejected token once, because it may be revoked. If the new one fails too,
        the credentials are wrong.
        """
        had_token = self._tokens.has(destination)
        result = await self._call_once(platform, destination, contents, current_time)
        if isinstance(result.verdict, CredentialsRefused):
            self._tokens.forget(destination)
            if had_token:
                return await self._call_once(platform, destination, contents, current_time)
        return result

    async def _call_once(
        self, platform: Platform, destination: Destination, contents: CallContents, current_time: float
    ) -> PlatformCall:
        try:
            token = await self._tokens.fetch(platform, destination, current_time, self._keep_token)
        except EgressError as error:
            return PlatformCall(CallDeferred(str(error)))
        if isinstance(token, TokenRefusal):
            return PlatformCall(_judge(token.error), token.answer)
        text = None if token is None else token.text
        destination = msgspec.structs.replace(destination, access_token=text)
        call = _request(platform, contents, destination)
        if isinstance(call, Bisect):
            return PlatformCall(call, None, text)
        try:
            answer = await self._egress.send(call)
        except EgressError as error:
            return PlatformCall(CallDeferred(str(error)), None, text)
        verdict = _classify(platform, answer, len(contents.parts))
        return PlatformCall(verdict, answer, text, _read_request_id(platform, answer))

    async def fetch_verdicts(
        self,
        platform: Platform,
        destination: Destination,
        request_id: str,
        parts: Mapping[int, dict[str, Any] | None],
        current_time: float,
    ) -> VerdictAnswer:
        """Ask for a request's verdicts. Replace a rejected token once."""
        had_token = self._tokens.has(destination)
        try:
            answer = await self._ask(platform, destination, request_id, current_time)
            if answer is not None and answer.status in {401, 403}:
                self._tokens.forget(destination)
                if had_token:
                    answer = await self._ask(platform, destination, request_id, current_time)
            return VerdictsDeferred() if answer is None else platform.read_verdicts(answer, parts)
        except EgressError:
            return VerdictsDeferred()
        except Exception:  # an unforeseen response must not stop sending
            log.exception("verdicts not understood", platform=platform.name)
            return VerdictsDeferred()

    async def _ask(
        self, platform: Platform, destination: Destination, request_id: str, current_time: float
    ) -> EgressResponse | None:
        token = await self._tokens.fetch(platform, destination, current_time, self._keep_token)
        if isinstance(token, TokenRefusal):
            return None
        text = None if token is None else token.text
        request = platform.verdict_request(
            request_id, msgspec.structs.replace(destination, access_token=text)
        )
        return None if request is None else await self._egress.send(request, most_bytes=MOST_VERDICT_BYTES)


def _judge(error: TokenError) -> Verdict:
    """Refused secrets hold the destination."""
    return CallDeferred(error.text) if error.is_temporary else CredentialsRefused(error.text)


def _request(platform: Platform, contents: CallContents, destination: Destination) -> EgressRequest | Bisect:
    try:
        if contents.kind == "correction":
            return platform.correction_request(contents.parts, destination)
        return platform.request(contents.parts, destination)
    except Exception:  # an unforeseen part must not stop others
        log.exception("call not made", platform=platform.name)
        return Bisect("Internal error: the request could not be prepared.")


def _classify(platform: Platform, answer: EgressResponse, parts: int) -> Verdict:
    try:
        return platform.classify(answer, parts)
    except Exception:  # an unforeseen response must not stop others
        log.exception("answer not understood", platform=platform.name, status=answer.status)
        return CallDeferred(f"{platform.title} sent an unexpected response.")


def _read_request_id(platform: Platform, answer: EgressResponse) -> str | None:
    try:
        return platform.read_request_id(answer)
    except Exception:  # the events were accepted all the same
        log.exception("request id not read", platform=platform.name)
        return None
