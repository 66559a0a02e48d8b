"""Several API processes on one socket are replaced one after another, and no request fails."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from headwater.base import listening_socket
from tests.conftest import API
from tests.support.processes import environment, is_ready
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENT = b'{"event_name":"purchase","email":"ada@example.com"}'
ENOUGH = 300
"""Requests between two steps."""


class Senders:
    """Send events, each on its own connection, until stopped."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(4)]
        self.answered: list[int] = []
        self.failures: list[str] = []

    def _send(self) -> None:
        headers = {"Authorization": f"Bearer {self._key}"}
        while not self._stop.is_set():
            client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            try:
                client.request("POST", f"{API}/events/track", EVENT, headers)
                self.answered.append(client.getresponse().status)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            finally:
                client.close()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self) -> None:
        """Wait until ENOUGH more requests were answered."""
        target_count = len(self.answered) + ENOUGH
        wait_until(lambda: len(self.answered) >= target_count or self.failures, 300)


def test_it_fails_no_request(
    database_url: str, space_id: int, make_key: Callable[..., str], tmp_path: Path
) -> None:
    variables = environment(
        HEADWATER_DATABASE_URL=database_url, HEADWATER_RATE_LIMIT_FACTOR="1000",
        HEADWATER_DATA_DIR=str(tmp_path),
    )  # fmt: skip
    with ExitStack() as stack:
        bound: socket.socket = stack.enter_context(listening_socket.bind("127.0.0.1", 0))
        port, descriptor = bound.getsockname()[1], bound.fileno()

        def launch() -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "headwater", "api", "--fd", str(descriptor)]
            process = subprocess.Popen(
                command, env=variables, pass_fds=(descriptor,), stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait, PATIENCE_SECONDS)
            stack.callback(process.terminate)
            return process

        processes = [launch(), launch()]
        wait_until(lambda: is_ready(f"http://127.0.0.1:{port}"), 120)
        with Senders(port, make_key(space_id)) as senders:
            for old in processes:
                senders.wait_for_more()
                old.terminate()
                old.wait(60)
                launch()
            senders.wait_for_more()
    assert senders.failures == []
    assert set(senders.answered) == {202}
