"""A model of a file system after a power cut: it keeps synced data, and the earlier state of everything else.
A directory's state includes the names in it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Disk:
    """Records what is synced, and finds unsynced files at each rename and on request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._synced: dict[int, tuple[int, int]] = {}
        self.renamed: list[Path] = []
        self.unsynced: list[Path] = []
        """Files that were renamed to their final name before they were on disk."""
        self._replace(monkeypatch, os, "fsync", self._record_fsync)
        self._replace(monkeypatch, subprocess, "run", self._record_program)
        for name in ("rename", "replace"):
            self._replace(monkeypatch, Path, name, on_call=self._record_rename)

    def lost_paths(self, *paths: Path) -> list[Path]:
        """Return the paths, including everything below them, that a power cut would lose."""
        all_entries = [entry for path in paths for entry in (path, *path.rglob("*"))]
        return [entry for entry in all_entries if self._synced.get(_inode(entry)) != _state(entry)]

    def sync(self, folder: Path) -> None:
        """Treat everything in the folder as synced."""
        for entry in (folder, *folder.rglob("*")):
            self._synced[_inode(entry)] = _state(entry)

    def _record_fsync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        self._synced[status.st_ino] = (status.st_mtime_ns, status.st_size)

    def _record_program(self, command: list[str], **_: Any) -> None:
        """Count everything that initdb makes as synced: it syncs its files itself."""
        if any(word.endswith("/initdb") for word in command):
            self.sync(Path(command[command.index("-D") + 1]))

    def _record_rename(self, source: Path, target: Path) -> None:
        self.renamed.append(Path(target))
        self.unsynced += self.lost_paths(source)

    @staticmethod
    def _replace(
        monkeypatch: pytest.MonkeyPatch,
        owner: Any,
        name: str,
        on_return: Callable[..., None] | None = None,
        on_call: Callable[..., None] | None = None,
    ) -> None:
        real = getattr(owner, name)

        def call_with_hooks(*arguments: Any, **options: Any) -> Any:
            if on_call is not None:
                on_call(*arguments, **options)
            result = real(*arguments, **options)
            if on_return is not None:
                on_return(*arguments, **options)
            return result

        monkeypatch.setattr(owner, name, call_with_hooks)


def _inode(path: Path) -> int:
    return path.lstat().st_ino


def _state(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_mtime_ns, status.st_size
