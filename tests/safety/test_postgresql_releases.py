"""A bundled PostgreSQL is outdated once a later minor release was due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headwater.operations.safety.database_rules import judge_database
from tests.safety.test_check import DATABASE, SERVER


@pytest.mark.parametrize(
    ("version", "today", "is_behind"),
    [(180004, (2026, 8, 12), False), (180004, (2026, 8, 13), True), (180004, (2027, 1, 1), True),
     (180005, (2026, 11, 26), True), (180006, (2026, 11, 26), False),
     (180099, (2030, 1, 1), False)],
)  # fmt: skip
def test_a_bundled_server_that_is_behind(version: int, today: tuple[int, int, int], is_behind: bool) -> None:
    server = replace(SERVER, version=version, now=datetime(*today, tzinfo=UTC),
                     checkpoint_at=datetime(*today, tzinfo=UTC))  # fmt: skip
    risks = list(judge_database(replace(DATABASE, server=server, is_ours=True)))
    assert [risk.id for risk in risks] == ["postgresql_behind"] * is_behind
    assert not any(risk.fails for risk in risks)
    assert list(judge_database(replace(DATABASE, server=server))) == []
