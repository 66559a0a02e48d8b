"""Translate the calls of Segment's tracking API. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from headwater.http.errors import Invalid
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.protocols.calls import ProtocolCall, read_identifiers
from headwater.intake.protocols.event_names import ORDER_CANCELLED, ORDER_REFUNDED, ORDER_UPDATED, normalize
from headwater.intake.protocols.ignored import IgnoredReason
from headwater.intake.protocols.translation import IgnoredMessage, Translator
from headwater.intake.protocols.values import read_members, read_text, require_members
from headwater.intake.segment.messages import SegmentMessage, find_delay, find_moment


class SegmentCalls:
    """The calls of one request."""

    def __init__(self, translator: Translator, sent_at: Any) -> None:
        """`sent_at` is the request's."""
        self._translator = translator
        self._delay = None if sent_at is None else find_delay(sent_at, translator.received_at)
        self._kinds: dict[Any, Callable[[SegmentMessage, ProtocolCall], list[NewRow]]] = {
            "track": self._track,
            "identify": self._identify,
            "page": self._page,
            "screen": self._page,
            "group": self._group,
            "alias": self._alias,
        }

    def translate(self, message: SegmentMessage) -> list[NewRow]:
        """Raise Invalid with the wrong fields, or IgnoredMessage."""
        kind = message.type if isinstance(message.type, str) else ""
        if self._translator.is_bot:
            self._translator.bot_pages += kind == "page"
            return []
        translate = self._kinds.get(kind)
        if translate is None:
            raise Invalid.of("type", f"must be one of {', '.join(self._kinds)}.")
        return translate(message, self._read_call(message, kind))

    def _read_call(self, message: SegmentMessage, kind: str) -> ProtocolCall:
        context = require_members(message.context, "context")
        properties = require_members(message.properties, "properties")
        traits, own_traits = read_members(context, "traits"), require_members(message.traits, "traits")
        if own_traits and kind != "group":  # a group's are the company's
            traits = {**traits, **own_traits}
        identifiers = read_identifiers(message.anonymous_id, message.user_id, traits, properties)
        delay = (
            find_delay(message.sent_at, self._translator.received_at) if self._delay is None else self._delay
        )
        call = ProtocolCall(
            kind,
            read_text(message.message_id) or str(uuid4()),
            self._translator.bound_time(find_moment(message, delay)),
            identifiers,
            context,
            properties,
            traits,
            is_forwarded=require_members(message.integrations, "integrations").get("All") is not False,
        )
        if not identifiers:
            raise Invalid.of("userId", "is required unless anonymousId is given.")
        return call

    def _track(self, message: SegmentMessage, call: ProtocolCall) -> list[NewRow]:
        """A cancelled order returns everything that was not refunded before."""
        written_name = read_text(message.event)
        if written_name is None:
            raise Invalid.of("event", "is required, a name of at most 255 characters.")
        call.name = written_name
        name = normalize(written_name)
        if name == ORDER_UPDATED:
            raise IgnoredMessage(written_name, IgnoredReason.ORDER_UPDATED)
        if name in (ORDER_REFUNDED, ORDER_CANCELLED):
            return self._translator.refund(call, is_whole=name == ORDER_CANCELLED)
        return self._translator.track(call)

    def _identify(self, _: SegmentMessage, call: ProtocolCall) -> list[NewRow]:
        company = read_members(call.traits, "company")
        company_id = read_text(company.get("id"), 190) or read_text(call.context.get("groupId"), 190)
        return self._translator.identify(call, company_id, read_text(company.get("name")))

    def _group(self, message: SegmentMessage, call: ProtocolCall) -> list[NewRow]:
        company_id = read_text(message.group_id, 190)
        if company_id is None:
            raise Invalid.of("groupId", "is required, text of at most 190 characters.")
        name = read_text(require_members(message.traits, "traits").get("name"))
        return self._translator.identify(call, company_id, name)

    def _alias(self, message: SegmentMessage, call: ProtocolCall) -> list[NewRow]:
        previous = read_text(message.previous_id)
        if previous is None or "tracking_id" not in call.identifiers:
            raise Invalid.of("previousId", "is required, and userId too.")
        return self._translator.identify(
            replace(call, identifiers={**call.identifiers, "trk_token": previous})
        )

    def _page(self, _: SegmentMessage, call: ProtocolCall) -> list[NewRow]:
        return self._translator.page(call)
