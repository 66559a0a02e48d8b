"""Confirmation of irreversible actions.

The first call changes nothing and returns a preview with a confirmation value; a second call with the value
acts. The value is signed and valid for ten minutes, for one tool and the item's current state.
"""

from __future__ import annotations

import hmac
import re
import time
from typing import Any

import msgspec

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.schemas import Schema
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import text_up_to
from headwater.http.inputs.parameters import JsonInput, Parameter

CONFIRM = Parameter(
    name="confirm",
    kind=text_up_to(100),
    description="From a call without it, which only shows what would go.",
)
SECONDS = 600
PREVIEW: dict[str, Schema] = {
    "would_go": {"type": "object"},
    "confirm": {"type": "string"},
    "message": {"type": "string"},
}

_VALUE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})")
_ASK = (
    "Nothing has changed. Show the person what would go; if they confirm, call again "
    "with this confirm within ten minutes."
)
_REFUSED = (
    "is not for this item as it is now, or older than ten minutes. Call without it to see what "
    "would go, and to get a new one."
)


def read_confirmation(arguments: dict[str, Any]) -> str | None:
    """Return None without a value. Raise Invalid."""
    query = JsonInput({CONFIRM.name: arguments.get(CONFIRM.name)})
    value = CONFIRM.read(query)
    query.finish()
    return value


def find_preview(
    context: ToolContext, tool: str, would_go: dict[str, Any], value: str | None
) -> dict[str, Any] | None:
    """Return the preview that answers a call without a confirmation value; None for a call with one, which
    acts. Raise Invalid unless the value is from a preview of the current state.
    """
    if value is None:
        expires = int(time.time()) + SECONDS
        new_value = f"{expires}.{_signature(context, tool, would_go, expires)}"
        return {"would_go": would_go, CONFIRM.name: new_value, "message": _ASK}
    match = _VALUE.fullmatch(value)
    if match is None or time.time() >= int(match[1]):
        raise Invalid.of(CONFIRM.name, _REFUSED)
    if not hmac.compare_digest(match[2], _signature(context, tool, would_go, int(match[1]))):
        raise Invalid.of(CONFIRM.name, _REFUSED)
    return None


def _signature(context: ToolContext, tool: str, would_go: dict[str, Any], expires: int) -> str:
    bound = ["confirm", context.space_id, context.bearer.user_id, tool, would_go, expires]
    message = msgspec.json.encode(bound, order="deterministic")
    return hmac.digest(context.services.signing_key, message, "sha256").hex()
