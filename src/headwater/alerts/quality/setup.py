"""The setup of a Space: objects created, and data received."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.quality.event_checks import read_orders
from headwater.alerts.quality.models import OrderShares
from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor
from headwater.forwarding.platforms import registry
from headwater.http.inputs.account_kinds import find_title
from headwater.http.inputs.timerange import TimeRange
from headwater.spaces.models import Space

queries = Queries(__name__, "setup.sql")

MOST_LATEST = 2_000
MOST_FIRST = 20_000
"""The first events to search for an order."""
MOST_HOSTS = 10
MOST_KEYS = 10
SHARE_DAYS = 30


class SetupState(Struct, frozen=True):
    keys: int
    key_used_at: datetime | None
    site_key: str | None
    site_id: int | None
    first_order_at: datetime | None
    assistants: int


class KeyState(Struct, frozen=True):
    name: str
    hint: str
    last_used_at: datetime | None


class HostSeen(Struct, frozen=True):
    host: str | None
    seen_at: datetime


class DestinationState(Struct, frozen=True):
    id: int
    platform: str
    name: str
    status: str
    tested_at: datetime | None
    test_ok: bool | None
    test_message: str | None
    delivered_at: datetime | None
    """The platform's last acceptance of a conversion."""

    @property
    def title(self) -> str:
        title = find_title(registry.PLATFORMS, self.platform)
        return f"{title} “{self.name}”" if self.name else title

    @property
    def has_test_mode(self) -> bool:
        platform = registry.PLATFORMS.get(self.platform)
        return platform is not None and platform.has_test_mode


class Setup(Struct, frozen=True):
    state: SetupState
    keys: list[KeyState]
    """The MOST_KEYS used last, newest first."""
    hosts: list[HostSeen]
    orders: OrderShares
    """Of the last SHARE_DAYS days."""
    destinations: list[DestinationState]

    @property
    def is_delivering(self) -> bool:
        """True if a platform has accepted a conversion, and no destination is held."""
        return any(destination.delivered_at for destination in self.destinations) and not any(
            destination.status == "held" for destination in self.destinations
        )

    @property
    def testable_destinations(self) -> list[DestinationState]:
        return [destination for destination in self.destinations if destination.has_test_mode]

    @property
    def is_tested(self) -> bool:
        """True if every destination with a test mode accepted its last test event."""
        return all(destination.test_ok for destination in self.testable_destinations)

    @property
    def is_complete(self) -> bool:
        """True if only optional steps are left."""
        return bool(
            self.state.keys
            and self.state.key_used_at
            and self.state.site_key
            and self.hosts
            and self.orders.orders
        )


async def read_setup(connection: AsyncConnection, space: Space) -> Setup:
    values = {
        "space_id": space.id,
        "most": MOST_LATEST,
        "most_first": MOST_FIRST,
        "most_hosts": MOST_HOSTS,
        "most_keys": MOST_KEYS,
    }
    current_time = datetime.now(UTC)
    period = TimeRange(current_time - timedelta(days=SHARE_DAYS), current_time + timedelta(days=1))
    _, orders = await read_orders(connection, space, period)
    state = await fetch_one(make_cursor(connection, SetupState), queries["state"], values)
    return Setup(
        state,
        await fetch_all(make_cursor(connection, KeyState), queries["keys"], values),
        await fetch_all(make_cursor(connection, HostSeen), queries["hosts"], values),
        orders,
        await fetch_all(make_cursor(connection, DestinationState), queries["destinations"], values),
    )
