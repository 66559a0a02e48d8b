"""What the values of options have to be, beyond their type."""

from __future__ import annotations

import argparse


def port(text: str) -> int:
    """A TCP port; 0 takes a free one."""
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError("must be from 0 to 65535")
    return number


def worker_count(text: str) -> int:
    """How many API processes."""
    count = int(text)
    if not 1 <= count <= 64:
        raise argparse.ArgumentTypeError("must be from 1 to 64")
    return count


def row_count(text: str) -> int:
    """How many rows to list."""
    count = int(text)
    if not 1 <= count <= 10_000:
        raise argparse.ArgumentTypeError("must be from 1 to 10000")
    return count


def seconds(text: str) -> float:
    """How long to wait."""
    duration = float(text)
    if not 0 <= duration < 1e9:
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return duration
