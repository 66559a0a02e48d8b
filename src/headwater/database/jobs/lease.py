"""Leases: a row names the process working on it, by a token and an expiry.

After a kill the lease expires and another process takes the row. A slow process finds another token and may
not write its results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import Connection

from headwater.database.outage_log import OutageLog

LEASE = timedelta(seconds=30)
"""The duration of a lease between renewals."""
RENEW_SECONDS = 2.0


class LeaseLostError(Exception):
    """Another process has leased the row."""


class LeaseRenewal:
    """Renews a lease while the block runs, in a thread with its own connection, because the working one may
    wait longer than a lease lasts.
    """

    def __init__(self, url: str, renew: Callable[[Connection[Any]], bool]) -> None:
        self._url = url
        self._renew = renew
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def check(self) -> None:
        if self._lost.is_set():
            raise LeaseLostError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        outage = OutageLog("lease")
        while not self._ended.wait(RENEW_SECONDS):
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    while self._renew(connection):
                        outage.end()
                        if self._ended.wait(RENEW_SECONDS):
                            return
                    self._lost.set()
                    return
            except psycopg.OperationalError as error:
                outage.fail(error)
