"""Helpers for tests of rows that are parsed ahead."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from headwater.intake.pipeline.batch import ParsedRows


def count_judgements(monkeypatch: pytest.MonkeyPatch) -> Counter[bool]:
    """Return a counter of how often rows parsed ahead are used (True) and how often not (False)."""
    counter = Counter[bool]()
    still_wait = ParsedRows.still_wait

    def count(*arguments: Any) -> bool:
        waits = still_wait(*arguments)
        counter[waits] += 1
        return waits

    monkeypatch.setattr(ParsedRows, "still_wait", count)
    return counter


def fail_before_commit(name: str) -> None:
    """Fail with a full disk at the failpoint before the commit."""
    if name == "worker_before_commit":
        raise psycopg.errors.DiskFull
