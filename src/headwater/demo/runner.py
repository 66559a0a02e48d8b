"""`headwater demo`: runs `headwater serve`, sends it the sample journeys, reports, and stays."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from headwater.api.operations import RATE_LIMITS
from headwater.attribution.trained_models.nightly_runs import PURCHASE, start_automatic_training
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.demo import afterthoughts, connections, money
from headwater.demo.client import ApiClient
from headwater.demo.connections import connect_platforms, create_shop_webhook, deliver_orders, write_notes
from headwater.demo.incidents import begin_alerts, find_alerts, visits_seen
from headwater.demo.journeys import DAYS, Journeys, journeys
from headwater.demo.phone_orders import import_orders, write_file
from headwater.demo.pretend_platforms import PretendPlatforms
from headwater.demo.report import WINDOW_DAYS, make_report, render
from headwater.demo.sample_model import train_sample_model
from headwater.demo.shops import SHOPS, Shop
from headwater.demo.site_test import begin_test, walk_through
from headwater.demo.visits import TrackerClient, make_hits, passers_by, store_hits, walk_ins
from headwater.intake.inbox.queue import wait_until_processed
from headwater.operations.terminal.connection import autocommit_connection, transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.output import print_text
from headwater.operations.terminal.tables import align
from headwater.spaces import keys, spaces
from headwater.spaces.accounts.members import add_member, fetch_member
from headwater.spaces.accounts.passwords import Passwords
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import change_password, create_user, find_user
from headwater.spaces.currencies import write_amount
from headwater.spaces.models import Space
from headwater.spaces.settings_input import read_changes
from headwater.spaces.sites import sites
from headwater.spaces.sites.sites import Site

T = TypeVar("T")

BATCH = 500
PAGE_VIEWS_AT_ONCE = 5_000
SINGLY = 50
PROCESS_SECONDS = 300.0
RECENT = timedelta(days=7)
"""Events up to this age are forwarded, as if the platforms had been connected then."""
LOGIN = "demo@example.com"
_READ = {"/changes/since": "/reports", "/campaigns/changes": "/reports/spend"}


class SampleSpace(Struct, frozen=True):
    """A sample Space with its site and an API key."""

    shop: Shop
    space: Space
    site: Site
    key: str


class ServiceProcess:
    """`headwater serve` as a child process that ends with its parent."""

    def __init__(self, options: list[str], variables: dict[str, str]) -> None:
        command = [sys.executable, "-P", "-m", "headwater", "serve", "--leash"]
        command += ["--no-welcome", *options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
        )

    def base_url(self) -> str:
        """Wait until it serves. Raises Failure."""
        assert self._process.stdout is not None
        word, _, url = self._process.stdout.readline().strip().partition(" ")
        if word != "ready":
            raise Failure("the service did not start")
        return url

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait()

    def wait(self) -> int:
        return self._process.wait()


def demonstrate(settings: Settings, options: list[str]) -> int:
    """Serve with `options`, send the samples, report, and keep serving."""
    with PretendPlatforms() as platforms:
        return _demonstrate(settings, ServiceProcess(options, platforms.environment()))


def _demonstrate(settings: Settings, server: ServiceProcess) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        base_url = server.base_url()
        samples = [asyncio.run(_open(settings, shop)) for shop in SHOPS]
        current_time = datetime.now(UTC)
        user_id, password = asyncio.run(_make_login(settings, samples))
        _Filling(settings, base_url, samples, current_time).fill(user_id)
        for sample in samples:
            print_text(_report(base_url, sample, current_time))
        print_text(_invite(base_url, samples, password, current_time))
        return server.wait()
    except KeyboardInterrupt:
        return server.stop()
    except BaseException:
        server.stop()
        raise


def _interrupt(_: int, __: Any) -> None:
    raise KeyboardInterrupt


async def _open(settings: Settings, shop: Shop) -> SampleSpace:
    """Create the Space if missing, with a new key."""
    changes = read_changes({"name": shop.name, **shop.settings}, RATE_LIMITS)
    encryption_key = load_encryption_key(settings)
    async with transaction(settings) as connection:
        existing_spaces = [space for space in await spaces.list_spaces(connection) if space.name == shop.name]
        space = existing_spaces[0] if existing_spaces else await spaces.create_space(connection, changes)
        await start_automatic_training(connection, space, PURCHASE, datetime.now(UTC))
        await begin_alerts(connection, space)
        if not await sites.list_sites(connection, space.id):
            new_site = sites.NewSite("Shop", [shop.origin])
            await sites.create_site(connection, space.id, new_site, encryption_key)
        site = (await sites.list_sites(connection, space.id))[0]
        api_key, _ = await keys.create_key(connection, space.id, "demo")
    return SampleSpace(shop, space, site, api_key)


async def _make_login(settings: Settings, samples: list[SampleSpace]) -> tuple[int, str]:
    """Create an owner of the sample Spaces, and return the id and new password."""
    password = secrets.token_urlsafe(12)
    password_hash = await Passwords().hash(password)
    async with transaction(settings) as connection:
        user = await find_user(connection, LOGIN)
        if user is None:
            user = await create_user(connection, LOGIN, password_hash)
        else:
            await change_password(connection, user.id, password_hash)
        for sample in samples:
            if await fetch_member(connection, sample.space.id, user.id) is None:
                await add_member(connection, sample.space.id, user.id, Role.OWNER)
    return user.id, password


class _Filling:
    """Fills the sample Spaces. The first one has all connections."""

    def __init__(
        self, settings: Settings, base_url: str, samples: list[SampleSpace], current_time: datetime
    ) -> None:
        self._settings, self._base_url = settings, base_url
        self._samples, self._current_time = samples, current_time
        self._since = f"{current_time - RECENT:%Y-%m-%dT%H:%M:%SZ}"

    def fill(self, user_id: int) -> None:
        """Connect the ad platforms before the latest events."""
        filled = [(sample, journeys(sample.shop, self._current_time)) for sample in self._samples]
        for sample, sample_journeys in filled:
            sample_journeys.visits.extend(passers_by(sample.shop, self._current_time))
        filled[0][1].visits[:] = visits_seen(filled[0][1].visits, self._current_time)
        for sample, sample_journeys in filled:
            self._send_money(sample)
            self._send_past(sample, sample_journeys)
        self._wait()
        first, sample_journeys = filled[0]
        self._connect(first, user_id)
        orders = write_file(sample_journeys.events, self._current_time)
        asyncio.run(import_orders(self._settings, first.space, user_id, orders))
        for sample, sample_journeys in filled:
            self._send_latest(sample, sample_journeys)
            visits, events = len(sample_journeys.visits), len(sample_journeys.events)
            print_text(f"{sample.space.name}: sent {visits} visits and {events} events")
        self._wait()
        self._change_reports(first, user_id)
        self._test_site(first)
        for sample in self._samples:
            find_alerts(self._settings, sample.space)
            asyncio.run(train_sample_model(self._settings, sample.space, self._current_time))

    def _send_money(self, sample: SampleSpace) -> None:
        client, shop = self._client(sample), sample.shop
        for batch in _batches(money.rates(shop, self._current_time)):
            client.put("/rates", {"rates": batch})
        for batch in _batches(money.spend(shop, self._current_time)):
            client.put("/spend", {"spend": batch})

    def _send_past(self, sample: SampleSpace, sample_journeys: Journeys) -> None:
        client = self._client(sample)
        has_events = _has_events(client, sample.space, self._current_time)
        if not has_events:  # from an earlier run, with its own visits
            asyncio.run(self._store_page_views(sample, sample_journeys))
        for batch in _batches(
            [event for event in sample_journeys.events if event["event_time"] < self._since]
        ):
            client.post("/events/batch", {"events": batch})

    async def _store_page_views(self, sample: SampleSpace, sample_journeys: Journeys) -> None:
        hits = make_hits(sample.shop, sample_journeys.visits, self._current_time)
        async with transaction(self._settings) as connection:
            for batch in _batches(hits, PAGE_VIEWS_AT_ONCE):
                await store_hits(connection, sample.space.id, batch)

    def _connect(self, sample: SampleSpace, user_id: int) -> None:
        asyncio.run(connect_platforms(self._settings, sample.space.id))
        asyncio.run(write_notes(self._settings, sample.space.id, user_id, self._current_time))
        webhook = asyncio.run(create_shop_webhook(self._settings, sample.space.id))
        if webhook is not None:
            deliver_orders(self._base_url, *webhook, self._current_time)

    def _send_latest(self, sample: SampleSpace, sample_journeys: Journeys) -> None:
        """Send other events, most in batches, the latest one by one, and actions of new visitors."""
        client = self._client(sample)
        events = [event for event in sample_journeys.events if event["event_time"] >= self._since]
        for batch in _batches(events[:-SINGLY]):
            client.post("/events/batch", {"events": batch})
        for event in events[-SINGLY:]:
            client.post("/events/track", event)
        visits = walk_ins(sample.shop, self._current_time)
        self._tracker(sample).report_visits(sample.shop, visits, self._current_time)

    def _change_reports(self, sample: SampleSpace, user_id: int) -> None:
        """Read two reports, send events that change them, and save views that explain the change. A later run
        repeats it.
        """
        client, shop = self._client(sample), sample.shop
        names = asyncio.run(connections.view_names(self._settings, sample.space.id, user_id))
        snapshots: dict[str, str] = {}
        if not names:
            visits, events = afterthoughts.make_earlier_events(shop, self._current_time)
            client.post("/touchpoints/batch", {"touchpoints": visits})
            client.post("/events/batch", {"events": events})
            self._wait()
            question = afterthoughts.question(self._current_time)
            snapshots = {page: client.get(path, question)["snapshot"] for page, path in _READ.items()}
            client.post(
                "/events/batch", {"events": afterthoughts.make_later_events(shop, self._current_time)}
            )
        rows = afterthoughts.restated(money.spend(shop, self._current_time), self._current_time)
        client.put("/spend", {"spend": rows})
        self._wait()
        views = {page: afterthoughts.view(self._current_time, reading) for page, reading in snapshots.items()}
        asyncio.run(connections.save_views(self._settings, sample.space.id, user_id, views))

    def _test_site(self, sample: SampleSpace) -> None:
        """Test the site after everything else: a test counts only data received since it began."""
        url = f"{sample.shop.origin}/"
        click_id = asyncio.run(begin_test(self._settings, sample.space.id, sample.site, url))
        if click_id is not None:
            walk_through(self._tracker(sample), self._client(sample), sample.shop, click_id)
            self._wait()

    def _client(self, sample: SampleSpace) -> ApiClient:
        return ApiClient(self._base_url, sample.key)

    def _tracker(self, sample: SampleSpace) -> TrackerClient:
        endpoint, site_key = self._settings.tracker_endpoint, sample.site.site_key
        return TrackerClient(self._base_url, endpoint, site_key)

    def _wait(self) -> None:
        with autocommit_connection(self._settings) as connection:
            if not wait_until_processed(connection, PROCESS_SECONDS):
                raise Failure("the events were not processed in time; see the log above")


def _batches(items: list[T], size: int = BATCH) -> list[list[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _has_events(client: ApiClient, space: Space, current_time: datetime) -> bool:
    start, end = _period(space, current_time)
    parameters = [("start_date", start), ("end_date", end), ("per_page", "1")]
    return next(client.pages("/events", parameters), None) is not None


def _report(base_url: str, sample: SampleSpace, current_time: datetime) -> str:
    space = sample.space
    report = make_report(ApiClient(base_url, sample.key), *_period(space, current_time))
    title = (
        f"\n{space.name}, space {space.id}, {space.timezone}: revenue by source, "
        f"last {DAYS} days, {WINDOW_DAYS}-day window"
    )
    total = write_amount(report.total, space.currency)
    return f"{title}\n\n{render(report, space.currency)}\n\nall sales: {total}"


def _period(space: Space, current_time: datetime) -> tuple[str, str]:
    local_time = current_time.astimezone(ZoneInfo(space.timezone))
    day = timedelta(days=1)
    bounds = (local_time - (DAYS + 1) * day, local_time + day)
    return f"{bounds[0]:%Y-%m-%d %H:%M:%S}", f"{bounds[1]:%Y-%m-%d %H:%M:%S}"


def _invite(base_url: str, samples: list[SampleSpace], password: str, current_time: datetime) -> str:
    start, end = _period(samples[0].space, current_time)
    key = samples[0].key
    api_keys = align([("API key      ", sample.key, f"of {sample.space.name}") for sample in samples])
    return f"""
Console        {base_url}/console
Login          {LOGIN}
Password       {password}
Address        {base_url}
API reference  {base_url}/docs
{api_keys}

Send an event:

  curl -X POST {base_url}/public-api/v1/events/track \\
    -H 'Authorization: Bearer {key}' \\
    -H 'Content-Type: application/json' \\
    -d '{{"event_name": "purchase", "email": "you@example.com", "amount": 49.9,
         "trk_source": "google_ads"}}'

Ask where revenue came from:

  curl -G {base_url}/public-api/v1/events \\
    -H 'Authorization: Bearer {key}' \\
    --data-urlencode 'start_date={start}' --data-urlencode 'end_date={end}' \\
    -d sources=google_ads -d sources=email -d attribution_model=u_shaped \\
    -d attribution_window={WINDOW_DAYS} -d fields=event_name -d fields=amount -d per_page=5

It goes on serving; Ctrl-C stops it."""
