"""The values of options, beyond their type. argparse puts the functions' names into its messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import datetime

from headwater.base.failure import Failure

POSTGRESQL_PORT = 5432
_BEYOND_ALL = 2**63 - 1


def row_id(text: str) -> int:
    """An id. One out of range becomes the nearest unused one, and is not found."""
    return max(-_BEYOND_ALL, min(int(text), _BEYOND_ALL))


def port(text: str) -> int:
    """A TCP port; 0 takes a free one."""
    return _parse_integer(text, 0, 65535)


def address(text: str) -> tuple[str, int]:
    """An address to listen on, HOST:PORT."""
    host, _, number = text.rpartition(":")
    if not host:
        raise argparse.ArgumentTypeError("must be HOST:PORT")
    return host.strip("[]"), _parse_integer(number, 1, 65535)


def node_address(text: str) -> tuple[str, int]:
    """The address of a PostgreSQL, HOST or HOST:PORT."""
    host, colon, number = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text.strip("[]"), POSTGRESQL_PORT
    return host.strip("[]"), _parse_integer(number, 1, 65535)


def process_count(text: str) -> int:
    return _parse_integer(text, 1, 64)


def row_count(text: str) -> int:
    """The most rows to list."""
    return _parse_integer(text, 1, 10_000)


def file_count(text: str) -> int:
    return _parse_integer(text, 1, 10_000)


def _parse_integer(text: str, least_value: int, greatest: int) -> int:
    number = int(text)
    if not least_value <= number <= greatest:
        raise argparse.ArgumentTypeError(f"must be from {least_value} to {greatest}")
    return number


def seconds(text: str) -> float:
    """The longest time to wait."""
    duration = float(text)
    if not 0 <= duration < 1e9:
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return duration


def moment(text: str) -> datetime:
    """A time with its offset from UTC, in ISO 8601."""
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise argparse.ArgumentTypeError("must have a time zone, such as 2026-11-22T03:30:00Z")
    return parsed


def read_pairs(texts: Iterable[str]) -> dict[str, str]:
    """Return KEY=VALUE arguments, each key once. Raises Failure."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"{text}: must be KEY=VALUE")
        if key in pairs:
            raise Failure(f"{key}: given twice")
        pairs[key] = value
    return pairs
