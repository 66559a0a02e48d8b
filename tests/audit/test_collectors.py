"""Entries reach a syslog server and an OpenTelemetry collector at least once, whatever fails on the way."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.base.egress.client import Egress
from headwater.base.egress.syslog import SyslogError, send_lines
from headwater.base.syslog_server import SyslogServer, read_syslog_server
from headwater.database.pool import Database
from headwater.database.row_security import serving
from headwater.spaces.audit.collectors import RETRY, AuditSender, Collectors, due_spaces
from headwater.spaces.audit.entries import Action, Actor, AuditChange, Way, add_entry
from tests.support.certificates import certify

LATER = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass
class Syslog:
    """A syslog server on loopback."""

    port: int = 0
    data: bytearray = field(default_factory=bytearray)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            self.data += chunk
        writer.close()
        self.closed.set()

    def messages(self) -> list[str]:
        """Return the messages, split by the length in front of each."""
        messages, remainder = [], bytes(self.data)
        while remainder:
            size, _, remainder = remainder.partition(b" ")
            messages.append(remainder[: int(size)].decode())
            remainder = remainder[int(size) :]
        return messages


@asynccontextmanager
async def syslog_server(tls: ssl.SSLContext | None = None) -> AsyncGenerator[Syslog]:
    log = Syslog()
    server = await asyncio.start_server(log.take, "127.0.0.1", 0, ssl=tls)
    log.port = server.sockets[0].getsockname()[1]
    async with server:
        yield log


@dataclass
class Collector:
    """An OpenTelemetry collector on loopback that answers with `statuses`, then with 200, after `wait`."""

    port: int = 0
    wait: Callable[[], Awaitable[None]] | None = None
    statuses: list[int] = field(default_factory=list[int])
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    heads: list[str] = field(default_factory=list[str])

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(head.lower().partition("content-length:")[2].partition("\r\n")[0])
        body = json.loads(await reader.readexactly(size))
        if self.wait is not None:
            await self.wait()
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self.heads.append(head)
            self.records += body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}" % status)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def otlp_collector(*statuses: int) -> AsyncGenerator[Collector]:
    collector = Collector(statuses=list(statuses))
    server = await asyncio.start_server(collector.take, "127.0.0.1", 0)
    collector.port = server.sockets[0].getsockname()[1]
    async with server:
        yield collector


@asynccontextmanager
async def open_database(url: str) -> AsyncGenerator[Database]:
    async with Database(url, 2) as database:
        yield database


@asynccontextmanager
async def open_with_collector(url: str, *statuses: int) -> AsyncGenerator[tuple[Database, Collector, Egress]]:
    async with (
        open_database(url) as database,
        otlp_collector(*statuses) as collector,
        Egress(["127.0.0.1"]) as egress,
    ):
        yield database, collector, egress


async def add_entries(database: Database, space_id: int, count: int) -> None:
    async with database.transaction() as connection:
        for number in range(count):
            action = Action(Actor(way=Way.API, key_id=1), "update_event", space_id)
            await add_entry(connection, action, [AuditChange("event", number)])


def collectors(egress: Egress, *, syslog: int | None = None, otlp: int | None = None) -> Collectors:
    server = None if syslog is None else SyslogServer("127.0.0.1", syslog, is_tls=False)
    url = None if otlp is None else f"http://127.0.0.1:{otlp}/v1/logs"
    return Collectors(egress, server, url, {"authorization": "Bearer token"})


async def send(database: Database, targets: Collectors, space_id: int, moment: datetime) -> None:
    with serving(space_id):
        await AuditSender(database, targets).send_due(space_id, moment)


async def find_due(database: Database, space_id: int, moment: datetime) -> bool:
    async with database.connection() as connection:
        return space_id in await due_spaces.find(connection, moment)


def test_it_works(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with (
            open_database(database_url) as database,
            syslog_server() as log,
            otlp_collector() as collector,
            Egress(["127.0.0.1"]) as egress,
        ):
            await add_entries(database, space_id, 3)
            assert await find_due(database, space_id, LATER)
            targets = collectors(egress, syslog=log.port, otlp=collector.port)
            await send(database, targets, space_id, LATER)
            await log.closed.wait()
            assert not await find_due(database, space_id, LATER)
            entries = [json.loads(message.partition(" - audit - ")[2]) for message in log.messages()]
            assert [entry["changes"] for entry in entries] == [
                [{"kind": "event", "id": number}] for number in range(3)
            ]
            assert all(message.startswith("<110>1 20") for message in log.messages())
            bodies = [json.loads(record["body"]["stringValue"]) for record in collector.records]
            assert bodies == entries
            assert "authorization: bearer token" in collector.heads[0].lower()

    asyncio.run(run())


@pytest.mark.parametrize("status", [500, 429, 301, 400])
def test_a_failure_puts_the_entries_off(database_url: str, space_id: int, status: int) -> None:
    async def run() -> None:
        async with open_with_collector(database_url, status) as (database, collector, egress):
            await add_entries(database, space_id, 2)
            targets = collectors(egress, otlp=collector.port)
            current_time = datetime.now(UTC) + timedelta(seconds=1)
            await send(database, targets, space_id, current_time)
            assert collector.records == []
            assert not await find_due(database, space_id, datetime.now(UTC))
            assert await find_due(database, space_id, datetime.now(UTC) + RETRY)
            await send(database, targets, space_id, datetime.now(UTC) + RETRY)
            assert len(collector.records) == 2

    asyncio.run(run())


def test_no_row_is_locked_while_sending(database_url: str, space_id: int) -> None:
    """No transaction stays open while a slow collector answers; it would time out first."""

    async def run() -> None:
        async with open_with_collector(database_url) as (database, collector, egress):
            await add_entries(database, space_id, 2)
            free: list[int] = []

            async def find_collectors() -> None:
                async with database.transaction() as connection:
                    cursor = await connection.execute(
                        "SELECT id FROM unsent_audit_entries WHERE space_id = %s FOR UPDATE NOWAIT",
                        (space_id,),
                    )
                    free.append(cursor.rowcount)
                assert not await find_due(database, space_id, datetime.now(UTC)), "nobody else sends them"

            collector.wait = find_collectors
            await send(database, collectors(egress, otlp=collector.port), space_id, LATER)
            assert free == [2]
            assert len(collector.records) == 2
            assert not await find_due(database, space_id, LATER)

    asyncio.run(run())


def test_a_sender_that_ends_leaves_its_entries(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with open_with_collector(database_url) as (database, collector, egress):
            await add_entries(database, space_id, 2)
            arrived, never = asyncio.Event(), asyncio.Event()

            async def hang() -> None:
                arrived.set()
                await never.wait()

            collector.wait = hang
            sending = asyncio.create_task(
                send(database, collectors(egress, otlp=collector.port), space_id, LATER)
            )
            await arrived.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            never.set()
            assert not await find_due(database, space_id, datetime.now(UTC))
            assert await find_due(database, space_id, datetime.now(UTC) + RETRY)

    asyncio.run(run())


def test_a_server_that_is_away(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with open_database(database_url) as database, Egress([]) as egress:
            await add_entries(database, space_id, 1)
            await send(database, collectors(egress, syslog=9), space_id, datetime.now(UTC))
            assert await find_due(database, space_id, LATER)

    asyncio.run(run())


def test_many_entries_go_in_batches(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with open_with_collector(database_url) as (database, collector, egress):
            await add_entries(database, space_id, 450)
            await send(database, collectors(egress, otlp=collector.port), space_id, LATER)
            ids = [json.loads(record["body"]["stringValue"])["id"] for record in collector.records]
            assert len(ids) == 450
            assert ids == sorted(ids)
            assert len(collector.heads) == 3

    asyncio.run(run())


def test_an_entry_that_is_rolled_back_is_not_sent(database_url: str, space_id: int) -> None:
    async def run() -> None:
        async with open_database(database_url) as database, database.transaction() as connection:
            action = Action(Actor(way=Way.API), "update_event", space_id)
            await add_entry(connection, action, [AuditChange("event", 1)])
            raise ZeroDivisionError

    async def find_collectors() -> bool:
        async with open_database(database_url) as database:
            return await find_due(database, space_id, LATER)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert not asyncio.run(find_collectors())


def test_tls(tmp_path: Path) -> None:
    """A line is sent over TLS, and never to a server whose certificate names another host or is not trusted.
    The error says which.
    """
    file = certify(tmp_path, "localhost")
    serving_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving_context.load_cert_chain(file)
    trust = ssl.create_default_context(cafile=str(file))

    async def run() -> None:
        async with syslog_server(serving_context) as log:
            lines = [(datetime(2026, 5, 13, 12, tzinfo=UTC), b'{"id":1}')]
            server = SyslogServer("localhost", log.port, is_tls=True)
            await send_lines(server, lines, tls=trust)
            await log.closed.wait()
            (message,) = log.messages()
            assert message.startswith("<110>1 2026-05-13T12:00:00.000000Z ")
            assert message.endswith(' headwater - audit - {"id":1}')
            other_name = SyslogServer("127.0.0.1", log.port, is_tls=True)
            for wrong, context, fault in ((other_name, trust, "mismatch"), (server, None, "self-signed")):
                with pytest.raises(SyslogError, match=f"TLS.*{fault}"):
                    await send_lines(wrong, lines, tls=context)

    asyncio.run(run())


def test_addresses_of_servers() -> None:
    assert read_syslog_server("tls://logs.example") == SyslogServer("logs.example", 6514, is_tls=True)
    assert read_syslog_server("tcp://[::1]:514") == SyslogServer("::1", 514, is_tls=False)


@pytest.mark.parametrize("url", ["udp://logs", "tls://", "tcp://logs/x", "tls://me@logs", "logs:514"])
def test_wrong_servers_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        read_syslog_server(url)
