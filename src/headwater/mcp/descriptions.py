"""Descriptions for tools and resources alike: a Space, and the attribution models in words."""

from __future__ import annotations

from typing import Any

from headwater.accounts.roles import Permission, Role
from headwater.attribution.models import MODELS
from headwater.spaces.models import Space

MODELS_IN_WORDS = {
    "first_touch": "All credit to the first touchpoint in the window.",
    "last_touch": "All credit to the last touchpoint in the window, direct visits included.",
    "last_non_direct_touch": "All credit to the last touchpoint that was no direct visit; to the "
    "last direct visit if there is nothing else.",
    "first_platform_touch": "All credit to the first touchpoint from a paid source.",
    "last_platform_touch": "All credit to the last touchpoint from a paid source.",
    "linear": "The same credit for every touchpoint.",
    "linear_paid": "The same credit for every touchpoint from a paid source; none for others.",
    "u_shaped": "40 % to the first touchpoint, 40 % to the last, 20 % shared by those between.",
}
assert MODELS_IN_WORDS.keys() == MODELS.keys()


def describe_space(space: Space, role: Role) -> dict[str, Any]:
    """A Space as an assistant needs to know it, and what it may do there."""
    return {
        "id": space.id,
        "name": space.name,
        "timezone": space.timezone,
        "currency": space.currency,
        "company_identity_mode": space.company_identity_mode,
        "event_labels": space.event_labels,
        "field_labels": space.field_labels,
        "may_write": role.may(Permission.WRITE_DATA),
    }
