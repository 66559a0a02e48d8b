"""A webhook type, with shared tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from headwater.events.refunds.reports import AcceptedRefund
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings

Fields = Mapping[str, str]
"""By payload field, an expression."""


class SecretMaker(StrEnum):
    """The side that creates the signing secret."""

    SENDER = "sender"
    """Shown by the sender, and pasted here."""
    OURS = "ours"
    """Created here, and pasted at the sender."""


class Guide(Struct, frozen=True):
    """Setup instructions for a webhook type."""

    title: str
    brings: str
    """The events it sends."""
    steps: tuple[str, ...]
    """Steps to take at the sender."""
    secret_maker: SecretMaker
    topic_header: str | None = None
    """The header with the topic."""


def find_no_refund(_: MappingInput, __: str, ___: float) -> AcceptedRefund | None:
    return None


class Provider(Struct, frozen=True):
    type: str
    guide: Guide
    needs_secret: bool
    check: Callable[[bytes, WebhookRequest, WebhookSettings], None]
    """Raises UnverifiedRequest unless the message is signed."""
    topic: Callable[[MappingInput, WebhookSettings], str | None]
    """Returns the topic or None. Details like an order's status follow after a dot."""
    identity: Callable[[MappingInput, str], str | None]
    """Returns the sender's id, signed and equal in every retry; None to hash the body."""
    events: Mapping[str, str]
    """By topic; others are ignored."""
    fields: Mapping[str, Fields]
    """By topic or parent topic."""
    headers: frozenset[str] = frozenset()
    """Headers needed to read a delivery."""
    refuses_unmappable: bool = False
    """Answer 422 for unmappable bodies. Shops and payment services would resend them, then stop sending."""
    believed: Callable[[WebhookRequest, WebhookSettings], WebhookRequest] = lambda message, _: message
    """Returns the message without unsigned headers that could change its event."""
    money_topics: frozenset[str] = frozenset()
    """Topics, or parent topics, that only report refunds."""
    money_back: Callable[[MappingInput, str, float], AcceptedRefund | None] = find_no_refund
    """Returns the refund of a delivery received at a Unix time. Raises ValueError."""
    is_test: Callable[[MappingInput], bool] = lambda _: False
    has_no_visitor: Callable[[MappingInput], bool] = lambda _: False
    """Returns whether the order has no visit: a renewal, or entered by staff."""
    not_json: Callable[[WebhookRequest], str | None] = lambda _: None
    """Returns the purpose of an unsigned non-JSON message, like a ping."""


def first(*alternatives: str) -> str:
    """Return an expression for the first value present."""
    return f"not_blank({', '.join(alternatives)})"


def utm_fields(path: str) -> Fields:
    """Return expressions for trk_ or utm_ parameters in an object."""
    return {
        "trk_source": first(f"{path}.trk_source", f"{path}.utm_source"),
        "trk_network": f"{path}.trk_network",
        "trk_type": first(f"{path}.trk_type", f"{path}.utm_medium"),
        "trk_campaign": first(f"{path}.trk_campaign", f"{path}.utm_campaign"),
        "trk_ad_group": f"{path}.trk_ad_group",
        "trk_ad_id": f"{path}.trk_ad_id",
        "trk_keyword": first(f"{path}.trk_keyword", f"{path}.utm_term"),
    }


def listed_fields(path: str, key: str) -> Fields:
    """Return expressions for our fields in a list of pairs, like an order's notes."""
    names = (
        "trk_token",
        "fingerprint",
        "trk_source",
        "trk_network",
        "trk_type",
        "trk_campaign",
        "trk_ad_group",
        "trk_ad_id",
        "trk_keyword",
        "company_external_id",
        "company_name",
        "heard_about_us",
    )
    return {name: write_list_field(path, key, name) for name in names}


def write_list_field(path: str, key: str, name: str) -> str:
    """Return an expression for a field in such a list. The last value counts: shops append new notes to
    copied ones.
    """
    return f"{path}[?{key}=='{name}' && value] | [-1].value"
