"""A disk that loses power: an ext4 file system in a file. What a copy of the file holds is what
had reached the disk, as the page cache above it is not in there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.waiting import wait_until

SIZE = 2 * 2**30
"""Mostly holes."""


def why_impossible() -> str | None:
    """Why this machine has no such disks, if so."""
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/dev/loop-control").exists():
        return "needs loop devices"
    missing = [name for name in ("mkfs.ext4", "losetup", "mount") if shutil.which(name) is None]
    return f"needs {missing[0]}" if missing else None


class Disk:
    """A file system of its own, mounted at `folder`."""

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
        """Keep what the disk has at one moment, for `restore_power`. Nothing may write any more but
        the kernel, on its own; if it does during the copy, the moment is another.
        """
        before = None
        while before != self._written():
            before = self._written()
            _run("cp", "--sparse=always", str(self._image), str(self._after))

    def restore_power(self) -> None:
        """Mount what the disk had when power was lost, as the system does at its start."""
        self.remove()
        self._after.replace(self._image)
        self._mount()

    def remove(self) -> None:
        """Take the disk away; nothing may use it any more, but whoever passes by, as what reads
        the sizes of all disks does, may hold it for a moment.
        """
        if self._device is not None:
            wait_until(self._unmounted, what=f"no process uses {self.folder}")
            _run("losetup", "--detach", str(self._device))
            self._device = None

    def _mount(self) -> None:
        self._device = Path(_run("losetup", "--find", "--show", str(self._image)).strip())
        _run("mount", "-t", "ext4", str(self._device), str(self.folder))

    def _unmounted(self) -> bool:
        done = subprocess.run(["umount", str(self.folder)], capture_output=True, check=False)
        return done.returncode == 0

    def _written(self) -> tuple[str, str]:
        """How many writes the disk has completed, and how many are on their way."""
        assert self._device is not None
        figures = Path("/sys/block", self._device.name, "stat").read_text().split()
        return figures[4], figures[8]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
