"""The image: reproducible, small, without a shell, and with a service that runs under a separate account on a
read-only root file system.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.packaging.image import Container, Image, image_test, read_image
from tests.packaging.test_wheel import send_purchase
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = image_test
MOST_BYTES = 200e6
SHELLS = {"sh", "bash", "dash", "busybox", "zsh", "fish", "ksh", "perl", "env", "su", "sudo"}


def build_archive(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "scripts.build_image", str(folder)], cwd=ROOT, check=True)
    (archive,) = folder.glob("*.oci.tar")
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_archive(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def image(archive: Path) -> Image:
    return read_image(archive)


@pytest.fixture
def container(image: Image, tmp_path: Path) -> Container:
    image.unpack(tmp_path / "rootfs")
    tmp_path.chmod(0o755)
    return Container(image, tmp_path, "served")


def test_it_works(container: Container) -> None:
    """It serves, is healthy, accepts an event, stops in order on SIGTERM, and starts again with its data."""
    keys: list[str] = []
    for _ in range(2):
        service = container.start("serve", "--port", "8457")
        try:
            assert service.stdout is not None
            line = service.stdout.readline()
            log = container.bundle / "log"
            assert line == "ready http://127.0.0.1:8457\n", log.read_text()
            keys = keys or [make_key(container)]
            assert send_purchase("http://127.0.0.1:8457", keys[0]) == 202
            assert httpx.get("http://127.0.0.1:8457/docs").status_code == 200
            backup = container.execute("/usr/bin/headwater", "backup", "/tmp/b.zip", "--verify")
            assert backup.returncode == 0, backup.stderr
            probe = container.image.config["Healthcheck"]["Test"][1:]
            probe[-1] = probe[-1].replace("8080", "8457")
            assert container.execute(*probe).returncode == 0
            check_bounds(container)
            container.signal(signal.SIGTERM)
            assert service.wait(PATIENCE_SECONDS) == 0
            service.stdout.close()
        finally:
            container.remove()


def test_a_volume_of_a_group(container: Container) -> None:
    """In Kubernetes, the volume belongs to root and the group, with Headwater's folder inside."""
    os.chown(container.data, 0, 10001)
    container.data.chmod(0o2775)
    for _ in range(2):
        service = container.start("serve", "--port", "8458", HEADWATER_DATA_DIR="/data/headwater")
        try:
            assert service.stdout is not None
            assert service.stdout.readline().startswith("ready "), container.bundle
            container.signal(signal.SIGTERM)
            assert service.wait(PATIENCE_SECONDS) == 0
            service.stdout.close()
        finally:
            container.remove()


def make_key(container: Container) -> str:
    space = container.execute("/usr/bin/headwater", "space", "create", "--name", "S", "--json")
    key = container.execute("/usr/bin/headwater", "key", "create", "--name", "k", "--json",
                            "--space", str(json.loads(space.stdout)["id"]))  # fmt: skip
    return json.loads(key.stdout)["key"]


def check_bounds(container: Container) -> None:
    """Check that it has no privileges, writes only to its own folders, and runs no commands."""
    look = "import os; print(os.getuid(), open('/proc/self/status').read())"
    status = container.execute("/usr/bin/python3.11", "-Ic", look).stdout
    assert status.startswith("10001 ")
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    for path in ("/etc/x", "/usr/x", "/x"):
        result = container.execute("/usr/bin/python3.11", "-Ic", f"open('{path}', 'w')")
        assert "Read-only file system" in result.stderr
    script = "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)"
    assert "PermissionError" in container.execute("/usr/bin/python3.11", "-Ic", script).stderr
    for command in ("id", "/usr/bin/python3.11 -c 1", "true; id", "$(id)"):
        assert container.execute("/bin/sh", "-c", command).returncode == 127


def test_two_builds_are_identical(archive: Path, tmp_path: Path) -> None:
    second_archive = build_archive(tmp_path)
    assert second_archive.read_bytes() == archive.read_bytes()


def test_it_is_small_and_has_no_shell(image: Image) -> None:
    entries = image.entries()
    assert sum(entry.size for entry in entries) < MOST_BYTES
    programs = {
        Path(entry.name).name: entry
        for entry in entries
        if entry.mode & 0o111 and Path(entry.name).parts[-2:-1] == ("bin",) and not entry.isdir()
    }
    assert programs.keys() & SHELLS == {"sh"}  # not a shell: see check_bounds
    assert [entry.name for entry in entries if entry.mode & 0o6000] == []
    owned_entries = [entry.name for entry in entries if (entry.uid, entry.gid) != (0, 0)]
    assert owned_entries == ["data"]
    assert [entry.name for entry in entries if entry.mode & 0o002 and not entry.issym()] == ["tmp"]


def test_its_contents_are_listed(archive: Path, image: Image) -> None:
    """The list next to the image, for people, and the list inside it, for scanners, match the contents
    exactly.
    """
    lines = archive.with_suffix(".contents.txt").read_text().splitlines()
    contents = {(kind, name) for kind, name, *_ in map(str.split, lines)}
    names = {entry.name for entry in image.entries()}
    assert {("deb", "libc6"), ("deb", "libssl3"), ("deb", "python3.11-minimal")} <= contents
    debian = {name for kind, name in contents if kind == "deb"}
    assert debian == {Path(name).name for name in names if "dpkg/status.d/" in name}
    distributions = {
        Path(name).name.partition("-")[0].lower() for name in names if name.endswith(".dist-info")
    }
    python = {name.lower().replace("-", "_").replace(".", "_") for kind, name in contents if kind == "pypi"}
    assert python == distributions
    assert {"cryptography", "headwater"} <= python
    assert {
        ("part", "postgresql"),
        ("part", "libpq"),
        ("part", "openssl"),
        ("cargo", "arrow-array"),
    } <= contents
    libraries = {Path(name).name for name in names if Path(name).parent.name.endswith(".libs")}
    assert {name for kind, name in contents if kind == "file"} == libraries
    assert any(name.endswith("sboms/headwater.cdx.json") for name in names)
