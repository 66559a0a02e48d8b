"""Segment's tracking API, for Segment's and RudderStack's client libraries. 200 means that the rows are
durable.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headwater.endpoints.services import services
from headwater.http.bodies import Receive
from headwater.http.errors import Invalid, Problem
from headwater.http.rate_limits import Quota
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.ingest.endpoints import HttpResponse, Send, quota_headers
from headwater.intake.protocols.endpoint import (
    Incoming,
    MessageBatch,
    Outcome,
    ProtocolEndpoint,
    ProtocolServices,
    Translate,
)
from headwater.intake.protocols.keys import Key
from headwater.intake.protocols.translation import Translator
from headwater.intake.segment.calls import SegmentCalls
from headwater.intake.segment.messages import (
    MAX_BATCH,
    SegmentBody,
    list_messages,
    read_message,
    read_segment_body,
)
from headwater.intake.segment.write_keys import read_write_key
from headwater.intake.tracker.endpoint import answer_preflight
from headwater.spaces.sites.sites import SiteCache

PREFIX = "/segment/v1"
_KINDS = ("track", "identify", "page", "screen", "group", "alias")
PATHS = {f"{PREFIX}/{path}": kind for kind in _KINDS for path in (kind, kind[0])}
"""By path, the type of the message; browsers send the first letter."""
BATCH_PATHS = (f"{PREFIX}/batch", f"{PREFIX}/b")

_ALLOWED_HEADERS = b"authorization, content-type, anonymousid, x-retry-count"
_SUCCESS = b'{"success":true}'
_CODES = {
    400: "bad_request",
    401: "invalid_write_key",
    403: "forbidden",
    413: "too_large",
    429: "rate_limited",
}


class SegmentBatch(MessageBatch):
    def __init__(self, kind: str | None, body: bytes, envelope: SegmentBody, key: str) -> None:
        self._kind, self._body, self._envelope = kind, body, envelope
        self.key = Key("write key", key)

    def list_messages(self) -> list[Any]:
        return [self._body] if self._kind else [bytes(raw) for raw in list_messages(self._envelope)]

    def make_translation(self, translator: Translator) -> Translate:
        calls = SegmentCalls(translator, self._envelope.sent_at)

        def translate(raw: bytes) -> list[NewRow]:
            message = read_message(raw)
            message.type = self._kind or message.type
            return calls.translate(message)

        return translate


class SegmentEndpoint(ProtocolEndpoint):
    max_body = MAX_BATCH

    def __init__(self, protocol: ProtocolServices, kind: str | None) -> None:
        """`kind` is the type of the message; None for a batch."""
        super().__init__(protocol)
        self._kind = kind

    def refuse(self, problem: Problem, quota: Quota | None = None) -> HttpResponse:
        """Answer like Segment, whose libraries read these members and drop what is answered 400."""
        status = 400 if isinstance(problem, Invalid) else problem.status
        content = {"success": False, "code": _CODES.get(status, "unavailable"), "message": problem.message}
        headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
        body = msgspec.json.encode({**content, **problem.extra})
        return HttpResponse(status, body, headers + quota_headers(quota))

    def read(self, incoming: Incoming) -> SegmentBatch:
        envelope = read_segment_body(incoming.body)
        key = read_write_key(incoming.headers.get(b"authorization"), envelope.write_key)
        return SegmentBatch(self._kind, incoming.body, envelope, key)

    def conclude(self, outcome: Outcome) -> HttpResponse | Invalid:
        return outcome.invalid[0][1] if outcome.is_invalid else HttpResponse(200, _SUCCESS, [])


async def preflight(scope: Any, _: Receive, send: Send) -> None:
    await answer_preflight(scope, send, _ALLOWED_HEADERS)


def segment_endpoints(protocol: ProtocolServices) -> dict[tuple[str, str], ASGIApp]:
    """Return the applications by method and path."""
    kinds: dict[str, str | None] = {**PATHS, **dict.fromkeys(BATCH_PATHS)}
    posts = {("POST", path): SegmentEndpoint(protocol, kind) for path, kind in kinds.items()}
    return {**posts, **{("OPTIONS", path): preflight for path in kinds}}


def segment_routes(sites: SiteCache) -> list[Route]:
    """Return the route of the settings that the library for browsers loads."""

    async def show_settings(request: HttpRequest) -> Response:
        key = request.path_params["write_key"]
        await sites.site(key)
        scheme, _, host = services(request).base_url.partition("://")
        destination = {
            "apiKey": key,
            "apiHost": host + PREFIX,
            "protocol": scheme,
            "addBundledMetadata": False,
        }
        content = {
            "integrations": {"Segment.io": destination},
            "plan": {"track": {"__default": {"enabled": True}}},
            "metrics": {"sampleRate": 0},
        }
        headers = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}
        return Response(msgspec.json.encode(content), media_type="application/json", headers=headers)

    return [Route(f"{PREFIX}/projects/{{write_key}}/settings", show_settings, methods=["GET"])]
