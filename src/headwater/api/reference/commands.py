"""Format requests as commands, and JSON for reading."""

from __future__ import annotations

import json
from typing import Any

JSON = "application/json"
KEY = "YOUR_KEY"
"""Placeholder for the reader's API key."""


def curl(base_url: str, method: str, target: str, body: str) -> str:
    """Return a request as a curl command; `target` is its path and query, `body` JSON, a file or empty."""
    verb = "" if method == "GET" else f"-X {method} "
    lines = [f"curl --globoff {verb}'{base_url}{target}'"]
    lines.append(f"  -H 'Authorization: Bearer {KEY}'")
    if body:
        kind = content_type(body)
        lines.append(f"  -H 'Content-Type: {kind}'")
        lines.append(f"  {'-d' if kind == JSON else '--data-binary'} '{body}'")
    return " \\\n".join(lines)


def content_type(body: str) -> str:
    """Return the type of an example's body: JSON, or a raw file."""
    return JSON if body.startswith("{") else "text/csv"


def pretty(value: Any) -> str:
    """Return a value as indented JSON, a file's text unchanged, and nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, indent=2, ensure_ascii=False)
