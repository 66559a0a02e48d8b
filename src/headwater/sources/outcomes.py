"""What the classification of a visit answers: a source, or why the visit has none of its own."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Source(msgspec.Struct, frozen=True, gc=False):
    """A listed source, the rule that named it, and what that rule went by, if its name does not
    say so already: a value of a parameter, a pattern of a table, or a host.
    """

    name: str
    rule: str
    detail: str | None = None


class NothingReason(StrEnum):
    """Why a visit comes from nowhere new."""

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
    """The place of an ad in its account, as far as it is told. A URL tells no account's name."""

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
    """All that an arrival tells: where it came from, by which ad, and the platforms' click ids
    (parameter in lower case → value as it was sent), stale ones left out.
    """

    outcome: Outcome
    ad: Ad
    click_ids: dict[str, str]
    campaign: str | None = None
    """What marks the link, its campaign parameters and click ids with the rest that names the ad,
    in one text that is the same for the same values; None for a link that nothing marks.
    """
