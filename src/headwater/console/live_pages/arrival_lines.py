"""Arrivals as lines of the page. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from headwater.console.live_pages.arrivals import Arrival
from headwater.console.people_pages.origin import SENDERS
from headwater.console.report_pages.bar import conversion_title
from headwater.people.identity.senders import Sender
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

_KINDS = {
    "event": "An event",
    "hit": "A page view",
    "touchpoint": "A touchpoint",
    "identify": "A person",
    "bots": "Page views by bots",
}
_DUPLICATES = {
    "idempotency_key": "its idempotency key was already used",
    "order_id": "its order id was already used",
    "repeated_touch": "the same touchpoint arrived less than half an hour before",
    "repeated_hit": "the same page view arrived before",
    "refund": "the refund was already counted",
}
_REJECTIONS = {
    "unreadable_payload": "it can't be read",
    "unknown_kind": "its kind is unknown",
    "processing_error": "processing it failed",
}


class ArrivalLine(Struct, frozen=True):
    """A line of the page. Its texts are untrusted."""

    key: str
    """Equal for the same line in another snapshot."""
    kind: str
    at: datetime
    title: str
    link: str = ""
    person: str = ""
    person_link: str = ""
    amount: Decimal | None = None
    currency: str = ""
    source: str = ""
    detail: str = ""
    state: str = "stored"
    about: str = ""
    """The reason for the state."""


def describe(arrival: Arrival, space: Space, base: str) -> ArrivalLine:
    """Return a line; `base` is the path of the Space's pages."""
    values = arrival.values
    parts: dict[str, Any] = {
        "key": f"{arrival.kind}-{arrival.id}",
        "kind": arrival.kind,
        "at": arrival.at,
        **_person(values, base),
    }
    match arrival.kind:
        case "visits" | "touchpoints":
            parts |= _visit(arrival.kind, values, space, base)
        case "events":
            parts |= _event(values, space) | {"link": f"{base}/events/{arrival.id}"}
        case "duplicates":
            parts |= _duplicate(values, space, base)
        case "rejected":
            parts |= _rejection(values, base)
        case "bots":
            parts |= _bots(values)
        case _:
            parts |= _waiting(values)
    return ArrivalLine(**parts)


def _person(values: Mapping[str, Any], base: str) -> dict[str, str]:
    contact = values.get("contact_id")
    if contact is None:
        return {}
    name = values.get("person") or values.get("email") or f"contact {contact}"
    return {"person": name, "person_link": f"{base}/contacts/{contact}"}


def _visit(kind: str, values: Mapping[str, Any], space: Space, base: str) -> dict[str, Any]:
    word = "Page view" if kind == "visits" else "Touchpoint"
    referrer = values["referrer_host"]
    source: int | None = values["source_id"]
    return {
        "title": f"{word} {_page(values['url'])}".strip(),
        "link": f"{base}/contacts/{values['contact_id']}",
        "source": format_title(space.sources.get_name(source)) if source else "within a visit",
        "detail": ", ".join(filter(None, (values.get("device"), referrer and f"from {referrer}"))),
    }


def _page(url: str | None) -> str:
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return ""
    return (parts.path if len(parts.path) > 1 else parts.netloc)[:120]


def _event(values: Mapping[str, Any], space: Space) -> dict[str, Any]:
    source: int | None = values.get("source_id")
    name = values["event_name"]
    return {
        "title": conversion_title(space, name),
        "amount": values["amount"],
        "currency": values["currency"] or space.currency,
        "source": format_title(space.sources.get_name(source)) if source else "no touchpoint before it",
        "detail": _sender(values),
    }


def _duplicate(values: Mapping[str, Any], space: Space, base: str) -> dict[str, Any]:
    event = values["event_id"]
    repeated = {} if event is None else _event(values, space)
    return {
        "title": "A duplicate",
        **repeated,
        "source": "",
        "state": "duplicate",
        "link": f"{base}/events/{event}" if event is not None else "",
        "about": _DUPLICATES.get(values["reason"], values["reason"]),
        "detail": _sender(values),
    }


def _rejection(values: Mapping[str, Any], base: str) -> dict[str, Any]:
    reason = _REJECTIONS.get(values["reason"], values["reason"])
    return {
        "title": _KINDS.get(values["kind"], "Something"),
        "link": f"{base}/data-quality",
        "state": "rejected",
        "about": f"{reason}: {values['detail']}",
        "detail": _sender(values),
    }


def _bots(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": f"A bot on {values['site']}",
        "state": "ignored",
        "about": f"{values['bot_hits']:,} page views by bots ignored so far",
    }


def _waiting(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": _KINDS.get(values["kind"], "Something"),
        "state": "waiting",
        "detail": _sender(values),
        "about": "accepted, will be processed in a moment",
    }


def _sender(values: Mapping[str, Any]) -> str:
    sender = values.get("sender")
    return f"by {SENDERS[Sender(sender)]}" if sender in SENDERS else ""
