"""Response bodies of the endpoints of connections to ad accounts."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from headwater.http.answers import DataList, Moment
from headwater.http.inputs.account_answers import SecretField, StoredSettings, UsedVersion, describe_secrets
from headwater.http.inputs.account_settings import settings_schema
from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.connections.remedies import find_remedy
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import FaultCause, SpendAccount, SpendPlatform


class SpendPullLimits(Struct, frozen=True):
    """How far back spend is pulled."""

    window_days: Annotated[int, Meta(description="Every pull repeats these days, because they may change.")]
    weekly_window_days: Annotated[
        int | None, Meta(description="Once a week, the pull repeats these days; null: no more than usual.")
    ]
    history_days: Annotated[int, Meta(description="A new connection fetches these days.")]


class SpendPlatformAnswer(Struct, frozen=True):
    """An ad platform whose spend can be pulled."""

    name: str
    title: str
    settings: Annotated[dict[str, Any], Meta(description="A JSON schema.")]
    secrets: list[SecretField]
    gaps: Annotated[str | None, Meta(description="Spend that its API doesn't report.")]
    limits: SpendPullLimits


class SpendPlatformList(DataList[SpendPlatformAnswer], frozen=True):
    """All ad platforms whose spend can be pulled."""


class SpendConnectionAnswer(Struct, frozen=True):
    """A connection to an ad account whose spend is pulled. Secrets are never shown."""

    id: int
    platform: str
    name: str
    status: Annotated[
        Literal["active", "paused", "held"], Meta(description="Held: it waits until someone fixes the fault.")
    ]
    account: Annotated[SpendAccount | None, Meta(description="Null before the first pull.")]
    settings: StoredSettings
    api_version: UsedVersion
    secrets: Annotated[list[str], Meta(description="The names of its secrets.")]
    is_pulling: bool
    pulled_at: Annotated[Moment | None, Meta(description="The last complete pull.")]
    next_pull_at: Annotated[Moment | None, Meta(description="Null unless it is active.")]
    failing_since: Annotated[
        Moment | None, Meta(description="The first failed pull since the last complete.")
    ]
    fault: Annotated[FaultCause | None, Meta(description="Why the latest pull failed.")]
    message: Annotated[str | None, Meta(description="The platform's message about it.")]
    remedy: Annotated[str | None, Meta(description="What to do about it.")]
    history_from: Annotated[date | None, Meta(description="The first day that is fetched.")]
    history_until: Annotated[date | None, Meta(description="Days before this one are still to be fetched.")]
    history_share: Annotated[float, Meta(description="How much of the history is fetched, from 0 to 1.")]
    created_at: Moment


class SpendConnectionList(DataList[SpendConnectionAnswer], frozen=True):
    """The Space's connections to ad accounts."""


def describe_platform(platform: SpendPlatform) -> SpendPlatformAnswer:
    limits = platform.limits
    return SpendPlatformAnswer(
        name=platform.name,
        title=platform.title,
        settings=settings_schema(platform),
        secrets=describe_secrets(platform),
        gaps=platform.gaps or None,
        limits=SpendPullLimits(limits.window, limits.weekly_window, limits.history),
    )


def describe_connection(row: ConnectionRow) -> SpendConnectionAnswer:
    """Return only the names of secrets."""
    platform = registry.PLATFORMS.get(row.platform)
    return SpendConnectionAnswer(
        id=row.id,
        platform=row.platform,
        name=row.name,
        status=row.status,
        account=_find_account(row),
        settings=row.settings,
        api_version=None if platform is None else platform.find_version(row.settings),
        secrets=row.secret_names,
        is_pulling=row.is_pulling,
        pulled_at=row.pulled_at,
        next_pull_at=row.next_pull_at if row.status == "active" else None,
        failing_since=row.failing_since,
        fault=None if row.fault is None else FaultCause(row.fault),
        message=row.fault_message,
        remedy=find_remedy(row.platform, row.fault),
        history_from=row.history_from,
        history_until=row.history_until,
        history_share=row.history_share,
        created_at=row.created_at,
    )


def _find_account(row: ConnectionRow) -> SpendAccount | None:
    if row.account_id is None or row.currency is None:
        return None
    return SpendAccount(row.account_id, row.account_name or "", row.currency, row.timezone)
