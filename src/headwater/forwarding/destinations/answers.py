"""Response bodies of the destination and platform endpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from headwater.forwarding.destinations.destinations import MOST_COUNTED, DestinationRow
from headwater.forwarding.destinations.event_names import SentName, effective, warnings
from headwater.forwarding.destinations.schemas import ALL_EVENTS, EVENT_NAMES_ABOUT
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import DAY, Platform
from headwater.http.answers import DataList, Moment
from headwater.http.inputs.account_answers import SecretField, StoredSettings, UsedVersion, describe_secrets
from headwater.http.inputs.account_settings import settings_schema


class PlatformLimits(Struct, frozen=True):
    """Limits of a platform's interface."""

    batch: Annotated[int, Meta(description="Events in one request.")]
    age_days: Annotated[float, Meta(description="Older events are refused.")]


class PlatformAnswer(Struct, frozen=True):
    """An ad platform that events can be forwarded to."""

    name: str
    title: str
    sources: Annotated[list[str], Meta(description="The sources whose events it gets.")]
    settings: Annotated[dict[str, Any], Meta(description="A JSON schema.")]
    secrets: list[SecretField]
    event_names: Annotated[
        dict[str, str], Meta(description="Default names: our event name to the platform's.")
    ]
    limits: PlatformLimits


class PlatformList(DataList[PlatformAnswer], frozen=True):
    """All ad platforms."""


class DeliveryCounts(Struct, frozen=True):
    """Deliveries by status."""

    queued: int
    retrying: int
    delivered: int
    counted: int
    refused: int
    failed: int
    expired: int
    skipped: int


class DestinationAnswer(Struct, frozen=True):
    """An ad platform account that events are forwarded to. Secrets are never shown."""

    id: int
    platform: str
    name: str
    status: Literal["active", "paused", "held"]
    status_reason: Annotated[str | None, Meta(description="Why it is held.")]
    all_events: Annotated[bool, Meta(description=ALL_EVENTS)]
    settings: StoredSettings
    api_version: UsedVersion
    secrets: Annotated[list[str], Meta(description="The names of its secrets.")]
    event_names: Annotated[dict[str, str | None], Meta(description=EVENT_NAMES_ABOUT)]
    mapping: list[SentName]
    warnings: list[str]
    deliveries: Annotated[
        DeliveryCounts, Meta(description=f"Deliveries by status; {MOST_COUNTED} means at least that many.")
    ]
    wait_until: Annotated[Moment | None, Meta(description="Nothing is sent before this time.")]
    tested_at: Annotated[
        Moment | None,
        Meta(description="The time of the last test; null if its setup was changed since, or never tested."),
    ]
    test_ok: Annotated[bool | None, Meta(description="Whether the platform accepted the test event.")]
    test_message: Annotated[str | None, Meta(description="The result of the last test.")]
    test_remedy: Annotated[str | None, Meta(description="What to do about a failed test.")]
    created_at: Moment


class DestinationList(DataList[DestinationAnswer], frozen=True):
    """The Space's destinations."""


def describe_platform(platform: Platform) -> PlatformAnswer:
    return PlatformAnswer(
        name=platform.name,
        title=platform.title,
        sources=sorted(platform.sources),
        settings=settings_schema(platform),
        secrets=describe_secrets(platform),
        event_names=dict(platform.event_names),
        limits=PlatformLimits(platform.limits.batch, platform.limits.age / DAY),
    )


def _warn_of_credit(row: DestinationRow, platform: Platform) -> list[str]:
    needs_all = platform.credits is not None and not platform.credits.replaces_conversion
    if not needs_all or row.all_events or row.settings.get("credit_model", "off") == "off":
        return []
    return ["No credit is sent: credit_model needs all_events."]


def describe_destination(row: DestinationRow) -> DestinationAnswer:
    """Return only the names of secrets."""
    platform = registry.PLATFORMS[row.platform]
    mapping = effective(platform, row.event_names, row.event_labels)
    return DestinationAnswer(
        id=row.id,
        platform=row.platform,
        name=row.name,
        status=row.status,
        status_reason=row.status_reason,
        all_events=row.all_events,
        settings=row.settings,
        api_version=platform.find_version(row.settings),
        secrets=row.secret_names,
        event_names=row.event_names,
        mapping=mapping,
        warnings=[*warnings(platform, mapping), *_warn_of_credit(row, platform)],
        deliveries=DeliveryCounts(**row.counts),
        wait_until=row.wait_until,
        tested_at=row.tested_at,
        test_ok=row.test_ok,
        test_message=row.test_message,
        test_remedy=row.test_remedy,
        created_at=row.created_at,
    )
