"""A Space with a few honest events and clients of every kind. Hostile events must not cause an error, a
failed job or a different figure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

import httpx
import psycopg

from headwater.alerts.evaluation import AlertWatch
from headwater.alerts.quality.report import check_quality
from headwater.attribution.paths.builder import build_next
from headwater.attribution.trained_models.nightly_runs import AutomaticTrainer, start_automatic_training
from headwater.base.storage import LocalFolder
from headwater.console.scheduled_reports.content import make_notice
from headwater.console.scheduled_reports.scheduled_reports import ScheduledReport
from headwater.database.pool import Database
from headwater.exports.worker import work as work_on_exports
from headwater.http.inputs.timerange import EVER
from headwater.spaces.spaces import fetch_space
from tests.conftest import Running, client_for
from tests.console.browsing import Browser
from tests.hostile.single_events import KNOWN, HostileEvent
from tests.mcp.assistants import connect
from tests.support.accounts import Accounts
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.sites import event, make_site
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhooks import Hook, Hooks

HONEST = "custom_event_7"
"""The name of the honest events. No hostile event has it."""
SENDERS = ("generic", "stripe", "shopify", "woocommerce")


MAIL = ScheduledReport(
    1, "Weekly", "/channels", "period=last+30+days&compare=previous_period", "weekly", [0], time(7),
    True, [], None, datetime(2026, 1, 1, tzinfo=UTC), None, None,
)  # fmt: skip
"""A report that is mailed with its CSV."""


@dataclass
class House:
    """What all Spaces share."""

    server: Running
    console: Running
    url: str
    connection: psycopg.Connection
    accounts: Accounts
    faults: list[str] = field(default_factory=list[str])


class Shop:
    """A Space, from its first event to its last query."""

    def __init__(self, house: House, zone: str = "Europe/Berlin") -> None:
        self.house, self.stack = house, ExitStack()
        self.stage: Stage = make_stage(house.connection)
        self.space_id = self.stage.space_id
        house.connection.execute(
            "UPDATE spaces SET currency = 'EUR', timezone = %s, cost_rate = 40 WHERE id = %s",
            (zone, self.space_id),
        )
        self.api = self.stack.enter_context(client_for(house.server, self.stage.key))
        self.site = make_site(self.stage, house.server.base_url)
        hooks = Hooks(self.stage, house.server, house.url)
        self.hooks: dict[str, Hook] = {name: hooks.make(name) for name in SENDERS[1:]}
        fields = ("email", "amount", "currency", "order_id", "event_time", "trk_source", "url")
        names: dict[str, Any] = {f"map__{name}": name for name in fields}
        self.hooks["generic"] = hooks.make("generic", None, event="purchase", **names)
        self.assistant = self.stack.enter_context(connect(house.server, house.connection, self.space_id))
        user = house.accounts.member(self.space_id)
        self.browser = Browser(house.console.base_url)
        self.stack.callback(self.browser.client.close)
        assert self.browser.log_in(user).status_code == 200
        self.accepted = 0

    def close(self) -> None:
        self.stack.close()

    # --------------------------------------------------------------------------------- input

    def begin(self) -> None:
        """Store the honest events, rates and spend."""
        today = datetime.now(UTC).date()
        rates = [
            {"date": f"{today - timedelta(days=7 * week)}", "base": "EUR", "currency": currency,
             "rate": worth}
            for week in range(60) for currency, worth in KNOWN.items()
        ]  # fmt: skip
        self._send("PUT", "/rates", {"rates": rates})
        rows = [
            {"date": f"{today - timedelta(days=day)}", "platform": "google", "currency": "EUR",
             "amount": 12.5, "campaign_id": "11", "clicks": 3}
            for day in range(40)
        ]  # fmt: skip
        self._send("PUT", "/spend", {"spend": rows})
        events = [
            {"event_name": HONEST, "email": f"honest{number % 4}@shop.example",
             "amount": 10.25 * number, "trk_source": "google", "trk_type": "cpc",
             "trk_campaign": "11", "order_id": f"honest-{number}",
             "event_time": f"{today - timedelta(days=3 * number + 1)}T10:00:00Z"}
            for number in range(10)
        ]  # fmt: skip
        self._send("POST", "/events/batch", {"events": events})
        self.process()

    def _send(self, method: str, path: str, body: dict[str, Any]) -> None:
        answer = self.api.request(method, path, json=body)
        assert answer.status_code < 300, answer.text

    def send(self, events: list[HostileEvent]) -> None:
        """Send events in their own ways. Refused ones aren't stored."""
        batch = [hostile_event.body for hostile_event in events if hostile_event.channel == "batch"]
        if batch:
            answer = self.api.post("/events/batch", json={"events": batch})
            results = answer.json().get("results", ())
            self.accepted += sum(result["status"] == "queued" for result in results)
        for hostile_event in events:
            if hostile_event.channel != "batch":
                answer = self._send_one(hostile_event)
                assert answer.status_code < 500, (answer.status_code, hostile_event)
                self.accepted += answer.status_code in (200, 202, 204)

    def _send_one(self, hostile_event: HostileEvent) -> httpx.Response:
        match hostile_event.channel:
            case "track":
                return self.api.post("/events/track", json=hostile_event.body)
            case "page":
                return self.site.report(event(**hostile_event.body), token=None)
            case _:
                return self.hooks[hostile_event.channel].deliver(json.dumps(hostile_event.body).encode())

    # ---------------------------------------------------------------------------- processing

    def process(self) -> None:
        """Run the background jobs. Raise their errors."""
        Pipeline(self.house.connection, self.space_id).process()
        while build_next(self.house.connection, self.space_id):
            pass

    def jobs(self) -> Iterator[str]:
        """Yield the faults of background jobs."""
        self.process()
        rejections = self.house.connection.execute(
            "SELECT reason, detail FROM rejected WHERE space_id = %s", (self.space_id,)
        ).fetchall()
        yield from (f"rejected: {row}" for row in rejections)
        try:
            self.house.accounts.run(lambda _: self._watch())
        except Exception as error:  # noqa: BLE001 - every error is a finding
            yield f"job: {error!r}"
        yield from self._exports()

    async def _watch(self) -> None:
        async def ignore(*_: object) -> None:
            pass

        async with Database(self.house.url, 2) as database:
            now = datetime.now(UTC)
            async with database.transaction() as connection:
                space = await fetch_space(connection, self.space_id)
                await start_automatic_training(connection, space, "purchase", now - timedelta(days=40))
            for day in (2, 1, 0):
                watch = AlertWatch(database, ignore, at_once=True)
                await watch.look(self.space_id, now - timedelta(days=day))
            await AutomaticTrainer(database).run(self.space_id, now)
            async with database.transaction(PATIENCE_SECONDS) as connection:
                await check_quality(connection, space, EVER)
            async with database.transaction(PATIENCE_SECONDS) as connection:
                await make_notice(connection, space, MAIL, now)

    def _exports(self) -> Iterator[str]:
        """Yield exports that are not completed."""
        first = {"start_date": "2000-01-01 00:00:00", "end_date": "2030-01-01 00:00:00"}
        paths = {"/events/exports": {"fields": ["event_name", "amount", "order_id"]},
                 "/contacts/exports": {}, "/companies/exports": {}}  # fmt: skip
        for path, body in paths.items():
            answer = self.api.post(path, json=first | body)
            if answer.status_code != 202:
                yield f"POST {path}: {answer.status_code} {answer.text[:300]}"
        work_on_exports(
            self.house.connection, LocalFolder(self.house.server.data_dir / "exports"),
            self.house.url,
        )  # fmt: skip
        rows = self.house.connection.execute(
            "SELECT kind, status, error FROM exports WHERE space_id = %s AND status <> 'completed'",
            (self.space_id,),
        ).fetchall()
        yield from (f"export: {row}" for row in rows)
