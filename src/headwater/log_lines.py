"""One line of the log: JSON for programs, aligned text for somebody at a terminal.

It needs the standard library alone: the supervisor, which lives as long as the service and imports
little, writes its lines here as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

FORMATS = ("auto", "text", "json")
Render = Callable[[Mapping[str, Any]], str]

_COLOURS = {"warning": "33", "error": "31", "critical": "1;31"}
_OWN = ("event", "level", "timestamp", "exception", "stack")


def renderer(log_format: str) -> Render:
    """Return the renderer: `auto` is text where standard error is a terminal, else JSON."""
    terminal = sys.stderr.isatty()
    if log_format == "json" or (log_format == "auto" and not terminal):
        return as_json
    return _coloured if terminal and not os.environ.get("NO_COLOR") else as_text


def as_json(line: Mapping[str, Any]) -> str:
    """One JSON object, in which no value can forge another line."""
    return json.dumps(line, default=repr)


def as_text(line: Mapping[str, Any]) -> str:
    """The time of day, the level, the event and its values on one line; a traceback below."""
    moment = datetime.fromisoformat(str(line["timestamp"])).astimezone()
    values = [f"{name}={_quoted(value)}" for name, value in line.items() if name not in _OWN]
    head = f"{moment:%H:%M:%S} {line['level']:<8} {printable(str(line['event']))}"
    below = [str(line[name]) for name in ("exception", "stack") if line.get(name)]
    traces = ["    " + printable(row) for text in below for row in text.splitlines()]
    return "\n".join(["  ".join([head, *values]), *traces])


def _coloured(line: Mapping[str, Any]) -> str:
    colour = _COLOURS.get(str(line["level"]))
    return f"\x1b[{colour}m{as_text(line)}\x1b[0m" if colour else as_text(line)


def _quoted(value: Any) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value, default=repr))
    return f'"{text}"' if isinstance(value, str) and (" " in text or not text) else text


def printable(text: str) -> str:
    """`text` with whatever could drive a terminal or begin a line shown escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


class Log:
    """Writes the lines of a process that goes without structlog. It masks nothing: no value given
    to it may be a secret.
    """

    def __init__(self, log_format: str) -> None:
        self._render = renderer(log_format)
        self.is_text = self._render is not as_json
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
