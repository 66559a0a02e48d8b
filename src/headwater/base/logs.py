"""Logs on standard error: one JSON object per line, or text at a terminal, without secrets or personal data.

All loggers, including the standard library's, use one chain. Both forms escape line breaks and terminal
controls, so a value cannot forge a line. `mask` removes secrets and personal data anywhere in a text, because
database errors quote the row that failed.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Any, cast

import structlog

from headwater.base import log_lines
from headwater.base.telemetry.spans import current_ids

MASKED = "[masked]"
MAX_TEXT = 8192
MAX_DEPTH = 6

_SENSITIVE = r"(?:password|passwd|secret|token|cookie|authorization|api[_-]?key|fingerprint)"
_SENSITIVE_NAME = re.compile(rf"{_SENSITIVE}|^(?:e?mail|phone|ip|key|dsn)$|database_url", re.IGNORECASE)

# Each pattern starts only at the start of a word and never backtracks over text that it has read. This keeps
# the time linear for any text.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"trk_sk_[\w-]*|trk_[a-z]{2,4}_[\w-]{20,}"), MASKED),
    # PostgreSQL quotes the row that an error is about.
    (re.compile(r"(Key \([^=\n]{0,200}\)=\(|Failing row contains \().*"), rf"\1{MASKED})"),
    (re.compile(r"(invalid input \w+ for [^:\n]{0,200}: ).*"), rf"\1{MASKED}"),
    (re.compile(r"\bpostgres(?:ql)?://[^\s\"']+", re.IGNORECASE), MASKED),
    (re.compile(r"(?<=://)[^\s/@\"']{1,512}@"), MASKED + "@"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]+", re.IGNORECASE), rf"\1 {MASKED}"),
    (
        re.compile(
            rf"(?<![\w-])((?=[\w-]*?{_SENSITIVE})[\w-]++[\"']?\s*+[=:]\s*+)"
            r"(?!\[masked\]|(?:bearer|basic) )(\"[^\"]*\"|'[^']*'|[^\s&,;}\"']+)",
            re.IGNORECASE,
        ),
        rf"\1{MASKED}",
    ),
    (re.compile(r"(?<![\w.+-])[\w.+-]++(?:@|%40)[\w-]++(?:\.[\w-]++)*+"), MASKED),
)
_ADDRESS = re.compile(
    # No address is longer than 45 characters, which bounds what is read twice.
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[0-9a-f]{0,4}:)[0-9a-f:.]{2,45})(?![\w:])",
    re.IGNORECASE,
)


def configure(level: str = "info", log_format: str = "json") -> None:
    """Send the process's logs through this module, from `level` up; `log_format` is one of
    `log_lines.FORMATS`.
    """
    shared_processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        _add_ids,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _mask_event,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared_processors,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            log_lines.processor(log_format),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    _settle_libraries(is_brief=log_lines.is_text(log_format) and level != "debug")
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared_processors,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Not cached: loggers follow a later configuration too, and lines are few.
        cache_logger_on_first_use=False,
    )
    sys.excepthook = _log_uncaught


def _settle_libraries(*, is_brief: bool) -> None:
    """Let library loggers write through the root handler, without trivia; when brief also without a server's
    start and end, which its supervisor logs.
    """
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "psycopg", "psycopg.pool"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    for name in ("mcp", "urllib3"):  # they log every request
        logging.getLogger(name).setLevel(logging.WARNING)
    # It warns about each connection and each attempt; database/outage_log.py logs the outage once.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    if is_brief:
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def is_sensitive(name: str) -> bool:
    """Return whether values of this name are secrets or personal data."""
    return _SENSITIVE_NAME.search(name) is not None


def mask(text: str) -> str:
    """Return `text` without keys, tokens, passwords, database URLs, e-mail and IP addresses."""
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]} … {text[-MAX_TEXT // 2 :]}"
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return _ADDRESS.sub(_mask_address, text)


def _mask_address(match: re.Match[str]) -> str:
    try:
        ip_address(match[0].rstrip(".:"))
    except ValueError:
        return match[0]  # a time of day, a version, a slice
    return MASKED


def _add_ids(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.update(current_ids())
    return event


def _mask_event(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.pop("color_message", None)  # uvicorn's second copy of the message
    return {name: _masked(name, value, MAX_DEPTH) for name, value in event.items()}


def _masked(name: str, value: Any, depth: int) -> Any:
    if name.startswith("_") or value is None or isinstance(value, bool | int | float):
        return value  # structlog's own, or a number
    if is_sensitive(name):
        return MASKED
    if depth and isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {mask(str(key)): _masked(str(key), item, depth - 1) for key, item in items}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_masked("", item, depth - 1) for item in cast("Iterable[Any]", value)]
    return mask(value if isinstance(value, str) else repr(value))


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log: Callable[..., Any] = structlog.get_logger("headwater").critical
    log("uncaught_exception", exc_info=(kind, error, trace))
