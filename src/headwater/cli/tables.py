"""Destinations and API keys as people read them at a terminal, at most 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.cli.output import plain_text
from headwater.platforms import registry
from headwater.spaces.keys import SCOPES, ApiKey

WIDTH = 100
_NAME_WIDTH = 28
_FEW = 2
_LABELS = ("status", "reason", "waits until", "created", "forwards", "secrets")


def key_rows(keys: Sequence[ApiKey]) -> list[dict[str, Any]]:
    """A row for each key: short enough for a terminal, with all that tells keys apart."""
    return [
        {
            "id": key.id,
            "name": textwrap.shorten(key.name, _NAME_WIDTH, placeholder=" …")
            if " " in key.name else key.name[:_NAME_WIDTH],
            "key": f"…{key.hint}",
            "scopes": _scopes(key.scopes),
            "created": f"{key.created_at:%Y-%m-%d}",
            "revoked": f"{key.revoked_at:%Y-%m-%d}" if key.revoked_at else None,
        }
        for key in keys
    ]  # fmt: skip


def _scopes(scopes: Sequence[str]) -> str:
    missing = [scope for scope in SCOPES if scope not in scopes]
    if not missing:
        return "all"
    if len(missing) <= _FEW:
        return f"all but {', '.join(missing)}"
    return ", ".join(scopes) if len(scopes) <= _FEW else f"{len(scopes)} of {len(SCOPES)} (--json)"


def destination_text(shown: Mapping[str, Any]) -> str:
    """A destination in sections, from the object that `--json` prints."""
    platform = registry.PLATFORMS[shown["platform"]]
    sent = [one for one in shown["mapping"] if one["sent_as"] is not None]
    unsent = [one["event_name"] for one in shown["mapping"] if one["sent_as"] is None]
    credited = f"events credited to {', '.join(sorted(platform.sources))}"
    facts = (
        shown["status"], shown["status_reason"], shown["wait_until"], shown["created_at"],
        "all events" if shown["all_events"] else credited,
        ", ".join(shown["secrets"]) + " (stored encrypted, never shown)",
    )  # fmt: skip
    names = [(one["event_name"], one["sent_as"] + (" (own)" if one["own"] else "")) for one in sent]
    sections = [
        f"{platform.title} “{plain_text(shown['name'])}”, destination {shown['id']}",
        _pairs([pair for pair in zip(_LABELS, facts, strict=True) if pair[1] is not None]),
        _titled("Settings", _pairs(list(shown["settings"].items()))),
        _titled("Deliveries", _pairs(list(shown["deliveries"].items()))),
        _titled("Sent as", _pairs(names)),
        _titled("Not sent", _wrapped(", ".join(unsent))),
        _titled("Warnings", "\n".join(_wrapped(text) for text in shown["warnings"])),
    ]
    return "\n\n".join(section for section in sections if section)


def _titled(title: str, text: str) -> str:
    return f"{title}\n{text}" if text.strip() else ""


def _pairs(pairs: Sequence[tuple[str, Any]]) -> str:
    if not pairs:
        return ""
    width = max(len(name) for name, _ in pairs) + 2
    lines = [
        textwrap.fill(
            plain_text(value), WIDTH, initial_indent=f"  {name.ljust(width)}",
            subsequent_indent=" " * (width + 2), break_on_hyphens=False,
        )
        for name, value in pairs
    ]  # fmt: skip
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
