"""The journal of erasures: a person erased since a backup stays erased after its restore."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.base.settings import Settings
from headwater.cli.service import backups
from headwater.operations.backups import journal
from headwater.operations.backups.dump import make_backup
from headwater.operations.backups.journal_duty import JournalKeeper, refresh
from headwater.operations.backups.manifest import Manifest
from tests.backups.conftest import BOB, Databases, Installation

Run = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


def keep(installation: Installation, keeper: JournalKeeper) -> None:
    keeper.attend(installation.connection, 0)


def test_it_works(installation: Installation, databases: Databases, folder: Path, run: Run) -> None:
    """Two contacts, still separate in the backup, merged before they were erased: both are erased."""
    keeper = JournalKeeper(Settings())
    backup = run("backup", folder)
    keep(installation, keeper)
    installation.merge_ada()
    installation.erase(installation.ada)
    keep(installation, keeper)
    text = (folder / journal.NAME).read_text()
    assert "backup.example" not in text
    assert f'"contact_ids":[{installation.ada},{installation.also_ada}]' in text

    databases.use(databases.empty)
    report = run("restore", backup["file"])
    assert (report["erased_again"], report["erasures_waiting"]) == (2, 0)
    emails = databases.empty_emails(installation.ada, installation.also_ada, installation.bob)
    assert emails == [None, None, BOB]
    assert all(row["erased_at"] for row in databases.empty_rows()["erasures"])


def test_somebody_who_still_waited_in_the_queue_is_erased(
    installation: Installation, databases: Databases, folder: Path, run: Run
) -> None:
    """The backup has an event and no contact. In the copy, the event's contact gets another id."""
    backup = run("backup", folder)
    contact_id = installation.process("waits@backup.example")
    installation.erase(contact_id)
    refresh(installation.connection, folder / journal.NAME)
    databases.use(databases.empty)
    assert run("restore", backup["file"])["erased_again"] == 1
    event = max(
        (row for row in databases.empty_rows()["events"]
         if row["space_id"] == installation.stage.space_id), key=lambda row: row["id"]
    )  # fmt: skip
    assert event["contact_id"] > contact_id
    assert databases.empty_emails(event["contact_id"]) == [None]


def test_one_that_was_only_requested_is_in_it(installation: Installation, folder: Path) -> None:
    path = folder / journal.NAME
    keeper = JournalKeeper(Settings(backup_dir=folder))
    keep(installation, keeper)
    installation.stage._insert("erasures", {"contact_id": installation.bob, "receipt_mark": 7})
    keep(installation, keeper)
    requests = [erasure for erasure in journal.read(path).erasures if erasure.erased_at is None]
    assert [erasure.contact_ids for erasure in requests] == [[installation.bob]]
    size = path.stat().st_size
    keep(installation, keeper)
    assert path.stat().st_size == size, "each once"
    installation.connection.execute("DELETE FROM erasures WHERE erased_at IS NULL")


@pytest.mark.usefixtures("databases")
def test_a_person_erased_during_a_backup_is_in_its_journal(
    installation: Installation, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without a worker."""

    def erase_meanwhile(*arguments: Any, **options: Any) -> Manifest:
        manifest = make_backup(*arguments, **options)
        installation.erase(installation.bob)
        return manifest

    monkeypatch.setattr(backups, "make_backup", erase_meanwhile)
    run("backup", folder)
    erasures = journal.read(folder / journal.NAME).erasures
    assert any(erasure.contact_ids == [installation.bob] and erasure.erased_at for erasure in erasures)


def test_without_a_journal_it_is_refused(
    databases: Databases, folder: Path, run: Run, refusal: Refused
) -> None:
    words = ("restore", run("backup", folder)["file"])
    databases.use(databases.empty)
    path = folder / journal.NAME
    path.rename(folder / "elsewhere")
    assert "people who have been erased since" in refusal(*words)
    lines = (folder / "elsewhere").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1].replace(b":", b";", 1), *lines[2:]]))
    assert f"line 2 of {path} is damaged" in refusal(*words)
    path.write_bytes(b"")
    assert "is not a journal of erasures" in refusal(*words)
    journal.append(folder / "other", "another", [], None)
    assert "of another installation" in refusal(*words, "--erasures", folder / "other")
    assert databases.empty_rows() == {}
    report = run(*words, "--without-erasures")
    assert report["erasures_complete_until"] is None


def test_a_line_that_was_cut_off_is_written_again(installation: Installation, folder: Path) -> None:
    path = folder / journal.NAME
    refresh(installation.connection, path)
    content = path.read_bytes()
    path.write_bytes(content + b'0123456789abcdef {"erasure":{"space')
    assert journal.read(path).size == len(content)
    installation.erase(installation.bob)
    refresh(installation.connection, path)
    assert path.read_bytes().startswith(content)
    (bob,) = (erasure for erasure in journal.read(path).erasures
              if erasure.contact_ids == [installation.bob])  # fmt: skip
    assert bob.erased_at is not None


def test_a_damaged_journal_is_put_aside_and_made_anew(installation: Installation, folder: Path) -> None:
    path = folder / journal.NAME
    installation.erase(installation.bob)
    keeper = JournalKeeper(Settings(backup_dir=folder))
    keep(installation, keeper)
    before = journal.read(path).erasures
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"x" + lines[1], *lines[2:]]))
    keep(installation, JournalKeeper(Settings(backup_dir=folder)))
    assert len(list(folder.glob("erasures.journal.damaged-*"))) == 1
    after = journal.read(path).erasures
    assert sorted(map(repr, after)) == sorted(map(repr, before))


def test_a_journal_that_was_moved_is_begun_again(installation: Installation, folder: Path) -> None:
    """It is rewritten although nothing was erased: otherwise, backups next to it would seem to need no
    journal.
    """
    keeper = JournalKeeper(Settings(backup_dir=folder))
    keep(installation, keeper)
    before = journal.read(folder / journal.NAME)
    (folder / journal.NAME).unlink()
    keep(installation, keeper)
    after = journal.read(folder / journal.NAME)
    assert (after.installation_id, after.erasures) == (before.installation_id, before.erasures)


def test_a_folder_that_cannot_be_written_ends_nothing(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keeper = JournalKeeper(Settings(backup_dir=tmp_path / "file"))
    keep(installation, keeper)
    assert not (tmp_path / "file" / journal.NAME).exists()


def test_another_installation_s_folder_is_refused(
    installation: Installation, folder: Path, refusal: Refused
) -> None:
    journal.append(folder / journal.NAME, "another", [], None)
    reason = refusal("backup", folder, "--data-dir", installation.data_dir)
    assert "use a separate backup folder for each" in reason
    assert list(folder.glob("*.zip*")) == []


@pytest.mark.parametrize("recorded", [True, False])
def test_the_folder_of_the_latest_backup_is_kept(
    installation: Installation, folder: Path, run: Run, recorded: bool
) -> None:
    if recorded:
        run("backup", folder, "--data-dir", installation.data_dir)
    else:
        refresh(installation.connection, folder / journal.NAME)
    size = (folder / journal.NAME).stat().st_size
    installation.erase(installation.bob)
    keep(installation, JournalKeeper(Settings()))
    assert ((folder / journal.NAME).stat().st_size > size) == recorded
