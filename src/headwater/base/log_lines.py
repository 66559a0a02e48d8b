"""Format log lines: JSON for programs, aligned text for a terminal.

It imports only the standard library because the long-lived supervisor, which must stay small, also writes its
lines here.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

FORMATS = ("auto", "text", "json")
Render = Callable[[Mapping[str, Any]], str]

_COLOURS = {"warning": "33", "error": "31", "critical": "1;31"}
_OWN_NAMES = ("event", "level", "timestamp", "exception", "stack")
_NAME = re.compile("[a-z0-9_]{1,80}")
"""An event name of ours, unlike a library's sentence."""


def is_text(log_format: str) -> bool:
    """Return whether lines are text; `auto` means text if standard error is a terminal."""
    return log_format == "text" or (log_format == "auto" and sys.stderr.isatty())


def renderer(log_format: str) -> Render:
    """Return a format's renderer: JSON, or text, coloured if the terminal allows it."""
    if not is_text(log_format):
        return as_json
    return _coloured if _has_colour() else as_text


def _has_colour() -> bool:
    knows_colour = os.environ.get("TERM", "dumb") != "dumb"
    return sys.stderr.isatty() and knows_colour and not os.environ.get("NO_COLOR")


def as_json(line: Mapping[str, Any]) -> str:
    """Return one JSON object. A value cannot forge another line."""
    return json.dumps(line, default=repr)


def as_text(line: Mapping[str, Any]) -> str:
    """Return time, level, event in words and values on one line, followed by any traceback."""
    return _lay_out(line, f"{line['level']:<8}")


def _coloured(line: Mapping[str, Any]) -> str:
    level = str(line["level"])
    colour, space = _COLOURS.get(level), " " * (8 - len(level))
    return _lay_out(line, f"\x1b[{colour}m{level}\x1b[0m{space}" if colour else level + space)


def _lay_out(line: Mapping[str, Any], level: str) -> str:
    moment = datetime.fromisoformat(str(line["timestamp"])).astimezone()
    event = str(line["event"])
    words = event.replace("_", " ") if _NAME.fullmatch(event) else printable(event)
    values = [f"{name}={_quoted(value)}" for name, value in line.items() if name not in _OWN_NAMES]
    blocks = [str(line[name]) for name in ("exception", "stack") if line.get(name)]
    traces = ["    " + printable(row) for text in blocks for row in text.splitlines()]
    return "\n".join(["  ".join([f"{moment:%H:%M:%S} {level} {words}", *values]), *traces])


def _quoted(value: Any) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value, default=repr))
    return f'"{text}"' if isinstance(value, str) and (" " in text or not text) else text


def printable(text: str) -> str:
    """Escape line breaks and terminal control characters."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class Log:
    """Writes a process's lines without structlog. It masks nothing, so values must not be secrets."""

    def __init__(self, log_format: str) -> None:
        self._render = renderer(log_format)
        self.is_text = is_text(log_format)

    def write(self, level: str, event: str, **values: Any) -> None:
        moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {**values, "event": event, "level": level, "timestamp": moment}
        sys.stderr.write(self._render(line) + "\n")
        sys.stderr.flush()


def processor(log_format: str) -> Callable[[Any, str, MutableMapping[str, Any]], str]:
    """Return the same rendering as the last step of structlog's chain."""
    render = renderer(log_format)
    return lambda _, __, event: render(event)
