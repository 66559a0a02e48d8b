"""Translate a call into the rows that the API and the tracker store. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedPerson
from headwater.events.browsing.agents import read_agent
from headwater.events.browsing.places import Places
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.http.errors import Invalid
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.ingest.forms import LONGEST_ADDRESS
from headwater.intake.ingest.times import EARLIEST
from headwater.intake.protocols.calls import ProtocolCall
from headwater.intake.protocols.event_names import Labels
from headwater.intake.protocols.ignored import IgnoredReason
from headwater.intake.protocols.payloads import (
    add_campaign,
    find_page,
    make_event,
    make_hit,
    make_person,
    read_amount,
    read_currency,
    read_order_id,
    read_traits,
)
from headwater.intake.protocols.values import Members, read_members, read_text
from headwater.intake.tracker.browser_reports import MAX_AGO, Browser, language_tag
from headwater.intake.tracker.reported_items import check_amount, describe_visit, make_claim
from headwater.people.identity.senders import Sender
from headwater.spaces.sites.sites import ActiveSite

_CAMPAIGN = {"source": "trk_source", "medium": "trk_type", "name": "trk_campaign", "term": "trk_keyword"}
_encode = msgspec.json.encode
_EARLIEST = round(EARLIEST.timestamp() * 1000)
Claimed = TypeVar("Claimed", AcceptedEvent, AcceptedPerson)


class IgnoredMessage(Exception):
    def __init__(self, name: str, reason: IgnoredReason) -> None:
        super().__init__(reason)
        self.name, self.reason = name, reason


class PageVisitor(Struct, frozen=True):
    """A site, and the browser that shows one of its pages."""

    site: ActiveSite
    browser: Browser


class Translator:
    """Translates the messages of one request."""

    def __init__(
        self, labels: Labels, places: Places, received_at: float, visitor: PageVisitor | None = None
    ) -> None:
        """Requests with an API key come without a `visitor`."""
        self._labels, self._places, self._visitor = labels, places, visitor
        self.received_at = received_at
        self._linked: set[bytes] = set()
        self.sender = Sender.API_KEY if visitor is None else Sender.BROWSER
        self.is_bot = visitor is not None and visitor.browser.agent.is_bot
        """A bot sent the request. Its page views are only counted, and its other messages dropped."""
        self.bot_pages = 0

    def bound_time(self, moment: int | None) -> int:
        """Return a time in ms since 1970. One that can't be right becomes the reception's, and so does an old
        one of a page, because pages keep unsent messages for a limited time.
        """
        reception = round(self.received_at * 1000)
        earliest = _EARLIEST if self._visitor is None else reception - MAX_AGO
        return moment if moment is not None and earliest <= moment <= reception else reception

    # Each call raises Invalid with the wrong fields, or IgnoredMessage.

    def track(self, call: ProtocolCall) -> list[NewRow]:
        event_name = self._labels.find_event(call.name)
        if event_name is None:
            raise IgnoredMessage(call.name, IgnoredReason.UNKNOWN_EVENT)
        payload = self._event_payload(call, event_name)
        event = make_event(
            payload, read_amount(call.properties, "revenue", "total", "value"), self.received_at
        )
        if self._visitor is not None and event.amount is not None:
            check_amount(event.amount, self._visitor.site)
        if event.email or event.tracking_id:
            event = self._claim(event)
        return [NewRow("event", _encode(event), self.sender)]

    def refund(self, call: ProtocolCall, *, is_whole: bool = False) -> list[NewRow]:
        """Return money of an order, all of it if `is_whole` or without an amount."""
        if self._visitor is not None:
            raise IgnoredMessage(call.name, IgnoredReason.FROM_PAGE)
        order_id = read_order_id(call.properties)
        if order_id is None:
            raise Invalid.of("order_id", "is required.")
        amount = None if is_whole else read_amount(call.properties, "total", "revenue", "value")
        currency = read_currency(call.properties)
        item = "" if amount is None else call.message_id
        statement = MoneyBack(item=item, amount=amount and amount.lstrip("-"), version=call.occurred_at)
        refund = AcceptedRefund(
            order_ids=(order_id,), at=call.occurred_at, currency=currency, statements=(statement,)
        )
        return [NewRow("refund", _encode(refund), self.sender)]

    def page(self, call: ProtocolCall) -> list[NewRow]:
        visitor = call.identifiers.get("trk_token")
        if visitor is None:
            raise IgnoredMessage(call.name, IgnoredReason.NO_VISITOR)
        url = find_page(call.properties, call.context, "url")
        if url is None:
            raise IgnoredMessage(call.name, IgnoredReason.NO_PAGE)
        url = add_campaign(url, read_members(call.context, "campaign"))
        referrer = find_page(call.properties, call.context, "referrer")
        hit = make_hit(call.message_id, url, referrer, self.received_at)
        browser = self._find_browser(call)
        if browser.agent.is_bot:
            raise IgnoredMessage(call.name, IgnoredReason.BOT)
        visit = describe_visit(browser)
        hit = replace(hit, occurred_at=call.occurred_at, trk_token=visitor, **visit)
        return [NewRow("hit", _encode(hit), self.sender), *self._link(call)]

    def identify(
        self, call: ProtocolCall, company_id: str | None = None, company_name: str | None = None
    ) -> list[NewRow]:
        """Return no row if nothing is known of the person. Raise Invalid if everything is wrong."""
        payload = read_traits(call.traits, self._labels.fields) | call.identifiers
        token = payload.pop("trk_token", None)
        if not (payload or company_id):
            return []
        person = make_person(payload, self.received_at) if payload else AcceptedPerson(occurred_at=0)
        person = replace(
            person,
            occurred_at=call.occurred_at,
            trk_token=token,
            company_external_id=company_id,
            company_name=company_name,
        )
        return [NewRow("identify", _encode(self._claim(person)), self.sender)]

    # --------------------------------------------------------------------------------- parts

    def _link(self, call: ProtocolCall) -> list[NewRow]:
        """Identify a page's visitor, once a request."""
        identifiers = call.identifiers
        key = _encode(identifiers)
        if len(identifiers) == 1 or key in self._linked:
            return []
        self._linked.add(key)
        try:
            return self.identify(call)
        except Invalid:  # the page view counts all the same
            return []

    def _event_payload(self, call: ProtocolCall, event_name: str) -> dict[str, Any]:
        """Only members that are given, because each of the others costs time."""
        properties, context = call.properties, call.context
        payload = read_traits(call.traits, self._labels.fields) if call.traits else {}
        payload.update(call.identifiers)
        payload["event_name"] = event_name
        payload["idempotency_key"] = call.message_id
        payload["event_time"] = call.occurred_at / 1000
        payload["currency"] = properties.get("currency")
        if (url := find_page(properties, context, "url")) is not None:
            payload["url"] = url
        if "order_id" in properties:
            payload["order_id"] = read_order_id(properties)
        if "groupId" in context:
            payload["company_external_id"] = read_text(context["groupId"], 190)
        if not call.is_forwarded:
            payload["do_not_capi"] = True
        if call.consent is not None:
            payload["consent"] = call.consent
        self._describe_sender(call.context, payload)
        return payload

    def _describe_sender(self, context: Members, payload: dict[str, Any]) -> None:
        """Add the browser of a page's request, and what a server says of the browser and its campaign."""
        if self._visitor is not None:
            payload["user_agent"] = self._visitor.browser.user_agent or None
            return
        if "ip" in context:
            payload["ip"] = read_text(context["ip"], 64)
        if "userAgent" in context:
            payload["user_agent"] = read_text(context["userAgent"], LONGEST_ADDRESS)
        if "campaign" in context:
            for member, value in read_members(context, "campaign").items():
                if member in _CAMPAIGN:
                    payload[_CAMPAIGN[member]] = read_text(value)

    def _claim(self, item: Claimed) -> Claimed:
        """Limit a page's claims by its site's rule and its visitor's address."""
        visitor = self._visitor
        return item if visitor is None else replace(item, **make_claim(visitor.browser, visitor.site))

    def _find_browser(self, call: ProtocolCall) -> Browser:
        if self._visitor is not None:
            return self._visitor.browser
        ip, user_agent = (
            read_text(call.context.get("ip"), 64),
            read_text(call.context.get("userAgent"), LONGEST_ADDRESS),
        )
        return make_browser(self._places, ip, user_agent or "", read_text(call.context.get("locale")))


def make_browser(places: Places, ip: str | None, user_agent: str, language: str | None) -> Browser:
    """`ip` may be any text from a server, which only locates."""
    return Browser(
        ip=ip,
        user_agent=user_agent,
        agent=read_agent(user_agent),
        place=places.find(ip),
        language=language_tag(language),
        address_key="",
    )
