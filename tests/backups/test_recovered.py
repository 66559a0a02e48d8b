"""`headwater restore --recovered-to`: PostgreSQL has recovered a database to an earlier moment from a base
backup. It becomes an installation without the people erased since.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.database.embedded import Embedded
from headwater.database.installation import begin_restore, require_finished
from headwater.database.programs import program_path
from headwater.operations.backups import journal
from headwater.operations.backups.journal_duty import refresh
from headwater.operations.backups.programs import connected
from tests.backups.conftest import BOB, Installation, emails

Run = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


def take_base_backup(installation: Installation, data_dir: Path) -> Path:
    """Take a base backup, as an operator with continuous archiving has it. The log ends with the base
    backup.
    """
    data_dir.mkdir()
    url = Embedded(installation.data_dir).url
    words, variables = connected(program_path("pg_basebackup"), url.replace("/headwater?", "?"))
    cluster = ["--checkpoint=fast", "--no-sync", "--pgdata", str(data_dir / "postgresql")]
    subprocess.run([*words, *cluster], env=variables, check=True, capture_output=True)
    shutil.copy(installation.data_dir / "postgresql.password", data_dir)
    return data_dir


def test_it_works(
    installation: Installation, folder: Path, tmp_path: Path, run: Run,
    refusal: Refused, start_restored: Callable[[Path], psycopg.Connection],
) -> None:  # fmt: skip
    earlier_dir = take_base_backup(installation, tmp_path / "earlier")
    moment = datetime.now(UTC)
    before = installation.stage._next_value("contact_ids")
    file = folder / journal.NAME
    installation.erase(installation.ada)
    refresh(installation.connection, file)
    words = ("restore", "--recovered-to", moment.isoformat(), "--data-dir", earlier_dir, "--erasures")
    journal.append(folder / "other", "another", [], None)
    assert "to another installation" in refusal(*words, folder / "other")
    result = run(*words, file)
    assert (result["erased_again"], result["erasures_waiting"], result["migrated"]) == (1, 0, [])
    connection = start_restored(earlier_dir)
    assert emails(connection, installation.ada, installation.bob) == [None, BOB]
    require_finished(connection)
    (after,) = connection.execute("SELECT last_value FROM contact_ids").fetchone() or (0,)
    assert after > before + 900_000, "an id that was used since is not used again"
    begin_restore(connection)
    with pytest.raises(Failure, match="--recovered-to"):
        require_finished(connection)


def test_bad_recoveries_are_refused(
    installation: Installation, folder: Path, tmp_path: Path, refusal: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    moment = datetime.now(UTC)
    words = ("restore", "--recovered-to", moment.isoformat())
    missing_options = ("--without-erasures", "--data-dir", str(tmp_path / "none"))
    assert "no Headwater data" in refusal(*words, *missing_options)
    data_options = ("--without-erasures", "--data-dir", str(installation.data_dir))
    assert "name a backup, or say --recovered-to" in refusal("restore")
    assert "leave FILE away" in refusal(*words, str(folder / "b.zip"))
    assert "people who have been erased since then would come back" in refusal(*words)
    monkeypatch.setenv("HEADWATER_DATABASE_URL", Embedded(installation.data_dir).url)
    assert "other sessions use the database" in refusal(*words, *data_options)
    future_time = (moment + timedelta(hours=1)).isoformat()
    assert "in the future" in refusal("restore", "--recovered-to", future_time, *data_options)
    with pytest.raises(SystemExit):
        refusal("restore", "--recovered-to", "2026-11-22T03:30:00", *data_options)
