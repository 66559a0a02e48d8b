"""Descriptions shared by tools and resources: a Space, and the attribution models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headwater.assistants.mcp.context import ToolContext
from headwater.attribution.models import MODELS
from headwater.reports.contents import COUNTED_EVENTS, SAMPLED_CONTACTS, SpaceContents, fetch_contents
from headwater.spaces.models import Space

MODELS_IN_WORDS = {name: model.description for name, model in MODELS.items()}


async def describe_space(context: ToolContext) -> dict[str, Any]:
    async with context.transaction() as connection:
        space = await context.space(connection)
        contents = await fetch_contents(connection, space.id)
    return {
        "id": space.id,
        "name": space.name,
        "timezone": space.timezone,
        "currency": space.currency,
        "today": f"{datetime.now(UTC).astimezone(space.zone).date()}",
        "first_event": _on_clock(contents.first_event, space),
        "last_event": _on_clock(contents.last_event, space),
        "event_counts": contents.event_counts,
        "not_known": _unknowns(contents),
        "company_identity_mode": space.company_identity_mode,
        "half_life_days": space.half_life_days,
        "event_labels": space.event_labels,
        "field_labels": space.field_labels,
        "may_write": context.may_write,
    }


def _on_clock(moment: datetime | None, space: Space) -> str | None:
    return moment and moment.astimezone(space.zone).isoformat(timespec="seconds")


def _unknowns(contents: SpaceContents) -> list[str]:
    unknowns: list[str] = []
    if not contents.has_spend:
        unknowns.append("No ad spend is stored, so neither cost nor return on ad spend is known.")
    if contents.contacts:
        share = 100 * contents.with_country / contents.contacts
        sample = "contacts" if contents.contacts < SAMPLED_CONTACTS else "latest contacts"
        unknowns.append(
            f"The country is known for {share:.0f} % of {contents.contacts} {sample}: only where a "
            "page view or a field gave it."
        )
    if sum(contents.event_counts.values()) >= COUNTED_EVENTS:
        unknowns.append(f"event_counts cover only the latest {COUNTED_EVENTS} events.")
    return unknowns
