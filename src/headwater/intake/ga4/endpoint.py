"""GA4's Measurement Protocol. 204 means that the rows are durable; Google's answer says only that the request
arrived.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.types import ASGIApp

from headwater.http.errors import Invalid
from headwater.http.inputs.parameters import Query
from headwater.intake.ga4.events import Ga4Events
from headwater.intake.ga4.requests import MAX_BODY, Ga4Body, list_events, read_body_members, read_person
from headwater.intake.ga4.validation import list_messages, name_events
from headwater.intake.ingest.endpoints import HttpResponse
from headwater.intake.protocols.endpoint import (
    Incoming,
    MessageBatch,
    Outcome,
    ProtocolEndpoint,
    ProtocolServices,
    Translate,
)
from headwater.intake.protocols.ignored import IgnoredReason
from headwater.intake.protocols.keys import Key, KeyOwner
from headwater.intake.protocols.translation import IgnoredMessage, Translator
from headwater.intake.tracker.endpoint import preflight

COLLECT = "/ga4/mp/collect"
DEBUG = "/ga4/debug/mp/collect"


class Ga4Batch(MessageBatch):
    def __init__(self, key: str, body: Ga4Body) -> None:
        self.key, self._body = Key("api_secret", key), body

    def list_messages(self) -> list[Any]:
        self._person = read_person(self._body)
        if self._person.has_hashes:
            self.notes = (IgnoredMessage("user_data", IgnoredReason.HASHED),)
        return list_events(self._body)

    def make_translation(self, translator: Translator) -> Translate:
        return Ga4Events(translator, self._person).translate


class Ga4Endpoint(ProtocolEndpoint):
    max_body = MAX_BODY

    def read(self, incoming: Incoming) -> Ga4Batch:
        key = Query(incoming.query).single("api_secret") or ""
        return Ga4Batch(key, read_body_members(incoming.body))

    def conclude(self, outcome: Outcome) -> HttpResponse | Invalid:
        if not outcome.invalid:
            return HttpResponse(204, b"", [])
        refusal = Invalid(name_events(outcome.invalid))
        if outcome.is_invalid:
            return refusal
        message = f"{len(outcome.invalid)} of {outcome.count} events were refused."
        return HttpResponse(200, msgspec.json.encode({"message": message, "errors": refusal.errors}), [])


class Ga4DebugEndpoint(Ga4Endpoint):
    """Validates without storing."""

    async def finish(self, owner: KeyOwner, outcome: Outcome) -> HttpResponse:
        content = msgspec.json.encode({"validationMessages": list_messages(outcome)})
        return await self.store(owner, 1, [], HttpResponse(200, content, []))


def ga4_endpoints(services: ProtocolServices) -> dict[tuple[str, str], ASGIApp]:
    """Return the applications by method and path."""
    posts = {COLLECT: Ga4Endpoint(services), DEBUG: Ga4DebugEndpoint(services)}
    return {
        **{("POST", path): endpoint for path, endpoint in posts.items()},
        **{("OPTIONS", path): preflight for path in posts},
    }
