"""Other accounts of the machine can't read Headwater's files, with any umask, and also where an earlier
version had allowed it.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.files import close_to_others, make_private
from headwater.database.embedded import Embedded
from tests.support.exports import Exports
from tests.support.factories import Stage
from tests.support.processes import Serve, environment
from tests.support.waiting import PATIENCE_SECONDS, wait_until

LONG = "a-directory-whose-path-is-too-long-for-the-name-of-a-socket/" * 2
STRANGER = 12345


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(folder: Path) -> list[Path]:
    """Return the paths that others could read, write or enter without the protection of the parent
    directory.
    """
    return [path for path in (folder, *folder.rglob("*")) if is_open(path)]


def is_open(path: Path) -> bool:
    try:
        return bool(mode(path) & 0o077) and not path.is_socket()
    except FileNotFoundError:  # PostgreSQL creates and removes files
        return False


def test_it_works(tmp_path: Path) -> None:
    """This covers every file of a running installation, and the directories of an earlier one."""
    data_dir = tmp_path / "data"
    exports = data_dir / "exports"
    exports.mkdir(parents=True)
    for folder in (data_dir, exports):
        folder.chmod(0o755)
    before = os.umask(0o000)
    try:
        with Serve(data_dir, "--port", "0", "--workers", "1") as serve:
            serve.url()
            assert mode(data_dir) == mode(exports) == 0o700
            assert open_to_others(data_dir) == []
            assert serve.stop() == 0
    finally:
        os.umask(before)


def test_a_worker_that_is_started_by_itself(tmp_path: Path, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    counters = data_dir / f"metrics-{port}"
    before = os.umask(0o000)
    try:
        with Serve(
            data_dir, "--metrics", f"127.0.0.1:{port}", command="worker",
            HEADWATER_DATABASE_URL=database_url,
        ) as worker:  # fmt: skip
            wait_until(lambda: counters.is_dir() and any(counters.iterdir()))
            assert open_to_others(counters) == []
            worker.kill()
    finally:
        os.umask(before)


def test_export_files(stage: Stage, exports: Exports) -> None:
    stage.event(stage.contact())
    folder = exports.storage.folder
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    export_id = exports.ask(date="2026-05-13")
    variables = {"HEADWATER_DATABASE_URL": exports.url, "HEADWATER_DATA_DIR": str(folder.parent)}
    subprocess.run(
        [sys.executable, "-m", "headwater", "exporter"], check=True, umask=0o000,
        env=environment(**variables), timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert exports.status(export_id)["status"] == "completed"
    assert mode(folder) == 0o700
    newest_file = max(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert mode(newest_file) == 0o600


def test_directories_that_are_shared_stay_as_they_are(tmp_path: Path) -> None:
    for before, after in ((0o1777, 0o1777), (0o2775, 0o2700), (0o755, 0o700), (0o500, 0o500)):
        tmp_path.chmod(before)
        close_to_others(tmp_path)
        assert mode(tmp_path) == after
    tmp_path.chmod(0o755)
    close_to_others(tmp_path, 0o711)
    assert mode(tmp_path) == 0o711


def test_a_directory_that_holds_other_things_stays_open(tmp_path: Path) -> None:
    server = Embedded(tmp_path)
    for name in ("postgresql.log", "something-else"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    tmp_path.chmod(0o755)
    server.start(tied=True)
    server.stop()
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "something-else") == 0o644
    for name in ("postgresql.log", "postgresql.password"):
        assert mode(tmp_path / name) == 0o600
    for folder in (server.cluster, server.sockets):
        assert mode(folder) == 0o700
    (tmp_path / "something-else").unlink()
    server.make_root()
    assert mode(tmp_path) == 0o700


def test_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    with pytest.raises(FileExistsError):
        make_private(file)
    assert mode(file) == 0o644


def test_missing_directories_above(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b")
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


@pytest.fixture
def distant_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Embedded:
    """A server whose socket has to be elsewhere."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return Embedded(tmp_path / LONG)


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A directory whose path is as short as a real one's."""
    with TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


def test_a_socket_elsewhere(distant_server: Embedded, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    server = Embedded(distant_server.root)
    assert server.sockets.parent == runtime
    server.start(tied=True)
    try:
        monkeypatch.delenv("XDG_RUNTIME_DIR")  # as for a command in another session
        assert Embedded(distant_server.root).sockets.parent == distant_server.sockets.parent
        with psycopg.connect(Embedded(distant_server.root).url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        server.sockets.chmod(0o755)
        with pytest.raises(Failure, match="is open to other accounts"):
            _ = Embedded(distant_server.root).url
    finally:
        server.stop()


def test_a_runtime_directory_that_is_not_ours_alone(
    distant_server: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unusable in ("", "relative", str(tmp_path / "missing"), str(open_directory(tmp_path))):
        monkeypatch.setenv("XDG_RUNTIME_DIR", unusable)
        assert Embedded(distant_server.root).sockets.parent == tmp_path


def open_directory(tmp_path: Path) -> Path:
    folder = tmp_path / "open"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return folder


def test_a_socket_directory_that_others_can_write(distant_server: Embedded) -> None:
    distant_server.create()
    distant_server.sockets.mkdir()
    distant_server.sockets.chmod(0o777)
    with pytest.raises(Failure, match="is open to other accounts"):
        distant_server.start(tied=True)


def test_a_socket_directory_that_leads_elsewhere(distant_server: Embedded, tmp_path: Path) -> None:
    distant_server.create()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    distant_server.sockets.symlink_to(elsewhere)
    with pytest.raises(Failure, match="is not a directory"):
        distant_server.start(tied=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory another's")
def test_a_socket_directory_of_somebody_else(distant_server: Embedded) -> None:
    distant_server.create()
    distant_server.sockets.mkdir(mode=0o700)
    os.chown(distant_server.sockets, STRANGER, STRANGER)
    with pytest.raises(Failure, match=f"belongs to another account .uid {STRANGER}"):
        distant_server.start(tied=True)


class Impostor:
    """A PostgreSQL that requests the password in clear text."""

    def __init__(self, folder: Path) -> None:
        self.received = b""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / ".s.PGSQL.5432"))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        client, _ = self._socket.accept()
        with client:
            client.settimeout(PATIENCE_SECONDS)
            client.recv(4096)  # user and database
            client.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
            self.received = client.recv(4096)

    def close(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        self._socket.close()


def test_an_impostor_gets_no_password(tmp_path: Path) -> None:
    server = Embedded(tmp_path / "data")
    server.create()
    server.sockets.mkdir(mode=0o700)
    impostor = Impostor(server.sockets)
    with pytest.raises(psycopg.OperationalError, match="scram-sha-256"):
        psycopg.connect(server.url, connect_timeout=10)
    impostor.close()
    shutil.rmtree(server.sockets)
    assert impostor.received == b""
