"""Send entries of the audit log to the operator's collectors: a syslog server, an OpenTelemetry collector, or
both.

    entry added, with a row in unsent_audit_entries ──▶ sent to each collector ──▶ row deleted

A failure puts the Space's entries off; then each collector gets them again. So an entry arrives at least
once, and its `id` tells which ones arrived twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import structlog
from msgspec import Struct

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest
from headwater.base.egress.syslog import SyslogError, send_lines
from headwater.base.syslog_server import SyslogServer
from headwater.base.telemetry.counters import make_counter
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all
from headwater.spaces.audit.entries import AuditEntry, AuditSearch, encode_entry, list_entries

queries = Queries(__name__, "collectors.sql")
due_spaces = DueSpaces(queries["due"])

BATCH = 200
RETRY = timedelta(seconds=30)
"""Longer than both collectors together may take."""
_INFO = 9
"""The severity of a record, in OpenTelemetry's numbers."""

log = structlog.get_logger()
sent_entries = make_counter(
    "headwater_audit_entries", "Entries sent to collectors of the audit log", outcome=("sent", "failed")
)


class CollectorError(Exception):
    """A collector did not take the entries. The text is safe for logs."""


class Collectors(Struct, frozen=True):
    """Where entries are sent."""

    egress: Egress
    syslog: SyslogServer | None
    otlp_url: str | None
    otlp_headers: dict[str, str]

    async def send(self, entries: Sequence[AuditEntry]) -> None:
        """Raise CollectorError if one of them did not take all entries."""
        if self.syslog is not None:
            try:
                await send_lines(self.syslog, [(entry.occurred_at, encode_entry(entry)) for entry in entries])
            except SyslogError as error:
                raise CollectorError(str(error)) from None
        if self.otlp_url is not None:
            await self._send_records(self.otlp_url, entries)

    async def _send_records(self, url: str, entries: Sequence[AuditEntry]) -> None:
        body = msgspec.json.encode(make_records(entries))
        try:
            answer = await self.egress.send(EgressRequest(url=url, body=body, headers=self.otlp_headers))
        except EgressError as error:
            raise CollectorError(str(error)) from None
        if answer.status != 200:
            raise CollectorError(f"The OpenTelemetry collector answered with status {answer.status}.")


class AuditSender:
    def __init__(self, database: Database, collectors: Collectors) -> None:
        self._database, self._collectors = database, collectors

    async def send_due(self, space_id: int, current_time: datetime) -> None:
        """Send a Space's entries in batches until none is due, or a collector fails."""
        while await self._send_batch(space_id, current_time):
            pass

    async def _send_batch(self, space_id: int, current_time: datetime) -> bool:
        """Return whether more may be due. No transaction is open while sending."""
        entries = await self._claim(space_id, current_time)
        try:
            await self._collectors.send(entries)
        except CollectorError as error:
            log.warning("audit_not_sent", space_id=space_id, reason=str(error))
            sent_entries.labels("failed").inc(len(entries))
            await self._execute("put_off", {"space_id": space_id, "due_at": datetime.now(UTC) + RETRY})
            return False
        await self._execute("sent", {"space_id": space_id, "ids": [entry.id for entry in entries]})
        sent_entries.labels("sent").inc(len(entries))
        return len(entries) == BATCH

    async def _claim(self, space_id: int, current_time: datetime) -> list[AuditEntry]:
        """Return the oldest due entries, and keep other senders from them until RETRY has passed."""
        due_at = datetime.now(UTC) + RETRY
        values = {"space_id": space_id, "now": current_time, "limit": BATCH, "due_at": due_at}
        async with self._database.transaction() as connection:
            ids = [row_id for (row_id,) in await fetch_all(connection, queries["claim"], values)]
            newest_first = await list_entries(connection, space_id, AuditSearch(ids=ids), BATCH)
        return newest_first[::-1]

    async def _execute(self, statement: str, values: dict[str, object]) -> None:
        async with self._database.connection() as connection:
            await connection.execute(queries[statement], values)


def make_records(entries: Sequence[AuditEntry]) -> dict[str, object]:
    """Return the body of an OTLP/HTTP request in JSON, with a log record for each entry."""
    records = [
        {
            "timeUnixNano": str(int(entry.occurred_at.timestamp() * 1_000_000) * 1000),
            "severityNumber": _INFO,
            "severityText": "INFO",
            "eventName": "headwater.audit",
            "body": {"stringValue": encode_entry(entry).decode()},
            "attributes": [
                {"key": "headwater.audit.id", "value": {"intValue": str(entry.id)}},
                {"key": "headwater.space_id", "value": {"intValue": str(entry.space_id)}},
                {"key": "headwater.audit.way", "value": {"stringValue": entry.way}},
                {"key": "headwater.audit.action", "value": {"stringValue": entry.action}},
            ],
        }
        for entry in entries
    ]
    service = {"key": "service.name", "value": {"stringValue": "headwater"}}
    scope = {"scope": {"name": "headwater.audit"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [scope]}]}
