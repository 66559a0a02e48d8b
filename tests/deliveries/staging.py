"""A small platform, with destinations and deliveries stored by SQL."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import psycopg
from msgspec import Meta

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.database.pool import Database
from headwater.forwarding.deliveries import delivery_loop, verdicts
from headwater.forwarding.deliveries.changes import remove_destination
from headwater.forwarding.deliveries.delivery_loop import DeliveryServices
from headwater.forwarding.deliveries.forwarder import Forwarder
from headwater.forwarding.destinations.credentials import seal_secrets
from headwater.forwarding.destinations.destinations import make_token_keeper
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Conversion,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
    SkipReason,
    Verdict,
)
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.platform_client import PlatformClient
from headwater.http.inputs.account_kinds import AccountSettings
from tests.support import factories
from tests.support.forks import run_copy
from tests.support.waiting import PATIENCE_SECONDS

KEY = b"k" * 32
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Options(AccountSettings, frozen=True):
    """The settings of the small platform."""

    pixel: Annotated[str, Meta(description="The pixel's id.")] = "1"


class SmallPlatform(Platform):
    """A platform that matches by e-mail address and has its own error format."""

    name = "meta"
    title = "Test"
    url = "https://platform.example"
    sources = frozenset({"facebook_ads"})
    settings = Options
    secrets = {"token": "A token."}
    limits = Limits(batch=100, age=7 * DAY)
    event_names = {"purchase": "Purchase", "lead_generated": "Lead"}

    def skip_reason(self, conversion: Conversion, _: Destination) -> SkipReason | None:
        return None if conversion.person.email else SkipReason.NO_IDENTIFIER

    def build(self, conversion: Conversion, _: Destination) -> dict[str, Any]:
        if conversion.order_id == "explodes":
            raise ValueError("a fault of the platform's code")
        click = conversion.click.ids.get("fbclid") if conversion.click else None
        return {
            "id": conversion.dedup_id,
            "email": conversion.person.email,
            "click": click,
            "amount": None if conversion.amount is None else str(conversion.amount),
        }

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        token = destination.access_token or destination.secrets.get("token", "")
        return EgressRequest(
            url=f"{destination.url}/events",
            body=msgspec.json.encode({"data": list(parts)}),
            headers={"Token": token},
        )

    def classify(self, answer: EgressResponse, _: int) -> Verdict:
        """Read the body before the status."""
        try:
            body = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            body = {}
        error = body.get("error", f"status {answer.status}")
        if "bad" in body:
            return PartlyAccepted(
                {int(index): error for index in body["bad"]},
                body.get("taken", False),
                {int(index): error for index in body.get("again", [])},
            )
        if body.get("some_bad"):
            return Bisect(error)
        if "error" in body and answer.status < 300:
            return CallRefused(error)
        if answer.status in (401, 403):
            return CredentialsRefused(error)
        if answer.status == 429 or answer.status >= 500:
            return CallDeferred(error, body.get("after"))
        return CallAccepted() if answer.status < 300 else CallRefused(error)

    def redact(self, part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name != "email"}


PLATFORM = SmallPlatform()


@dataclass
class Clock:
    """A clock that only moves when a test moves it. It starts one second in the future."""

    time: float = field(default_factory=lambda: datetime.now(UTC).timestamp() + 1)

    def __call__(self) -> float:
        return self.time


@dataclass
class Sending:
    """A Space whose events go to platforms. Due deliveries of every Space in the test database are sent, so a
    test must leave only the deliveries it needs.
    """

    rows: factories.Stage
    database_url: str
    clock: Clock = field(default_factory=Clock)
    platform: Platform = PLATFORM
    urls: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 5.0
    random: Callable[[], float] = lambda: 0.0
    key: bytes = KEY
    """The key that encrypts secrets."""

    @property
    def connection(self) -> psycopg.Connection:
        return self.rows.connection

    @property
    def space_id(self) -> int:
        return self.rows.space_id

    def destination(self, **columns: Any) -> int:
        """Store a destination with its secrets."""
        values = {"platform": self.platform.name, "name": "Test", "all_events": True, **columns}
        number = self.rows._insert("destinations", values)
        self.replace_secrets(number, f"geheim-{number}")
        return number

    def replace_secrets(self, destination: int, text: str) -> None:
        secrets = dict.fromkeys(self.platform.secrets, text)
        sealed_secrets = seal_secrets(self.key, self.space_id, destination, secrets)
        self.connection.execute(
            "UPDATE destinations SET secrets = %s, secrets_version = secrets_version + 1"
            " WHERE space_id = %s AND id = %s",
            (sealed_secrets, self.space_id, destination),
        )

    def remove_destination(self, destination: int) -> None:
        """Remove it as the API does."""

        async def remove() -> None:
            async with await psycopg.AsyncConnection.connect(self.database_url) as connection:
                await remove_destination(connection, self.space_id, destination)

        asyncio.run(remove())

    def event(self, email: str | None = None, **columns: Any) -> int:
        """Store an event from a minute ago, by a new contact with this e-mail address."""
        contact = self.rows.contact(email=email or f"a{self._number()}@example.com")
        defaults = {"event_time": self.moment(-60), "user_agent": "UA",
                    "event_url": "https://shop.example/thanks", "amount": 5}  # fmt: skip
        return self.rows.event(contact, **{**defaults, **columns})

    def delivery(self, destination: int, event: int | None = None, **columns: Any) -> int:
        """Store a queued delivery that is due now, of a new event by default."""
        event = self.event() if event is None else event
        defaults = {"destination_id": destination, "event_id": event, "dedup_id": f"id-{event}",
                    "due_at": self.moment(), "queued_at": self.moment()}  # fmt: skip
        return self.rows._insert("deliveries", {**defaults, **columns})

    def deliveries(self, destination: int, number: int) -> list[int]:
        return [self.delivery(destination) for _ in range(number)]

    def moment(self, seconds: float = 0) -> datetime:
        """Return the time this many seconds after the clock's time."""
        return datetime.fromtimestamp(self.clock.time + seconds, UTC)

    def run(self, times: int = 1, interval: float = 0) -> None:
        """Send everything due, `times` times, advancing the clock by `interval` seconds in between."""

        async def drain() -> None:
            async with asyncio.timeout(PATIENCE_SECONDS), self.open_forwarder() as forwarder:
                await forwarder.drain()
                for _ in range(times - 1):
                    self.advance(interval)
                    await forwarder.drain()

        asyncio.run(drain())

    def run_until_killed(self, failpoint: int) -> None:
        """Send in a process that is killed at the failpoint with this number, if it gets there. Then expire
        its leases.
        """
        run_copy(lambda: _die_at(failpoint), self.run)
        self.connection.execute(
            "UPDATE destinations SET leased_until = now() - interval '1 second'"
            " WHERE space_id = %s AND leased_until IS NOT NULL", (self.space_id,),
        )  # fmt: skip

    def open_forwarder(self, stopping: asyncio.Event | None = None) -> OpenForwarder:
        return OpenForwarder(self, stopping)

    def advance(self, seconds: float) -> None:
        self.clock.time += seconds

    def read_delivery(self, delivery: int, *columns: str) -> Any:
        """Return a delivery's columns: a tuple, or the value of a single column."""
        names = ", ".join(columns)
        row = self.connection.execute(
            f"SELECT {names} FROM deliveries WHERE space_id = %s AND id = %s", (self.space_id, delivery)
        ).fetchone()
        assert row is not None
        return row[0] if len(columns) == 1 else row

    def statuses(self, destination: int) -> dict[str, int]:
        """Count the destination's deliveries by status."""
        return dict(
            self.connection.execute(
                "SELECT status, count(*) FROM deliveries WHERE space_id = %s"
                " AND destination_id = %s GROUP BY status",
                (self.space_id, destination),
            ).fetchall()
        )

    def state(self, destination: int, *columns: str) -> Any:
        names = ", ".join(columns)
        row = self.connection.execute(
            f"SELECT {names} FROM destinations WHERE space_id = %s AND id = %s", (self.space_id, destination)
        ).fetchone()
        assert row is not None
        return row[0] if len(columns) == 1 else row

    def seconds_to_wait(self, destination: int) -> float:
        """Return the seconds until the destination's next call, by the test clock."""
        until: datetime = self.state(destination, "wait_until")
        return until.timestamp() - self.clock.time

    def attempts(self, delivery: int) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            "SELECT outcome, http_status, error FROM delivery_attempts WHERE space_id = %s"
            " AND delivery_id = %s ORDER BY id",
            (self.space_id, delivery),
        ).fetchall()

    def _number(self) -> int:
        row = self.connection.execute("SELECT nextval('receipt_ids')").fetchone()
        assert row is not None
        return row[0]


def _die_at(number: int) -> None:
    """Kill this process at the failpoint with this number."""
    counter = itertools.count()

    def failpoint(_: str) -> None:
        if next(counter) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    delivery_loop.failpoint = verdicts.failpoint = failpoint


class OpenForwarder:
    """A context manager that opens a forwarder and its connections."""

    def __init__(self, sending: Sending, stopping: asyncio.Event | None) -> None:
        self._sending, self._stopping = sending, stopping

    async def __aenter__(self) -> Forwarder:
        sending = self._sending
        self._database = Database(sending.database_url)
        await self._database.__aenter__()
        self._egress = Egress(["127.0.0.1"], seconds=sending.seconds)
        keep_token = make_token_keeper(self._database.transaction, sending.key)
        client = PlatformClient(self._egress, keep_token)
        tools = DeliveryServices(
            self._database, client, {sending.platform.name: sending.platform},
            sending.urls, sending.key, sending.clock, sending.random,
        )  # fmt: skip
        return Forwarder(tools, self._stopping or asyncio.Event())

    async def __aexit__(self, *_: object) -> None:
        await self._egress.close()
        await self._database.__aexit__()


def ids_sent(bodies: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the event ids of each call."""
    return [[item["id"] for item in body["data"]] for body in bodies]
