"""Local files, below the folder of their Space in the one that the operator chose. Symbolic links are never
followed.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a named pipe would block


class NotARegularFileError(OSError):
    """The path has a symbolic link, or names something other than a file."""


def read_local_file(folder: Path, space_id: int, path: str, most_bytes: int) -> bytes:
    """Return at most `most_bytes` + 1 bytes. Raises OSError."""
    *parents, name = path.split("/")
    with ExitStack() as open_files:
        current = _open(str(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, None, open_files)
        for folder_name in (str(space_id), *parents):
            current = _open(folder_name, _FOLDER, current, open_files)
        file = _open(name, _FILE, current, open_files)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotARegularFileError(errno.EINVAL, "not a file")
        with os.fdopen(os.dup(file), "rb") as content:
            return content.read(most_bytes + 1)


def _open(name: str, flags: int, parent: int | None, opened: ExitStack) -> int:
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise NotARegularFileError(error.errno, "a symbolic link") from None
        raise
    opened.callback(os.close, descriptor)
    return descriptor
