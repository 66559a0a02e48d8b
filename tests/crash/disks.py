"""A disk that loses power: an ext4 file system in a file. A copy of the file contains what had reached the
disk, because the page cache is not in the file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.waiting import wait_until

SIZE = 2 * 2**30
"""Mostly holes."""


def missing_ability() -> str | None:
    """Return why this machine can't have such disks, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/dev/loop-control").exists():
        return "needs loop devices"
    missing_programs = [name for name in ("mkfs.ext4", "losetup", "mount") if shutil.which(name) is None]
    return f"needs {missing_programs[0]}" if missing_programs else None


class Disk:
    """A separate file system, mounted at `folder`."""

    def __init__(self, directory: Path) -> None:
        self.folder = directory / "disk"
        self._image = directory / "disk.image"
        self._after = directory / "disk.after"
        self._device: Path | None = None
        self.folder.mkdir()
        with self._image.open("wb") as image:
            image.truncate(SIZE)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self._mount()

    def lose_power(self) -> None:
        """Keep the disk's contents at one moment, for `restore_power`. Processes must have stopped writing.
        The kernel may still write, so the copy is repeated until no write happened during it.
        """
        before = None
        while before != self._count_writes():
            before = self._count_writes()
            _run("cp", "--sparse=always", str(self._image), str(self._after))

    def restore_power(self) -> None:
        """Mount the disk's contents from the power cut, as the system does at its start."""
        self.remove()
        self._after.replace(self._image)
        self._mount()

    def remove(self) -> None:
        """Unmount and detach the disk. No process may use it, but one that reads the sizes of all disks may
        hold it briefly.
        """
        if self._device is not None:
            wait_until(self._unmount, description=f"no process uses {self.folder}")
            _run("losetup", "--detach", str(self._device))
            self._device = None

    def _mount(self) -> None:
        self._device = Path(_run("losetup", "--find", "--show", str(self._image)).strip())
        _run("mount", "-t", "ext4", str(self._device), str(self.folder))

    def _unmount(self) -> bool:
        result = subprocess.run(["umount", str(self.folder)], capture_output=True, check=False)
        return result.returncode == 0

    def _count_writes(self) -> tuple[str, str]:
        """Return how many writes the disk has completed, and how many are in progress."""
        assert self._device is not None
        figures = Path("/sys/block", self._device.name, "stat").read_text().split()
        return figures[4], figures[8]


def _run(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout
