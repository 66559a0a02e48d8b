"""The values of options, beyond their type. argparse puts the name of a type into its message
("invalid seconds value"), so these functions have names for people to read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from headwater.terminal.failure import Failure


def port(text: str) -> int:
    """A TCP port; 0 takes a free one."""
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError("must be from 0 to 65535")
    return number


def worker_count(text: str) -> int:
    """A number of API processes."""
    count = int(text)
    if not 1 <= count <= 64:
        raise argparse.ArgumentTypeError("must be from 1 to 64")
    return count


def row_count(text: str) -> int:
    """The most rows to list."""
    count = int(text)
    if not 1 <= count <= 10_000:
        raise argparse.ArgumentTypeError("must be from 1 to 10000")
    return count


def file_count(text: str) -> int:
    """A number of files to keep."""
    count = int(text)
    if not 1 <= count <= 10_000:
        raise argparse.ArgumentTypeError("must be from 1 to 10000")
    return count


def seconds(text: str) -> float:
    """The longest time to wait."""
    duration = float(text)
    if not 0 <= duration < 1e9:
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return duration


def read_pairs(texts: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE arguments, each key once. Raises Failure."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"{text}: must be KEY=VALUE")
        if key in pairs:
            raise Failure(f"{key}: given twice")
        pairs[key] = value
    return pairs
