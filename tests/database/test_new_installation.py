"""A new installation is on disk before it takes its name, so that a power cut in its first
seconds leaves either nothing or all of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.database.embedded import Embedded
from tests.support.durability import Disk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_it_works(disk: Disk, tmp_path: Path) -> None:
    disk.sync(tmp_path)
    server = Embedded(tmp_path / "one" / "two")
    server._create()
    assert server.cluster in disk.renamed
    assert disk.unsynced == []
    assert "listen_addresses = ''" in (server.cluster / "postgresql.conf").read_text()
    assert disk.missing(tmp_path) == []


def test_the_model_catches_what_is_not_synced(disk: Disk, tmp_path: Path) -> None:
    disk.sync(tmp_path)
    written = tmp_path / "file.new"
    written.write_text("content")
    assert disk.missing(tmp_path) == [tmp_path, written]
    written.rename(tmp_path / "file")
    assert disk.unsynced == [written]
