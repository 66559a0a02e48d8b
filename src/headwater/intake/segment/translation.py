"""Translate a message into the rows that the API and the tracker store. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedPerson
from headwater.events.browsing.agents import read_agent
from headwater.events.browsing.places import Places
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.http.errors import Invalid
from headwater.intake.ingest.payload import Consent
from headwater.intake.segment.event_names import (
    ORDER_CANCELLED,
    ORDER_REFUNDED,
    ORDER_UPDATED,
    Labels,
    normalise,
)
from headwater.intake.segment.ignored import IgnoredReason
from headwater.intake.segment.messages import (
    Members,
    SegmentMessage,
    find_delay,
    find_time,
    read_members,
    read_text,
)
from headwater.intake.segment.payloads import (
    LONGEST_ADDRESS,
    LONGEST_EMAIL,
    add_campaign,
    find_page,
    make_event,
    make_hit,
    make_person,
    read_amount,
    read_currency,
    read_traits,
)
from headwater.intake.tracker.browser_reports import MAX_AGO, Browser, language_tag
from headwater.intake.tracker.reported_items import check_amount, describe_visit, make_claim
from headwater.spaces.sites.sites import ActiveSite

_CAMPAIGN = {"source": "trk_source", "medium": "trk_type", "name": "trk_campaign", "term": "trk_keyword"}
_encode = msgspec.json.encode
Claimed = TypeVar("Claimed", AcceptedEvent, AcceptedPerson)


class IgnoredMessage(Exception):
    def __init__(self, name: str, reason: IgnoredReason) -> None:
        super().__init__(reason)
        self.name, self.reason = name, reason


class SegmentRow(NamedTuple):
    kind: str
    payload: bytes


class PageVisitor(Struct, frozen=True):
    """A site, and the browser that shows one of its pages."""

    site: ActiveSite
    browser: Browser


class _Call(Struct):
    """A message, with what every kind of call has."""

    message: SegmentMessage
    context: Members
    properties: Members
    traits: Members
    identifiers: dict[str, str]
    message_id: str
    occurred_at: int


def _read_identifiers(message: SegmentMessage, traits: Members, properties: Members) -> dict[str, str]:
    visitor, user = read_text(message.anonymous_id), read_text(message.user_id)
    email = read_text(traits.get("email") or properties.get("email"), LONGEST_EMAIL)
    if email is None and user is not None and "@" in user:
        email = user
    named = {"trk_token": visitor, "tracking_id": user, "email": email}
    return {name: value for name, value in named.items() if value is not None}


class Translator:
    """Translates the messages of one request."""

    def __init__(
        self,
        labels: Labels,
        places: Places,
        received_at: float,
        sent_at: Any,
        visitor: PageVisitor | None = None,
    ) -> None:
        """`sent_at` is the request's, and `visitor` None for an API key."""
        self._delay = None if sent_at is None else find_delay(sent_at, received_at)
        self._labels, self._places, self._visitor = labels, places, visitor
        self._received_at = received_at
        self._linked: set[bytes] = set()
        self._calls: dict[Any, Callable[[_Call], list[SegmentRow]]] = {
            "track": self._track,
            "identify": self._identify,
            "page": self._page,
            "screen": self._page,
            "group": self._group,
            "alias": self._alias,
        }

    def translate(self, message: SegmentMessage) -> list[SegmentRow]:
        """Raise Invalid with the wrong fields, or IgnoredMessage."""
        kind = message.type if isinstance(message.type, str) else None
        translate = self._calls.get(kind)
        if translate is None:
            raise Invalid.of("type", f"must be one of {', '.join(self._calls)}.")
        return translate(self._read_call(message))

    def _read_call(self, message: SegmentMessage) -> _Call:
        context, properties = message.members("context"), message.members("properties")
        traits, own_traits = read_members(context, "traits"), message.members("traits")
        if own_traits and message.type != "group":  # a group's are the company's
            traits = {**traits, **own_traits}
        delay = find_delay(message.sent_at, self._received_at) if self._delay is None else self._delay
        max_ago = None if self._visitor is None else MAX_AGO
        call = _Call(
            message,
            context,
            properties,
            traits,
            _read_identifiers(message, traits, properties),
            read_text(message.message_id) or str(uuid4()),
            find_time(message, delay, self._received_at, max_ago),
        )
        if not call.identifiers:
            raise Invalid.of("userId", "is required unless anonymousId is given.")
        return call

    # -------------------------------------------------------------------------------- calls

    def _track(self, call: _Call) -> list[SegmentRow]:
        written = read_text(call.message.event)
        if written is None:
            raise Invalid.of("event", "is required, a name of at most 255 characters.")
        name = normalise(written)
        if name == ORDER_UPDATED:
            raise IgnoredMessage(written, IgnoredReason.ORDER_UPDATED)
        if name in (ORDER_REFUNDED, ORDER_CANCELLED):
            return self._refund(call, written, is_whole=name == ORDER_CANCELLED)
        event_name = self._labels.find_event(written)
        if event_name is None:
            raise IgnoredMessage(written, IgnoredReason.UNKNOWN_EVENT)
        payload = self._event_payload(call) | {"event_name": event_name}
        event = make_event(
            payload, read_amount(call.properties, "revenue", "total", "value"), self._received_at
        )
        if self._visitor is not None and event.amount is not None:
            check_amount(event.amount, self._visitor.site)
        if event.email or event.tracking_id:
            event = self._claim(event)
        return [SegmentRow("event", _encode(event))]

    def _refund(self, call: _Call, written: str, *, is_whole: bool) -> list[SegmentRow]:
        """A cancelled order returns everything that was not refunded before."""
        if self._visitor is not None:
            raise IgnoredMessage(written, IgnoredReason.FROM_PAGE)
        order_id = read_text(call.properties.get("order_id"))
        if order_id is None:
            raise Invalid.of("order_id", "is required, text of at most 255 characters.")
        amount = None if is_whole else read_amount(call.properties, "total", "revenue", "value")
        currency = read_currency(call.properties)
        item = "" if amount is None else call.message_id
        statement = MoneyBack(item=item, amount=amount and amount.lstrip("-"), version=call.occurred_at)
        refund = AcceptedRefund(
            order_ids=(order_id,), at=call.occurred_at, currency=currency, statements=(statement,)
        )
        return [SegmentRow("refund", _encode(refund))]

    def _identify(self, call: _Call) -> list[SegmentRow]:
        company = read_members(call.traits, "company")
        company_id = read_text(company.get("id"), 190) or read_text(call.context.get("groupId"), 190)
        return self._person_rows(call, company_id, read_text(company.get("name")))

    def _group(self, call: _Call) -> list[SegmentRow]:
        company_id = read_text(call.message.group_id, 190)
        if company_id is None:
            raise Invalid.of("groupId", "is required, text of at most 190 characters.")
        return self._person_rows(call, company_id, read_text(call.message.members("traits").get("name")))

    def _alias(self, call: _Call) -> list[SegmentRow]:
        previous = read_text(call.message.previous_id)
        if previous is None or "tracking_id" not in call.identifiers:
            raise Invalid.of("previousId", "is required, and userId too.")
        return self._person_rows(replace(call, identifiers={**call.identifiers, "trk_token": previous}))

    def _page(self, call: _Call) -> list[SegmentRow]:
        visitor = call.identifiers.get("trk_token")
        if visitor is None:
            raise IgnoredMessage(str(call.message.type), IgnoredReason.NO_VISITOR)
        url = find_page(call.properties, call.context, "url")
        if url is None:
            raise IgnoredMessage(str(call.message.type), IgnoredReason.NO_PAGE)
        url = add_campaign(url, read_members(call.context, "campaign"))
        referrer = find_page(call.properties, call.context, "referrer")
        hit = make_hit(call.message_id, url, referrer, self._received_at)
        browser = self._find_browser(call)
        if browser.agent.is_bot:
            raise IgnoredMessage(str(call.message.type), IgnoredReason.BOT)
        visit = describe_visit(browser)
        hit = replace(hit, occurred_at=call.occurred_at, trk_token=visitor, **visit)
        return [SegmentRow("hit", _encode(hit)), *self._link(call)]

    # --------------------------------------------------------------------------------- parts

    def _link(self, call: _Call) -> list[SegmentRow]:
        """Identify a page's visitor, once a request."""
        identifiers = call.identifiers
        key = _encode(identifiers)
        if len(identifiers) == 1 or key in self._linked:
            return []
        self._linked.add(key)
        try:
            return self._person_rows(call)
        except Invalid:  # the page view counts all the same
            return []

    def _person_rows(
        self, call: _Call, company_id: str | None = None, company_name: str | None = None
    ) -> list[SegmentRow]:
        """Return no row if nothing is known of the person. Raise Invalid if everything is wrong."""
        payload = read_traits(call.traits, self._labels.fields) | call.identifiers
        token = payload.pop("trk_token", None)
        if not (payload or company_id):
            return []
        person = make_person(payload, self._received_at) if payload else AcceptedPerson(occurred_at=0)
        person = replace(
            person,
            occurred_at=call.occurred_at,
            trk_token=token,
            company_external_id=company_id,
            company_name=company_name,
        )
        return [SegmentRow("identify", _encode(self._claim(person)))]

    def _event_payload(self, call: _Call) -> dict[str, Any]:
        properties, context = call.properties, call.context
        payload = read_traits(call.traits, self._labels.fields)
        payload.update(call.identifiers)
        payload["idempotency_key"] = call.message_id
        payload["event_time"] = call.occurred_at / 1000
        payload["url"] = find_page(properties, context, "url")
        payload["order_id"] = read_text(properties.get("order_id"))
        payload["currency"] = properties.get("currency")
        if "groupId" in context:
            payload["company_external_id"] = read_text(context["groupId"], 190)
        if call.message.members("integrations").get("All") is False:
            payload["do_not_capi"] = True
        if self._visitor is not None:
            payload["user_agent"] = self._visitor.browser.user_agent or None
            return payload
        payload["ip"] = read_text(context.get("ip"), 64)
        payload["user_agent"] = read_text(context.get("userAgent"), LONGEST_ADDRESS)
        for member, value in read_members(context, "campaign").items():
            if member in _CAMPAIGN:
                payload[_CAMPAIGN[member]] = read_text(value)
        return payload

    def _claim(self, item: Claimed) -> Claimed:
        """Limit a page's claims by its site's rule and its visitor's address."""
        visitor = self._visitor
        return item if visitor is None else replace(item, **make_claim(visitor.browser, visitor.site))

    def _find_browser(self, call: _Call) -> Browser:
        if self._visitor is not None:
            return self._visitor.browser
        ip, user_agent = read_text(call.context.get("ip"), 64), read_text(call.context.get("userAgent"), 2048)
        return make_browser(self._places, ip, user_agent or "", read_text(call.context.get("locale")))


def make_browser(places: Places, ip: str | None, user_agent: str, language: str | None) -> Browser:
    """`ip` may be any text from a server, which only locates."""
    return Browser(
        token=None,
        fingerprint=None,
        ip=ip,
        user_agent=user_agent,
        agent=read_agent(user_agent),
        place=places.find(ip),
        language=language_tag(language),
        cookies={},
        consent=Consent(),
        address_key="",
    )
