"""Commands give PostgreSQL's reason for a refusal."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.operations.terminal.connection import explain_failures

REFUSED = "connection failed: FATAL:  could not write init file: No space left on device"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (psycopg.OperationalError(REFUSED), "No space left on device"),
        (psycopg.OperationalError("connection failed: No such file"), "is `headwater serve` running on it?"),
        (psycopg.errors.DiskFull(), "disk is full"),
    ],
)
def test_the_reason(tmp_path: Path, error: psycopg.Error, reason: str) -> None:
    with pytest.raises(Failure, match=re.escape(reason)), explain_failures(Settings(data_dir=tmp_path)):
        raise error
