"""`headwater backup` and `headwater restore`: what is restored, and where a restore is refused."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from headwater.database import migrator
from headwater.database.embedded import Embedded
from headwater.operations.backups import journal
from headwater.operations.backups.restoration import scratch_server
from headwater.spaces.secret_key import key_file
from tests.backups.conftest import BOB, Installation, all_rows
from tests.support.commands import run_command
from tests.support.preloaded import CopiedServe
from tests.support.processes import headwater
from tests.support.waiting import wait_until

Run = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


def test_it_works(
    installation: Installation, folder: Path, tmp_path: Path, run: Run,
    start_restored: Callable[[Path], psycopg.Connection],
) -> None:  # fmt: skip
    before = all_rows(installation.connection)
    backup = run("backup", folder, "--data-dir", installation.data_dir)
    file = Path(backup["file"])
    assert file.parent == folder
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert backup["bytes"] == file.stat().st_size
    assert backup["rows"] == sum(map(len, before.values()))
    assert sorted(zipfile.ZipFile(file).namelist()) == ["database.sql.gz", "manifest.json"]

    unused_ids = {name: installation.stage._next_value(name) for name in ("receipt_ids", "contact_ids")}
    new = tmp_path / "new"
    report = run("restore", file, "--data-dir", new)
    assert report["secret_key"] == "missing"
    assert (report["rows"], report["erased_again"]) == (backup["rows"], 0)
    result = headwater("serve", "--port", "0", "--data-dir", str(new))
    assert result.returncode == 2
    assert "secret.key is missing; bring it back" in result.stderr
    assert {path.name for path in new.iterdir()} >= {
        "postgresql", "postgresql.password", "serve.lock",
    }  # fmt: skip
    connection = start_restored(new)
    after = all_rows(connection)
    assert after.keys() == before.keys()
    for table, rows in before.items():
        assert after[table] == rows, table
    assert {name for name, rows in after.items() if rows} >= {
        "events", "contacts", "contact_identifiers", "touchpoints", "tag_sets", "exports",
        "destinations", "deliveries", "inbox", "api_keys", "installation",
    }  # fmt: skip
    for name, number in unused_ids.items():
        (next_id,) = connection.execute("SELECT nextval(%s)", (name,)).fetchone() or (0,)
        assert next_id > number + 1000, "an id that was handed out is not used again"


def test_a_service_works_where_an_earlier_restore_was_killed(
    installation: Installation, folder: Path, tmp_path: Path, run: Run, refusal: Refused
) -> None:
    file = folder / "with-key.zip"
    run("backup", file, "--with-secret-key", "--data-dir", installation.data_dir)
    new = tmp_path / "new"
    (new / "postgresql.restoring").mkdir(parents=True)
    (new / "postgresql.password").write_text("of a restore that was killed")
    result = run_command("serve", "--port", "0", "--data-dir", str(new))
    assert result.returncode == 2
    assert "`headwater restore` has not finished" in result.stderr
    assert run("restore", file, "--data-dir", new)["secret_key"] == "restored"
    assert not (new / "postgresql.restoring").exists()
    assert key_file(new).read_text() == key_file(installation.data_dir).read_text()
    with CopiedServe(new, HEADWATER_BACKUP_DIR=str(tmp_path / "elsewhere")) as serve:
        url = serve.url()
        answer = httpx.get(
            f"{url}/public-api/v1/contacts/{installation.bob}",
            headers={"Authorization": f"Bearer {installation.stage.key}"},
        )
        assert answer.status_code == 200
        assert BOB in answer.text
        reason = refusal("restore", file, "--data-dir", new)
        assert "`headwater serve`, or another restore, runs on" in reason
        wait_until((tmp_path / "elsewhere" / journal.NAME).exists)
        assert serve.stop() == 0
    assert "is not empty" in refusal("restore", file, "--data-dir", new)


def test_a_scratch_server_below_a_long_path_leaves_no_socket(tmp_path: Path) -> None:
    """Its socket is elsewhere, because a socket's path must be short."""
    directory = tmp_path / ("long" * 25)
    with scratch_server(directory):
        elsewhere = Embedded(directory).sockets
        assert elsewhere.parent != directory
        assert elsewhere.exists()
    assert not elsewhere.exists()


def test_a_newer_schema_is_refused(
    installation: Installation, folder: Path, tmp_path: Path, run: Run, refusal: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run("backup", folder / "b.zip", "--data-dir", installation.data_dir)
    earlier_migrations = migrator.migrations()[:-1]
    monkeypatch.setattr("headwater.operations.backups.restoration.migrations", lambda: earlier_migrations)
    assert "which this version lacks" in refusal("restore", folder / "b.zip", "--data-dir", tmp_path / "new")
    assert not (tmp_path / "new").exists()
