"""Outcomes of classifying a visit: a source, or the reason why it has none of its own."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Source(msgspec.Struct, frozen=True, gc=False):
    """A listed source, the rule that named it, and the evidence of that rule where its name is
    not enough: a value of a parameter, a pattern of a table, or a host.
    """

    name: str
    rule: str
    detail: str | None = None


class NothingReason(StrEnum):
    """The reason why a visit has no new source."""

    OWN_HOST = "own_host"
    PAYMENT_PROVIDER = "payment_provider"
    LOGIN_HOST = "login_host"
    EXCLUDED_HOST = "excluded_host"


class NoTouch(msgspec.Struct, frozen=True, gc=False):
    """No touch: the person was here before and comes back from `detail`, a host's pattern."""

    reason: NothingReason
    detail: str


Outcome = Source | NoTouch


class Ad(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The place of an ad in its account, as far as it is known. No URL has the account's name."""

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
    """The full classification of an arrival: its source, its ad, and the platforms' click ids
    (parameter in lower case → value as it was sent), stale ones left out.
    """

    outcome: Outcome
    ad: Ad
    click_ids: dict[str, str]
    campaign: str | None = None
    """The marks of the link as one text, equal for equal values: its campaign parameters, its click
    ids, and the other parameters that name the ad; None for a link without marks.
    """
    own_link: bool = False
    """True for a link with marks on one of the site's own pages."""
