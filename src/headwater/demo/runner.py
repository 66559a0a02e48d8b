"""`headwater demo`: runs `headwater serve`, sends it the sample journeys, reports, and stays."""

from __future__ import annotations

import asyncio
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from headwater.accounts.members import add_member, fetch_member
from headwater.accounts.passwords import Passwords
from headwater.accounts.roles import Role
from headwater.accounts.users import change_password, create_user, find_user
from headwater.demo.client import ApiClient
from headwater.demo.journeys import DAYS, Payload, journeys
from headwater.demo.report import WINDOW_DAYS, make_report, render
from headwater.demo.shops import SHOPS, Shop
from headwater.inbox.queue import wait_until_processed
from headwater.public_api.operations import RATE_LIMITS
from headwater.settings import Settings
from headwater.sites import sites
from headwater.spaces import keys, spaces
from headwater.spaces.models import Space
from headwater.spaces.settings_input import read_changes
from headwater.terminal.connection import autocommit_connection, transaction
from headwater.terminal.encryption_key import load_encryption_key
from headwater.terminal.failure import Failure
from headwater.terminal.output import print_text
from headwater.terminal.tables import align

BATCH = 500
SINGLY = 50
PROCESS_SECONDS = 300.0
LOGIN = "demo@example.com"


@dataclass(frozen=True)
class SampleSpace:
    """A sample Space and a key to it."""

    shop: Shop
    space: Space
    key: str


class ServiceProcess:
    """`headwater serve` as a process of ours, which ends with us."""

    def __init__(self, options: list[str]) -> None:
        command = [sys.executable, "-P", "-m", "headwater", "serve", "--leash"]
        command += ["--no-welcome", *options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def base_url(self) -> str:
        """The address at which it serves, once it does. Raises Failure."""
        assert self._process.stdout is not None
        word, _, url = self._process.stdout.readline().strip().partition(" ")
        if word != "ready":
            raise Failure("the service did not start")
        return url

    def stop(self) -> int:
        """Stop it and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait()

    def wait(self) -> int:
        """Return its exit code when it has ended."""
        return self._process.wait()


def demonstrate(settings: Settings, options: list[str]) -> int:
    """Serve with `options`, fill, report, and go on serving until stopped."""
    server = ServiceProcess(options)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        base_url = server.base_url()
        samples = [asyncio.run(_open(settings, shop)) for shop in SHOPS]
        now = datetime.now(UTC)
        for sample in samples:
            _send(base_url, sample, now)
        _wait(settings)
        for sample in samples:
            print_text(_report(base_url, sample, now))
        password = asyncio.run(_make_login(settings, samples))
        print_text(_invite(base_url, samples, password, now))
        return server.wait()
    except KeyboardInterrupt:
        return server.stop()
    except BaseException:
        server.stop()
        raise


def _interrupt(_: int, __: Any) -> None:
    raise KeyboardInterrupt


async def _open(settings: Settings, shop: Shop) -> SampleSpace:
    """The shop's Space, created unless there is one by its name, and a new key."""
    changes = read_changes({"name": shop.name, **shop.settings}, RATE_LIMITS)
    encryption_key = load_encryption_key(settings)
    async with transaction(settings) as connection:
        named = [space for space in await spaces.list_spaces(connection) if space.name == shop.name]
        space = named[0] if named else await spaces.create_space(connection, changes)
        if not await sites.list_sites(connection, space.id):
            site = sites.NewSite("Shop", [f"https://{shop.domain}"])
            await sites.create_site(connection, space.id, site, encryption_key)
        api_key, _ = await keys.create_key(connection, space.id, "demo")
    return SampleSpace(shop, space, api_key)


async def _make_login(settings: Settings, samples: list[SampleSpace]) -> str:
    """Create an account that owns the sample Spaces, and return its new password."""
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
    return password


def _send(base_url: str, sample: SampleSpace, now: datetime) -> None:
    """Send the visits and most events in batches, and the latest events one by one."""
    client = ApiClient(base_url, sample.key)
    sent = journeys(sample.shop, now)
    if not _has_events(client, sample.space, now):  # of a run before, with visits of its own
        for batch in _batches(sent.visits):
            client.post("/touchpoints/batch", {"touchpoints": batch})
    many, single = sent.events[:-SINGLY], sent.events[-SINGLY:]
    for batch in _batches(many):
        client.post("/events/batch", {"events": batch})
    for event in single:
        client.post("/events/track", event)
    print_text(f"{sample.space.name}: sent {len(sent.visits)} visits and {len(sent.events)} events")


def _batches(items: list[Payload]) -> list[list[Payload]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def _has_events(client: ApiClient, space: Space, now: datetime) -> bool:
    start, end = _period(space, now)
    parameters = [("start_date", start), ("end_date", end), ("per_page", "1")]
    return next(client.pages("/events", parameters), None) is not None


def _wait(settings: Settings) -> None:
    with autocommit_connection(settings) as connection:
        if not wait_until_processed(connection, PROCESS_SECONDS):
            raise Failure("the events were not processed in time; see the log above")


def _report(base_url: str, sample: SampleSpace, now: datetime) -> str:
    space = sample.space
    report = make_report(ApiClient(base_url, sample.key), *_period(space, now))
    title = (
        f"\n{space.name}, space {space.id}, {space.timezone}: revenue by source, "
        f"last {DAYS} days, {WINDOW_DAYS}-day window"
    )
    return f"{title}\n\n{render(report, space.currency)}\n\nall sales: {report.total:,.2f}"


def _period(space: Space, now: datetime) -> tuple[str, str]:
    local = now.astimezone(ZoneInfo(space.timezone))
    day = timedelta(days=1)
    bounds = (local - (DAYS + 1) * day, local + day)
    return f"{bounds[0]:%Y-%m-%d %H:%M:%S}", f"{bounds[1]:%Y-%m-%d %H:%M:%S}"


def _invite(base_url: str, samples: list[SampleSpace], password: str, now: datetime) -> str:
    start, end = _period(samples[0].space, now)
    key = samples[0].key
    api_keys = align(
        [("API key      ", sample.key, f"of {sample.space.name}") for sample in samples]
    )
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
