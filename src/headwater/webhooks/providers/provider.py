"""What a type of webhook consists of, and tables that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.webhooks.models import MappingInput, WebhookRequest, WebhookSettings

Fields = Mapping[str, str]
"""Payload field to expression."""


@dataclass(frozen=True)
class Provider:
    """A type of webhook."""

    type: str
    needs_secret: bool
    check: Callable[[bytes, WebhookRequest, WebhookSettings], None]
    """Raises Refused unless the message is signed with the secret."""
    topic: Callable[[MappingInput, WebhookSettings], str | None]
    """What a delivery reports, or None when it does not say. Where a case of it decides what it
    means, like an order's status, that follows after a dot.
    """
    identity: Callable[[MappingInput, str], str | None]
    """The sender's id of what happened, the same in every retry and taken from what is signed;
    None has the body's hash be it."""
    events: Mapping[str, str]
    """Topic to event name; others are ignored."""
    fields: Mapping[str, Fields]
    """By topic, or by what it is a case of."""
    headers: frozenset[str] = frozenset()
    """Those that matter besides the body."""
    refuses_unmappable: bool = False
    """Whether a body that cannot be mapped is answered 422. A shop or payment service would repeat
    it byte for byte and then stop sending anything at all.
    """
    believed: Callable[[WebhookRequest, WebhookSettings], WebhookRequest] = lambda message, _: (
        message
    )
    """A message that passed the check, without headers that the signature does not cover and that
    must not decide which event it is."""
    not_json: Callable[[WebhookRequest], str | None] = lambda _: None
    """What an unsigned message that is no JSON is for, if the sender has such."""


def first(*alternatives: str) -> str:
    """The first of several expressions that has a value."""
    return f"not_blank({', '.join(alternatives)})"


def utm_fields(where: str) -> Fields:
    """Attribution parameters from the members of an object, under their own or utm names."""
    return {
        "trk_source": first(f"{where}.trk_source", f"{where}.utm_source"),
        "trk_network": f"{where}.trk_network",
        "trk_type": first(f"{where}.trk_type", f"{where}.utm_medium"),
        "trk_campaign": first(f"{where}.trk_campaign", f"{where}.utm_campaign"),
        "trk_ad_group": f"{where}.trk_ad_group",
        "trk_ad_id": f"{where}.trk_ad_id",
        "trk_keyword": first(f"{where}.trk_keyword", f"{where}.utm_term"),
    }


def listed_fields(where: str, key: str) -> Fields:
    """What can be in a list of pairs, such as a shop's notes on an order, under our own names."""
    names = (
        "trk_token", "fingerprint", "trk_network", "trk_ad_group", "trk_ad_id",
        "company_external_id", "company_name",
    )  # fmt: skip
    return {name: listed(where, key, name) for name in names}


def listed(where: str, key: str, name: str) -> str:
    """One of them."""
    return f"{where}[?{key}=='{name}'] | [0].value"


def landing_fields(url: str, where: str, key: str) -> Fields:
    """Attribution from the URL of the page that the visit began on, unless the list of pairs says
    it outright.
    """
    return {
        "trk_source": first(
            listed(where, key, "trk_source"),
            f"url_source({url})",
            f"url_parameter({url}, 'utm_source')",
        ),
        **{
            name: first(listed(where, key, name), f"url_parameter({url}, '{parameter}')")
            for name, parameter in (
                ("trk_type", "utm_medium"),
                ("trk_campaign", "utm_campaign"),
                ("trk_keyword", "utm_term"),
            )
        },
    }
