"""Requests as commands to be copied, and JSON as people read it."""

from __future__ import annotations

import json
from typing import Any

KEY = "YOUR_KEY"
"""Stands where the reader's API key goes."""


def curl(base_url: str, method: str, target: str, body: str) -> str:
    """Return a request as a command; `target` is its path and query, `body` JSON or empty."""
    verb = "" if method == "GET" else f"-X {method} "
    lines = [f"curl --globoff {verb}'{base_url}{target}'"]
    lines.append(f"  -H 'Authorization: Bearer {KEY}'")
    if body:
        lines.append("  -H 'Content-Type: application/json'")
        lines.append(f"  -d '{body}'")
    return " \\\n".join(lines)


def pretty(value: Any) -> str:
    """Return a value as indented JSON; nothing for None."""
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
