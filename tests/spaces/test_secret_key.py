"""The secret key is stored next to the database of an installation, not in it. An installation that had it in
the database keeps the same key, and so can still read everything encrypted with it.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.files import write_private
from headwater.base.settings import Settings
from headwater.database.embedded import Embedded
from headwater.forwarding.destinations.credentials import open_secrets
from headwater.spaces.encryption import Unsealable, derive_key
from headwater.spaces.secret_key import SecretKey, find_secret_key, key_file, move_to_file
from tests.support.commands import run_command
from tests.support.durability import Disk
from tests.support.installations import install
from tests.support.preloaded import CopiedServe
from tests.support.processes import headwater

OLD = "0123456789abcdef" * 4
OTHER = "shortest" * 4
"""A key of the least length."""


def stored_key(url: str) -> str | None:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT secret_key FROM installation").fetchone()
        assert row is not None
        return row[0]


def store(url: str, key: str | None) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE installation SET secret_key = %s", (key,))


def command(data_dir: Path, *arguments: str) -> dict[str, object]:
    process = run_command(*arguments, "--json", "--data-dir", str(data_dir))
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def seal_something(data_dir: Path, token: Path) -> tuple[int, int]:
    """Create a destination whose token is encrypted with the installation's key. Return the ids of the Space
    and the destination.
    """
    token.write_text("a-token-of-meta")
    space = command(data_dir, "space", "create", "--name", "Shop")
    destination = command(
        data_dir, "destination", "create", "--space", str(space["id"]), "--platform", "meta",
        "--set", "pixel_id=1234567890", "--secret", f"access_token=@{token}",
    )  # fmt: skip
    return int(str(space["id"])), int(str(destination["id"]))


def opens(url: str, key: str, destination_key: tuple[int, int]) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT secrets FROM destinations WHERE space_id = %s AND id = %s", destination_key
        ).fetchone()
    assert row is not None
    try:
        return open_secrets(derive_key(key), *destination_key, row[0]) == {"access_token": "a-token-of-meta"}
    except Unsealable:
        return False


def test_it_works(tmp_path: Path) -> None:
    data_dir = install(tmp_path / "data")
    file = key_file(data_dir)
    with CopiedServe(data_dir) as serve:
        serve.url()
        assert stored_key(Embedded(data_dir).url) is None
        key = file.read_text().strip()
        assert len(key) >= 32
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        first_ids = seal_something(data_dir, tmp_path / "token")
        assert opens(Embedded(data_dir).url, key, first_ids), "commands beside it use the same"
        store(Embedded(data_dir).url, OLD)  # as in an installation of 0.1.0
        file.unlink()
        old = seal_something(data_dir, tmp_path / "token")
        assert opens(Embedded(data_dir).url, OLD, old)
        assert serve.stop() == 0
    with CopiedServe(data_dir) as serve:
        serve.url()
        assert stored_key(Embedded(data_dir).url) is None
        assert file.read_text().strip() == OLD
        new_ids = seal_something(data_dir, tmp_path / "token")
        assert opens(Embedded(data_dir).url, OLD, new_ids)
        assert serve.stop() == 0
    file.unlink()
    process = headwater("serve", "--port", "0", "--data-dir", str(data_dir))
    assert process.returncode == 2
    assert f"{file} is missing" in process.stderr
    assert "HEADWATER_SECRET_KEY" in process.stderr


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    """The tests' database as an operator's own database. Afterwards its key is restored, and the base address
    stored by a command removed.
    """
    before = stored_key(database_url)
    yield database_url
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE installation SET secret_key = %s, base_url = NULL", (before,))


def test_which_key_counts(url: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    write_private(key_file(tmp_path), f"{OTHER}\n")
    own_settings = Settings(data_dir=tmp_path, secret_key="own" * 12)
    store(url, OLD)
    assert find_secret_key(own_settings, url) == SecretKey("own" * 12)
    assert find_secret_key(settings, url) == SecretKey(OLD, in_database=True)
    store(url, None)
    assert find_secret_key(own_settings, url) == SecretKey("own" * 12)
    assert find_secret_key(settings, url) == SecretKey(OTHER)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing"),
        (b"", "holds no key of at least 32 characters"),
        (b"short\n", "holds no key of at least 32 characters"),
        (b"\xff" * 40, "cannot be read"),
    ],
)
def test_no_key_is_made_up(url: str, tmp_path: Path, content: bytes | None, message: str) -> None:
    store(url, None)
    if content is not None:
        key_file(tmp_path).write_bytes(content)
    with pytest.raises(Failure, match=message):
        find_secret_key(Settings(data_dir=tmp_path), url)
    assert stored_key(url) is None


def test_a_command_says_so(url: str, tmp_path: Path) -> None:
    store(url, None)
    for words in (
        ("api", "--port", "0"),
        ("serve", "--port", "0"),
        ("webhook", "create", "--space", "1", "--type", "generic", "--name", "x", "--set", "event=purchase"),
    ):
        process = run_command(
            *words, HEADWATER_DATABASE_URL=url, HEADWATER_DATA_DIR=str(tmp_path)
        )  # fmt: skip
        assert (process.returncode, process.stdout) == (2, ""), process.stderr
        assert "secret.key is missing" in process.stderr


def test_the_file_is_on_disk_before_the_database_forgets(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(url, OLD)
    disk = Disk(monkeypatch)
    with psycopg.connect(url) as connection:  # leaving it commits
        move_to_file(connection, tmp_path)
        assert disk.renamed == [key_file(tmp_path)]
        assert disk.unsynced == []
        assert disk.lost_paths(tmp_path) == []
        assert stored_key(url) == OLD
    assert stored_key(url) is None
    assert find_secret_key(Settings(data_dir=tmp_path), url) == SecretKey(OLD)


def test_a_key_is_moved_once(url: str, tmp_path: Path) -> None:
    store(url, OLD)
    with psycopg.connect(url, autocommit=True) as connection:
        move_to_file(connection, tmp_path)
        move_to_file(connection, tmp_path)
    assert find_secret_key(Settings(data_dir=tmp_path), url) == SecretKey(OLD)
