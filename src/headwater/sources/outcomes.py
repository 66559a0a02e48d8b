"""Outcomes of classifying a visit: a source, or why it has none."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Source(msgspec.Struct, frozen=True, gc=False):
    """A listed source and its rule. `detail` is the matched value, pattern or host, if the rule's name isn't
    enough.
    """

    name: str
    rule: str
    detail: str | None = None


class NothingReason(StrEnum):
    OWN_HOST = "own_host"
    PAYMENT_PROVIDER = "payment_provider"
    LOGIN_HOST = "login_host"
    EXCLUDED_HOST = "excluded_host"


class NoTouch(msgspec.Struct, frozen=True, gc=False):
    """No touch: the visitor comes back from `detail`, a host pattern."""

    reason: NothingReason
    detail: str


Outcome = Source | NoTouch


class Ad(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The known parts of an ad's place in its account."""

    account_id: str | None = None
    account_name: str | None = None
    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    keyword: str | None = None


class Classification(msgspec.Struct, frozen=True, gc=False):
    """The full classification of a visit. `click_ids` maps lower-case parameters to their original values,
    without stale ones.
    """

    outcome: Outcome
    ad: Ad
    click_ids: dict[str, str]
    campaign: str | None = None
    """The link's campaign parameters, click ids and other ad parameters as one text, equal for equal values.
    """
    own_link: bool = False
