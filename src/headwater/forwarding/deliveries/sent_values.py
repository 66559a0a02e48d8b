"""Collect a call's personal values, to mask them in responses. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from headwater.forwarding.platforms.models import Conversion


def personal_values(
    conversion: Conversion, contact: dict[str, Any], redacted: dict[str, Any] | None
) -> Iterator[str]:
    person = conversion.person
    person_values = (
        person.email,
        person.phone,
        person.first_name,
        person.last_name,
        person.external_id,
        person.city,
        conversion.ip,
        conversion.user_agent,
    )
    yield from filter(None, person_values)
    yield from conversion.url_click_ids.values()
    yield from conversion.cookies.values()
    yield from conversion.left_out
    if (click := conversion.click) is not None:
        yield from click.ids.values()
        yield from click.cookies.values()
        yield from click.left_out
    yield from _list_redacted(contact, redacted)


def _list_redacted(sent_value: Any, redacted: Any) -> Iterator[str]:
    if isinstance(sent_value, dict):
        redacted_part = cast("dict[str, Any]", redacted) if isinstance(redacted, dict) else {}
        for name, value in cast("dict[str, Any]", sent_value).items():
            yield from _list_redacted(value, redacted_part.get(name))
    elif isinstance(sent_value, list):
        items = cast("list[Any]", sent_value)
        redacted_part = cast("list[Any]", redacted) if isinstance(redacted, list) else [None] * len(items)
        for value, kept_value in zip(items, redacted_part, strict=True):
            yield from _list_redacted(value, kept_value)
    elif sent_value != redacted and not isinstance(sent_value, bool):
        yield str(sent_value)
        yield from _query_values(str(sent_value))


def _query_values(text: str) -> list[str]:
    try:
        return [value for _, value in parse_qsl(urlsplit(text).query)]
    except ValueError:
        return []
