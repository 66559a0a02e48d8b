"""What happens to buffers when the process forks or exits."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import Protocol

EXIT_SECONDS = 5.0
"""How long all buffers together delay the exit of a process that has not closed them."""


class Buffer(Protocol):
    """A buffer with a thread."""

    def before_fork(self) -> None: ...
    def after_fork_in_parent(self) -> None: ...
    def after_fork_in_child(self) -> None: ...
    def close(self, timeout: float) -> bool: ...


_first_process = os.getpid()
_buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
_lock = threading.Lock()
_held: list[Buffer] = []
"""The buffers that are locked while the process forks."""


def register(buffer: Buffer) -> None:
    """Hold the buffer during forks, and close it at exit."""
    with _lock:
        _buffers.add(buffer)


def close_at_end_of_worker() -> None:
    """Close the buffers at the end of a worker of multiprocessing or Celery, which skips atexit."""
    if os.getpid() == _first_process:
        return
    for name in ("multiprocessing.util", "billiard.util"):
        if module := sys.modules.get(name):
            module.Finalize(None, _close_all, exitpriority=0)
    if celery := sys.modules.get("celery.signals"):
        celery.worker_process_shutdown.connect(_close_all, weak=False, dispatch_uid="headwater_client")


def _close_all(**_: object) -> None:
    """Close all buffers within EXIT_SECONDS."""
    end = time.monotonic() + EXIT_SECONDS
    with _lock:
        buffers = list(_buffers)
    for buffer in buffers:
        buffer.close(max(0.0, end - time.monotonic()))


def _before_fork() -> None:
    _lock.acquire()
    _held.extend(_buffers)
    for buffer in _held:
        buffer.before_fork()


def _after_fork_in_parent() -> None:
    for buffer in _held:
        buffer.after_fork_in_parent()
    _held.clear()
    _lock.release()


def _after_fork_in_child() -> None:
    for buffer in _held:
        buffer.after_fork_in_child()
    _held.clear()
    _lock.release()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
