"""Ids above the largest possible id are not found, like any other unknown id."""

from __future__ import annotations

import psycopg
import pytest

from headwater.cli import main
from tests.support.spaces import insert_space

BEYOND = "1" + "0" * 30


@pytest.mark.parametrize(
    "command",
    [
        "space show --space {id}",
        "key revoke --space {space} {id}",
        "site revoke --space {space} {id}",
        "webhook revoke --space {space} {id}",
        "webhook replay --space {space} {id}",
        "contact unmerge --space {space} {id}",
        "delivery show --space {space} {id}",
        "delivery replay --space {space} --destination {id}",
        "destination remove --space {space} --destination {id}",
        "pat revoke --space {space} {id}",
    ],
)
def test_it_works(
    connection: psycopg.Connection, database_url: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, command: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    space_id = insert_space(connection)
    answers = []
    for an_id in ("999999999", BEYOND):
        assert main(command.format(space=space_id, id=an_id).split()) == 2
        answers.append(capsys.readouterr().err)
    assert answers[0] == answers[1]
    assert answers[0].startswith("headwater: ")
