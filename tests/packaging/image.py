"""The image, unpacked like a container runtime does, and its containers under runc: under a separate account,
without capabilities, on a read-only root file system.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from scripts.oci_layout import make_digest

from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

image_test = pytest.mark.skipif(
    os.environ.get("HEADWATER_TEST_IMAGE") != "required",
    reason="builds the image and runs it with runc, as root; HEADWATER_TEST_IMAGE=required",
)
UNIT = ROOT / "deploy" / "systemd" / "headwater.service"
SECCOMP = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
NAMESPACES = ("pid", "ipc", "uts", "mount")


@dataclass(frozen=True)
class Image:
    """An image: its configuration, and its layers."""

    config: dict[str, Any]
    layers: list[bytes]

    def entries(self) -> list[tarfile.TarInfo]:
        """Return every entry, with its mode and owner."""
        entries: list[tarfile.TarInfo] = []
        for layer in self.layers:
            with tarfile.open(fileobj=BytesIO(layer)) as tar:
                entries += tar.getmembers()
        return entries

    def unpack(self, root: Path) -> None:
        """Write the root file system."""
        for layer in self.layers:
            with tarfile.open(fileobj=BytesIO(layer)) as tar:
                tar.extractall(root, filter="fully_trusted")


def read_image(archive: Path) -> Image:
    """Read an image archive and check the digests of its blobs."""
    with tarfile.open(archive) as tar:

        def blob(digest: str) -> bytes:
            file = tar.extractfile(f"blobs/{digest.replace(':', '/')}")
            assert file is not None
            content = file.read()
            assert make_digest(content) == digest
            return content

        index_file = tar.extractfile("index.json")
        assert index_file is not None
        index = json.load(index_file)
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        config = json.loads(blob(manifest["config"]["digest"]))
        return Image(config["config"], [blob(layer["digest"]) for layer in manifest["layers"]])


def system_calls(group: str) -> set[str]:
    """Return the system calls in one of systemd's groups, including nested groups."""
    output = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", group],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = [line.strip() for line in output.splitlines() if line.startswith("    ")]
    names = {line for line in lines if line and not line.startswith(("#", "@"))}
    return names.union(*(system_calls(line) for line in lines if line.startswith("@")))


def read_filters(unit: Path) -> dict[str, Any]:
    """Return a systemd unit's filters for runc: system calls, and memory that is both writable and
    executable.
    """
    text = unit.read_text()
    lists = re.findall(r"^SystemCallFilter=(~?)(.*)$", text, re.MULTILINE)
    allowed_calls: set[str] = set()
    for is_denied, groups in lists:
        calls = set[str]().union(*map(system_calls, groups.split()))
        allowed_calls = allowed_calls - calls if is_denied else allowed_calls | calls
    assert "MemoryDenyWriteExecute=yes" in text
    write, execute = 2, 4

    def mask_condition(bits: int, *, is_set: bool) -> list[dict[str, Any]]:
        value = bits if is_set else 0
        return [{"index": 2, "value": bits, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}]

    allow = "SCMP_ACT_ALLOW"
    protection_calls = {"mprotect", "pkey_mprotect"}
    return {
        "defaultAction": "SCMP_ACT_ERRNO", "architectures": [SECCOMP[platform.machine()]],
        "syscalls": [
            {"names": sorted(allowed_calls - protection_calls - {"mmap"}), "action": allow},
            {"names": sorted(protection_calls), "action": allow,
             "args": mask_condition(execute, is_set=False)},
            {"names": ["mmap"], "action": allow, "args": mask_condition(write, is_set=False)},
            {"names": ["mmap"], "action": allow, "args": mask_condition(execute, is_set=False)},
        ],
    }  # fmt: skip


def container_spec(image: Image, root: Path, data: Path, arguments: list[str]) -> dict[str, Any]:
    """Return runc's configuration. `data` is mounted at the image's volume. Only it, a temporary directory
    and shared memory are writable. The filters of the systemd unit apply here, too.
    """
    account = int(image.config["User"].split(":")[0])
    memory = {"type": "tmpfs", "source": "tmpfs"}
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(root), "readonly": True},
        "process": {
            "user": {"uid": account, "gid": account},
            "args": arguments, "env": image.config["Env"], "cwd": image.config["WorkingDir"],
            "noNewPrivileges": True,
            "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted")},
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            memory | {"destination": "/dev", "options": ["nosuid", "mode=755"]},
            memory | {"destination": "/dev/shm", "options": ["nosuid", "nodev", "mode=1777"]},
            memory | {"destination": "/tmp", "options": ["nosuid", "nodev", "mode=1777"]},
            {"destination": "/data", "type": "bind", "source": str(data), "options": ["bind"]},
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in NAMESPACES],
            "seccomp": read_filters(UNIT),
        },
    }  # fmt: skip


class Container:
    """A container of the image, with the machine's network."""

    def __init__(self, image: Image, folder: Path, name: str) -> None:
        self.image, self.bundle, self.name = image, folder / name, name
        self.root, self.data, self.state = folder / "rootfs", folder / "data", folder / "state"
        self.bundle.mkdir()
        if not self.data.exists():
            self.data.mkdir(mode=0o700)
            account = int(image.config["User"].split(":")[0])
            os.chown(self.data, account, account)

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Run the image with additional arguments, and return the process that prints the output."""
        command = [*self.image.config["Entrypoint"], *arguments]
        spec = container_spec(self.image, self.root, self.data, command)
        spec["process"]["env"] = [
            *spec["process"]["env"], *(f"{name}={value}" for name, value in variables.items()),
        ]  # fmt: skip
        (self.bundle / "config.json").write_text(json.dumps(spec))
        with (self.bundle / "log").open("ab") as log:
            return subprocess.Popen(
                [*self._runc(), "run", "--bundle", str(self.bundle), self.name],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the running container."""
        environment = [word for value in self.image.config["Env"] for word in ("--env", value)]
        account = self.image.config["User"]
        return subprocess.run(
            [*self._runc(), "exec", *environment, "--user", account, self.name, *command],
            capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the container's first process."""
        subprocess.run([*self._runc(), "kill", self.name, number.name], check=True)

    def remove(self) -> None:
        """Remove the container in any state."""
        subprocess.run([*self._runc(), "delete", "--force", self.name], capture_output=True, check=False)

    def _runc(self) -> list[str]:
        program = shutil.which("runc")
        assert program is not None, "runc is not installed"
        return [program, "--root", str(self.state)]
