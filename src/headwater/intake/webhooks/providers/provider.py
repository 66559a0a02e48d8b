"""The definition of a type of webhook, and tables that several types share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headwater.events.refunds.reports import AcceptedRefund
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings

Fields = Mapping[str, str]
"""Payload field to expression."""


class SecretMaker(StrEnum):
    """The side that makes the secret which a sender signs with."""

    SENDER = "sender"
    """The sender, whose admin pages show it; it is typed in here."""
    OURS = "ours"
    """We, for it to be pasted at the sender's."""


@dataclass(frozen=True)
class Guide:
    """The words by which people set a type of webhook up."""

    title: str
    brings: str
    """The events it brings, in words."""
    steps: tuple[str, ...]
    """The steps to take at the sender's."""
    secret_maker: SecretMaker
    topic_header: str | None = None
    """The header in which the sender names the topic of a body."""


def nothing_back(_: MappingInput, __: str, ___: float) -> AcceptedRefund | None:
    """Return None: this delivery says nothing of money that came back."""
    return None


@dataclass(frozen=True)
class Provider:
    """A type of webhook."""

    type: str
    guide: Guide
    needs_secret: bool
    check: Callable[[bytes, WebhookRequest, WebhookSettings], None]
    """Raises UnverifiedRequest unless the message is signed with the secret."""
    topic: Callable[[MappingInput, WebhookSettings], str | None]
    """Returns the topic of a delivery, or None when it has none. Where a detail decides what the
    topic means, like an order's status, it follows after a dot.
    """
    identity: Callable[[MappingInput, str], str | None]
    """Returns the sender's id of what happened, which is the same in every retry and is signed.
    None means that the body's hash is used.
    """
    events: Mapping[str, str]
    """Topic to event name; others are ignored."""
    fields: Mapping[str, Fields]
    """By topic, or by the topic that it is a case of."""
    headers: frozenset[str] = frozenset()
    """Names of headers that reading depends on."""
    refuses_unmappable: bool = False
    """True when a body that cannot be mapped is answered 422. A shop or payment service would
    repeat it byte for byte and then stop sending anything at all.
    """
    believed: Callable[[WebhookRequest, WebhookSettings], WebhookRequest] = lambda message, _: message
    """Returns a message that passed the check, without the headers that the signature does not
    cover and that must not decide which event it is.
    """
    money_topics: frozenset[str] = frozenset()
    """Topics, or what they are cases of, that only say that money came back."""
    money_back: Callable[[MappingInput, str, float], AcceptedRefund | None] = nothing_back
    """Returns what a delivery of any topic, received at a Unix time, says of an order's money.
    Raises ValueError for an amount that is no number.
    """
    is_test: Callable[[MappingInput], bool] = lambda _: False
    """Returns whether a delivery reports no real business: test orders, test modes."""
    has_no_visitor: Callable[[MappingInput], bool] = lambda _: False
    """Returns whether an order was made without a visit: a renewal, or one entered by staff."""
    not_json: Callable[[WebhookRequest], str | None] = lambda _: None
    """Returns the purpose of an unsigned message that is no JSON, if the sender has such."""


def first(*alternatives: str) -> str:
    """Return an expression for the first of several that has a value."""
    return f"not_blank({', '.join(alternatives)})"


def utm_fields(path: str) -> Fields:
    """Return expressions for attribution parameters in an object, under our names or utm names."""
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
    """Return expressions for the fields that a list of pairs, such as a shop's notes on an order,
    can hold under our own names.
    """
    names = (
        "trk_token",
        "fingerprint",
        "trk_network",
        "trk_ad_group",
        "trk_ad_id",
        "company_external_id",
        "company_name",
        "heard_about_us",
    )
    return {name: listed(path, key, name) for name in names}


def listed(path: str, key: str, name: str) -> str:
    """Return an expression for one field in such a list. Of several with a value the last one
    counts: a shop that copies an order's notes adds its own behind them.
    """
    return f"{path}[?{key}=='{name}' && value] | [-1].value"


def landing_fields(url: str, path: str, key: str) -> Fields:
    """Return expressions for attribution: from the list of pairs, else from the URL of the page
    that the visit began on.
    """
    return {
        "trk_source": first(
            listed(path, key, "trk_source"), f"url_source({url})", f"url_parameter({url}, 'utm_source')"
        ),
        **{
            name: first(listed(path, key, name), f"url_parameter({url}, '{parameter}')")
            for name, parameter in (
                ("trk_type", "utm_medium"),
                ("trk_campaign", "utm_campaign"),
                ("trk_keyword", "utm_term"),
            )
        },
    }
