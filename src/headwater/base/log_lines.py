"""One line of the log: JSON for programs, aligned text for a terminal.

It imports only the standard library. The supervisor also writes its lines here, and it must stay small
because it runs as long as the service.
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
_OWN = ("event", "level", "timestamp", "exception", "stack")
_NAME = re.compile("[a-z0-9_]{1,80}")
"""An event name of our own, as opposed to a sentence from a library."""


def is_text(log_format: str) -> bool:
    """True when lines are text, for people; `auto` is that where standard error is a terminal."""
    return log_format == "text" or (log_format == "auto" and sys.stderr.isatty())


def renderer(log_format: str) -> Render:
    """Return the renderer of a format: JSON, or text, with colour where a terminal has it."""
    if not is_text(log_format):
        return as_json
    return _coloured if _has_colour() else as_text


def _has_colour() -> bool:
    """True when standard error is a terminal with colours whose owner did not turn them off."""
    knows_colour = os.environ.get("TERM", "dumb") != "dumb"
    return sys.stderr.isatty() and knows_colour and not os.environ.get("NO_COLOR")


def as_json(line: Mapping[str, Any]) -> str:
    """Return one JSON object. A value cannot forge another line."""
    return json.dumps(line, default=repr)


def as_text(line: Mapping[str, Any]) -> str:
    """The time of day, the level, the event in words and its values on one line; a traceback
    below.
    """
    return _lay_out(line, f"{line['level']:<8}")


def _coloured(line: Mapping[str, Any]) -> str:
    """The same text, with the level in a colour when it is one to look at."""
    level = str(line["level"])
    colour, space = _COLOURS.get(level), " " * (8 - len(level))
    return _lay_out(line, f"\x1b[{colour}m{level}\x1b[0m{space}" if colour else level + space)


def _lay_out(line: Mapping[str, Any], level: str) -> str:
    moment = datetime.fromisoformat(str(line["timestamp"])).astimezone()
    event = str(line["event"])
    words = event.replace("_", " ") if _NAME.fullmatch(event) else printable(event)
    values = [f"{name}={_quoted(value)}" for name, value in line.items() if name not in _OWN]
    below = [str(line[name]) for name in ("exception", "stack") if line.get(name)]
    traces = ["    " + printable(row) for text in below for row in text.splitlines()]
    return "\n".join(["  ".join([f"{moment:%H:%M:%S} {level} {words}", *values]), *traces])


def _quoted(value: Any) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value, default=repr))
    return f'"{text}"' if isinstance(value, str) and (" " in text or not text) else text


def printable(text: str) -> str:
    """Escape line breaks and characters that control a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class Log:
    """Writes the lines of a process that goes without structlog. It masks nothing: no value given
    to it may be a secret.
    """

    def __init__(self, log_format: str) -> None:
        self._render = renderer(log_format)
        self.is_text = is_text(log_format)
        """True when lines are text, which people read as it is written."""

    def write(self, level: str, event: str, **values: Any) -> None:
        """Write one line."""
        moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {**values, "event": event, "level": level, "timestamp": moment}
        sys.stderr.write(self._render(line) + "\n")
        sys.stderr.flush()


def processor(log_format: str) -> Callable[[Any, str, MutableMapping[str, Any]], str]:
    """Return the same rendering as the last step of structlog's chain."""
    render = renderer(log_format)
    return lambda _, __, event: render(event)
