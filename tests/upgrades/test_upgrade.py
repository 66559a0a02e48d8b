"""`headwater upgrade`: a real upgrade of the embedded PostgreSQL from one major version to the next."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.cli import main
from headwater.database.data_directory import lock_directory, read_major
from headwater.database.embedded import Embedded
from headwater.database.programs import MAJOR, own_folder
from headwater.operations.supervision.preparation import prepare_beside
from headwater.operations.upgrades import upgrade as module
from headwater.operations.upgrades.cluster_copy import copy_cluster
from headwater.operations.upgrades.content import read_content, require_same
from headwater.operations.upgrades.old_programs import find_programs
from tests.test_private_files import open_to_others
from tests.upgrades.conftest import Installation, read, serve_data

Shell = Callable[[int], Path]


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    """Run the command and return its JSON output."""
    capsys.readouterr()
    assert main(["upgrade", *map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert main(["upgrade", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_it_works(old_installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    root = old_installation.data_dir
    data_options = ("--data-dir", root)
    sentence = f"run `headwater upgrade --data-dir {root}`"
    with pytest.raises(Failure, match=sentence):
        Embedded(root).start()
    with pytest.raises(Failure, match=sentence):  # a reload of the service that runs on it
        prepare_beside(Settings(data_dir=root))
    open_paths, umask = open_to_others(root), os.umask(0o000)
    report = run(capsys, *data_options)
    os.umask(umask)
    assert set(open_to_others(root)) <= set(open_paths)
    assert report == {
        "before": 16, "now": MAJOR, "tables": len(old_installation.contents) - 4 + 1,
        "settings_left": ["work_mem"], "kept": str(root / "postgresql.16"),
    }  # fmt: skip
    names = {path.name for path in root.iterdir()}
    assert names >= {"postgresql", "postgresql.16"}
    assert not names & {"postgresql.upgrading", "postgresql.upgraded"}
    with serve_data(root) as connection:
        assert connection.info.server_version // 10_000 == MAJOR
        assert read(connection) == old_installation.contents
        a_missing_row_and_a_changed_one_show(connection)
    assert run(capsys, *data_options) == {"before": MAJOR, "now": MAJOR}
    assert run(capsys, *data_options, "--remove-old") == {"removed": [str(root / "postgresql.16")]}
    assert not (root / "postgresql.16").exists()


def a_missing_row_and_a_changed_one_show(connection: psycopg.Connection) -> None:
    """The comparison decides whether the upgrade is kept. It detects each kind of loss."""
    url = Embedded(Path(connection.info.host).parent).url
    before = read_content(url)
    for table, statement, undo in (
        ("spaces", "UPDATE spaces SET name = name || '!'",
         "UPDATE spaces SET name = rtrim(name, '!')"),
        ("places", "DELETE FROM places", "INSERT INTO places VALUES ('[3,4]')"),
        ("policy", "DROP POLICY space ON contacts", None),
    ):  # fmt: skip
        connection.execute(statement.encode())
        with pytest.raises(Failure, match=table):
            require_same(before, read_content(url))
        if undo is not None:
            connection.execute(undo.encode())


def test_programs_are_found_where_they_are_named(tmp_path: Path) -> None:
    assert find_programs(16, None).folder == own_folder(16)
    environment = own_folder(16).parents[4]
    sibling_folder = tmp_path / "headwater-0.2.0"
    sibling_folder.mkdir()
    (sibling_folder / ".venv").symlink_to(environment.parent)
    for location in (own_folder(16), own_folder(16).parent, environment.parent, sibling_folder):
        assert find_programs(16, location).folder.resolve() == own_folder(16)
    with pytest.raises(Failure, match=r"not found in .*apt-get install postgresql-16"):
        find_programs(16, tmp_path)
    with pytest.raises(Failure, match="postgresql-11"):
        find_programs(11, None)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "postgres").symlink_to(own_folder(16) / "postgres")
    with pytest.raises(Failure, match="has no pg_controldata"):
        find_programs(16, tmp_path)


def test_what_cannot_come_to_its_end_is_not_begun(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shell(16)
    data_options = ("--data-dir", root)
    with lock_directory(root):
        assert "`headwater serve` runs on" in refusal(capsys, *data_options)
    (root / "postgresql.16").mkdir()
    assert "exists from an earlier upgrade" in refusal(capsys, *data_options)
    (root / "postgresql.16").rmdir()
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=200 * 1024**2))
    assert "and 200 MB are free" in refusal(capsys, *data_options)
    assert [path.name for path in (root / "postgresql").iterdir()] == ["PG_VERSION"]
    assert not (root / "postgresql.upgrading").exists()
    (root / "postgresql").rename(root.parent / "elsewhere")
    (root / "postgresql").symlink_to(root.parent / "elsewhere")
    assert "on another disk" in refusal(capsys, *data_options)


def test_a_data_directory_that_is_none_or_newer(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert "no Headwater data" in refusal(capsys, "--data-dir", tmp_path / "none")
    root = shell(MAJOR + 1)
    assert "use the version of Headwater that last served" in refusal(capsys, "--data-dir", root)
    with pytest.raises(Failure, match="use the version of Headwater that last served it"):
        Embedded(root).start()
    (root / "postgresql" / "PG_VERSION").write_text("15\n")
    assert "which Headwater never supported" in refusal(capsys, "--data-dir", root)
    monkeypatch.setenv("HEADWATER_DATABASE_URL", "postgresql://elsewhere/headwater")
    assert "yours to upgrade" in refusal(capsys)


def test_a_failure_leaves_the_cluster_as_it_was(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of the failed attempt are removed."""
    root = shell(16)

    def fail(database: Embedded, _: object) -> None:
        (database.root / "postgresql.upgrading" / "postgresql").mkdir(parents=True)
        raise Failure("pg_upgrade: no room")

    monkeypatch.setattr(module, "_make", fail)
    assert "pg_upgrade: no room. The cluster is unchanged" in refusal(capsys, "--data-dir", root)
    assert {path.name for path in root.iterdir()} == {"postgresql", "serve.lock"}


def test_what_an_earlier_attempt_left_is_removed(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """This also works when there is nothing to upgrade."""
    root = shell(MAJOR)
    (root / "postgresql.upgrading" / "postgresql").mkdir(parents=True)
    run(capsys, "--data-dir", root)
    assert {path.name for path in root.iterdir()} == {"postgresql", "serve.lock"}


def test_what_pg_upgrade_says_is_passed_on(shell: Shell, tmp_path: Path) -> None:
    """The new cluster is missing here, a fault that pg_upgrade finds immediately."""
    old, new = Embedded(shell(16), find_programs(16, None)), Embedded(tmp_path / "new")
    new.cluster.mkdir(parents=True)
    (old.root / "postgresql.password").write_text("secret")
    with pytest.raises(Failure, match=r"pg_upgrade: .* has its full output"):
        copy_cluster(old, new)


@pytest.mark.parametrize("is_renamed", [False, True], ids=["neither", "the first"])
def test_whoever_starts_next_does_the_renamings(shell: Shell, *, is_renamed: bool) -> None:
    root = shell(16)
    shutil.copytree(root / "postgresql", root / "postgresql.upgraded")
    (root / "postgresql.upgraded" / "PG_VERSION").write_text(f"{MAJOR}\n")
    if is_renamed:
        (root / "postgresql").rename(root / "postgresql.16")
    Embedded(root).create()
    assert read_major(root / "postgresql") == MAJOR
    assert read_major(root / "postgresql.16") == 16
    assert not (root / "postgresql.upgraded").exists()
