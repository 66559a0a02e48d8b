"""Facts about a Space and our terms, for an assistant to read before calling tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from mcp_types import Resource
from msgspec import Struct
from msgspec.structs import asdict

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.descriptions import MODELS_IN_WORDS, describe_space
from headwater.attribution.models import WINDOWS
from headwater.events.accepted import EVENT_NAMES
from headwater.people.contacts.filters import OPERATORS
from headwater.sources.catalogue import CATALOGUE
from headwater.spaces.custom_fields import SLOT_TYPES
from headwater.spaces.networks import describe_network

JSON = "application/json"


class SpaceResource(Struct, frozen=True):
    """A resource; `content` returns the value for its JSON."""

    uri: str
    name: str
    title: str
    description: str
    content: Callable[[ToolContext], Awaitable[Any]]

    async def read(self, context: ToolContext) -> str:
        return msgspec.json.encode(await self.content(context)).decode()


async def _models(_: ToolContext) -> Any:
    return {
        "models": [{"name": name, "meaning": words} for name, words in MODELS_IN_WORDS.items()],
        "windows_in_days": list(WINDOWS),
        "note": "Window 0 has no lower bound. Credits of an event add up to its amount exactly.",
    }


async def _sources(context: ToolContext) -> Any:
    space = await context.load_space()
    networks = [asdict(describe_network(network)) | {"is_paid": True} for network in space.sources.networks]
    return {
        "sources": [*({"name": source.key, "is_paid": source.is_paid} for source in CATALOGUE), *networks],
        "note": "unattributed in reports: no touchpoint in the window that the model credits. "
        "paid_other appears only in reports: a paid medium with an unknown network. Lists of events "
        "and journeys call it referral.",
    }


async def _event_names(context: ToolContext) -> Any:
    space = await context.load_space()
    labels = space.event_labels
    return {"event_names": [{"name": name, "label": labels.get(name)} for name in EVENT_NAMES]}


async def _profile_fields(context: ToolContext) -> Any:
    space = await context.load_space()
    return {
        "profile_fields": [
            {"name": name, "type": slot_type, "label": space.field_labels.get(name)}
            for name, slot_type in SLOT_TYPES.items()
        ],
        "operators": {kind: list(table) for kind, table in OPERATORS.items()},
        "note": "Only fields with a label can be filtered on.",
    }


_READABLE = (
    SpaceResource(
        uri="trk://space",
        name="space",
        title="The Space",
        description="Name, time zone, currency and the names people gave to events and fields.",
        content=describe_space,
    ),
    SpaceResource(
        uri="trk://attribution-models",
        name="attribution-models",
        title="Attribution models",
        description="Every attribution model with its rule, and the windows.",
        content=_models,
    ),
    SpaceResource(
        uri="trk://sources",
        name="sources",
        title="Sources",
        description="Every source a visit can have, and which of them are paid.",
        content=_sources,
    ),
    SpaceResource(
        uri="trk://event-names",
        name="event-names",
        title="Event names",
        description="Every name an event can have, and what custom events are called here.",
        content=_event_names,
    ),
    SpaceResource(
        uri="trk://profile-fields",
        name="profile-fields",
        title="Profile fields",
        description="The 30 custom fields of contacts: types, labels, operators of filters.",
        content=_profile_fields,
    ),
)
RESOURCES = {resource.uri: resource for resource in _READABLE}


def describe_resource(resource: SpaceResource) -> Resource:
    return Resource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=JSON,
    )
