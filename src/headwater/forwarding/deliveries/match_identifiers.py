"""Find which identifiers a platform takes from a conversion, and which more it would take. Pure.

No platform has a list of them: each is removed from the conversion, or added to it, and the part that `build`
returns shows what the platform makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from headwater.events.browsing.accepted import COOKIES
from headwater.forwarding.platforms.models import Conversion
from headwater.sources.clicks import CLICK_IDS

Build = Callable[[Conversion], dict[str, Any]]
Value = tuple[str, Any]
"""A value in a part, after its name: the path without positions, because an added identifier moves others."""

_PATHS = {
    "email": ["person.email"],
    "phone": ["person.phone"],
    **{
        name: [f"{prefix}.{name}" for prefix in ("url_click_ids", "click.ids", "cookies", "click.cookies")]
        for name in (*CLICK_IDS, *COOKIES)
    },
    "ip": ["ip"],
    "user_agent": ["user_agent"],
    "city": ["person.city"],
    "state": ["person.state"],
    "country": ["person.country"],
    # LinkedIn takes both names or neither, and the country only with them.
    "full_name": ["person.first_name", "person.last_name"],
    "tracking_id": ["person.external_id"],
    "consent": ["consent.ad_user_data", "consent.ad_personalization"],
    "order_id": ["order_id"],
}
"""Where a conversion has what events are sent with, by its name in events and links."""
_UNMATCHED = "order_id"
"""Sent, but no person is recognized by it."""
_SAMPLES: dict[str, Any] = {"email": "x@example.com", "consent": True}
_SAMPLE = "x"


def list_values(content: Any, path: str = "") -> Iterator[Value]:
    """Return every value after its path, such as `user_data.em[0]`."""
    if isinstance(content, dict):
        for name, inner in cast("dict[str, Any]", content).items():
            yield from list_values(inner, f"{path}.{name}" if path else name)
    elif isinstance(content, list):
        for index, inner in enumerate(cast("list[Any]", content)):
            yield from list_values(inner, f"{path}[{index}]")
    else:
        yield path, content


def drop_position(path: str) -> str:
    return re.sub(r"\[[0-9]+\]", "[]", path)


def find_origins(conversion: Conversion, build: Build) -> dict[Value, str]:
    """Return the name of the identifier that each value is made from.

    Without an email address, Meta's part has no `user_data.em[]`: that is made from `email`.
    """
    values, origins = _list_named(build(conversion)), dict[Value, str]()
    for name, paths in _PATHS.items():
        if filled_paths := [path for path in paths if _get(conversion, path) is not None]:
            remaining_values = _list_named(build(_replace(conversion, dict.fromkeys(filled_paths))))
            lost_values = [
                value for value in values if value not in remaining_values and value not in origins
            ]
            origins |= dict.fromkeys(lost_values, name)
    return origins


def find_missing(conversion: Conversion, build: Build) -> dict[str, list[str]]:
    """Return what more the platform would use, with the fields that it becomes.

    With a `gclid`, Google's part has the new field `adIdentifiers.gclid`: it is missing, unless there is a
    `gbraid`, which would disappear. One click id is enough, so `gbraid` isn't missing as well.
    """
    values, missing_fields = _list_named(build(conversion)), dict[str, list[str]]()
    for name, paths in _PATHS.items():
        if name == _UNMATCHED or (name in CLICK_IDS and missing_fields.keys() & CLICK_IDS.keys()):
            continue
        sample = _SAMPLES.get(name, _SAMPLE)
        empty = [path for path in paths if not path.startswith("click.") and _get(conversion, path) is None]
        gained_names = _list_gained(
            values, _list_named(build(_replace(conversion, dict.fromkeys(empty, sample))))
        )
        # Meta's cookie `fbc` is only another form of its click id.
        if gained_names and not (name in COOKIES and gained_names in missing_fields.values()):
            missing_fields[name] = gained_names
    return missing_fields


def _list_named(content: dict[str, Any]) -> list[Value]:
    return [(drop_position(path), value) for path, value in list_values(content) if value is not None]


def _list_gained(before: list[Value], after: list[Value]) -> list[str]:
    """Return the names of added values, not of changed ones; none if another value's name disappeared."""
    lost_names = {name for name, _ in set(before) - set(after)}
    if lost_names - {name for name, _ in after}:
        return []
    return list(
        dict.fromkeys(name for name, value in after if (name, value) not in before and name not in lost_names)
    )


def _get(holder: Any, path: str) -> Any:
    name, _, inner = path.partition(".")
    if isinstance(holder, dict):
        return cast("dict[str, Any]", holder).get(name)
    value = getattr(holder, name, None)
    return _get(value, inner) if inner else value


def _replace(holder: Any, changes: Mapping[str, Any]) -> Any:
    """Return a conversion with values by path; None removes one."""
    for path, value in changes.items():
        name, _, inner = path.partition(".")
        if isinstance(holder, dict):
            members = cast("dict[str, Any]", holder) | {name: value}
            holder = {key: member for key, member in members.items() if member is not None}
        else:
            changed_value = _replace(getattr(holder, name), {inner: value}) if inner else value
            holder = msgspec.structs.replace(holder, **{name: changed_value})
    return holder
