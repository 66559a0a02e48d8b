"""Clients for work that takes longer than a request: exports, imports, forwarding."""

from __future__ import annotations

import gzip
import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from headwater.exports.jobs import EXHAUSTED
from headwater.privacy.scrub import WITHDRAWN
from tests.crash.capabilities import RETRY_SECONDS, Client
from tests.crash.load import API, Account
from tests.crash.service import Service
from tests.support.fake_platform import FakePlatform
from tests.support.waiting import PATIENCE_SECONDS, wait_until

ROWS_OF_A_FILE = 40
ENDED = ("completed", "failed")
FAIR_REASONS = (WITHDRAWN, EXHAUSTED)
"""Acceptable reasons for a failed export: it contained an erased person, or its process was killed at every
try.
"""


class Exports(Client):
    """A user who exports the contacts again and again."""

    def act(self, number: int) -> None:
        if number % 10 == 0 and self._has_ended():
            span = {"start_date": "2020-01-01 00:00:00", "end_date": "2099-01-01 00:00:00"}
            answer = self.ask("POST", f"{API}/contacts/exports", span)
            if answer is not None:
                self.acknowledged_marks.append(str(answer["export_id"]))

    def _has_ended(self) -> bool:
        """Return whether the last export has ended."""
        if not self.acknowledged_marks:
            return True
        last = self.ask("GET", f"{API}/contacts/exports/{self.acknowledged_marks[-1]}")
        return last is None or last["status"] in ENDED

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        faults: list[str] = []
        for export_id in self.acknowledged_marks:
            path, export = f"{API}/contacts/exports/{export_id}", dict[str, Any]()
            deadline = time.monotonic() + 2 * PATIENCE_SECONDS
            while export.get("status") not in ENDED:
                if time.monotonic() > deadline:
                    break
                export = self.ask("GET", path) or {}
                time.sleep(RETRY_SECONDS)
            if export.get("message") in FAIR_REASONS:
                continue
            if export.get("status") != "completed":
                faults.append(f"export {export_id}: {export}")
                continue
            link = urlsplit(export["download_url"])
            lines = gzip.decompress(self.ask("GET", f"{link.path}?{link.query}")).splitlines()
            rows = connection.execute(
                "SELECT rows_done FROM exports WHERE space_id = %s AND id = %s",
                (self.account.space_id, export_id),
            ).fetchone()
            if rows is None or len([json.loads(line) for line in lines]) != rows[0]:
                faults.append(f"export {export_id}: {len(lines)} lines, {rows} rows")
        return faults


class Imports(Client):
    """An operator who imports files, and repeats the command until it succeeds."""

    def act(self, number: int) -> None:
        if number % 20:
            return
        keys = [f"{self.mark(number)}-{row}" for row in range(ROWS_OF_A_FILE)]
        file = Path(self.service.data_dir).parent / f"{self.mark(number)}.ndjson"
        rows = (
            {"event_name": "purchase", "email": f"{key}@file.example", "idempotency_key": key,
             "event_time": "2026-11-01T12:00:00Z", "amount": 1} for key in keys
        )  # fmt: skip
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        space = str(self.account.space_id)
        deadline = time.monotonic() + 4 * PATIENCE_SECONDS
        reason = "it never ended"
        while time.monotonic() < deadline:
            try:
                result = self.service.command("import", "events", "--space", space, str(file))
            except subprocess.TimeoutExpired:
                continue
            if result.returncode == 0:
                self.acknowledged_marks += keys
                return
            reason = result.stderr
            self.repeated += 1
            time.sleep(RETRY_SECONDS)
        self.surprises.append(f"{file.name}: {reason}")

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        return self.count_faults(connection, self.acknowledged_marks)


class Forwarding(Client):
    """A client without requests: it checks that the other clients' events reach the platform."""

    def __init__(self, service: Service, account: Account, seed: str, meta: FakePlatform) -> None:
        super().__init__(service, account, seed)
        self._meta = meta

    def act(self, number: int) -> None:
        del number

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        """Return events without exactly one delivery, and delivered events that did not arrive under one
        id.
        """
        space = (self.account.space_id,)
        wait_until(lambda: connection.execute(
            "SELECT count(*) FROM deliveries WHERE space_id = %s"
            " AND status IN ('queued', 'retrying')", space
        ).fetchone() == (0,), 4 * PATIENCE_SECONDS)  # fmt: skip
        miscounts = connection.execute(
            "SELECT e.idempotency_key, count(d.id) FROM events e LEFT JOIN deliveries d"
            " ON d.space_id = e.space_id AND d.event_id = e.id WHERE e.space_id = %s"
            " GROUP BY e.id, e.idempotency_key HAVING count(d.id) <> 1", space,
        ).fetchall()  # fmt: skip
        arrivals = Counter(event["event_id"] for body in self._meta.bodies for event in body["data"])
        delivered_keys = [
            key for (key,) in connection.execute(
                "SELECT e.idempotency_key FROM events e JOIN deliveries d"
                " ON d.space_id = e.space_id AND d.event_id = e.id"
                " WHERE e.space_id = %s AND d.status = 'delivered'", space,
            )
        ]  # fmt: skip
        self.acknowledged_marks = delivered_keys
        self.repeated = sum(count - 1 for count in arrivals.values())
        return [f"{key}: {count} deliveries" for key, count in miscounts] + [
            f"{key}: never arrived" for key in delivered_keys if not arrivals[key]
        ]
