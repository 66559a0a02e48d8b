"""Our names for other protocols' events: Segment's and GA4's standard names, ours, and a Space's labels."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all
from headwater.database.row_security import serving
from headwater.events.accepted import EVENT_NAMES, ORDER_NAME

queries = Queries(__name__, "protocols.sql")

FRESH_SECONDS = 5.0
MOST_SPACES = 10_000

_SEPARATORS = re.compile(r"[\W_]+")

ORDER_REFUNDED = "order_refunded"
ORDER_CANCELLED = "order_cancelled"
ORDER_UPDATED = "order_updated"

_SPECIFIED = {
    "order_completed": ORDER_NAME,
    "product_viewed": "view_content",
    "product_added": "add_to_cart",
    "checkout_started": "initiate_checkout",
    "payment_info_entered": "add_payment_info",
    "signed_up": "sign_up",
    "trial_started": "start_trial",
    "lead": "lead_generated",
    "generate_lead": "lead_generated",
    "view_item": "view_content",
    "begin_checkout": "initiate_checkout",
}
_NAMES = {name: name for name in EVENT_NAMES} | _SPECIFIED


class Labels(Struct, frozen=True):
    """A Space's slots by their labels, in lower case."""

    events: Mapping[str, str]
    fields: Mapping[str, str]

    def find_event(self, name: str) -> str | None:
        """Return the event's name here; a Space's own label has priority."""
        own_name = self.events.get(name.strip().casefold()) if self.events else None
        return own_name or _NAMES.get(normalize(name))


@lru_cache(maxsize=1024)
def normalize(name: str) -> str:
    """Return lower-case words joined by underscores: "Order Completed" and "order_completed" are equal."""
    return _SEPARATORS.sub("_", name.lower()).strip("_")


class SpaceLabels:
    """The labels of Spaces, remembered for seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, tuple[float, Labels]] = {}

    async def fetch(self, space_id: int) -> Labels:
        """Raise one of UNAVAILABLE."""
        entry = self._known.get(space_id)
        if entry is not None and time.monotonic() - entry[0] < FRESH_SECONDS:
            return entry[1]
        with serving(space_id):
            async with self._database.connection() as connection:
                slots = await fetch_all(connection, queries["labels"], {"space_id": space_id})
        events: dict[str, str] = {}
        fields: dict[str, str] = {}
        for slot, label in slots:
            (events if slot in EVENT_NAMES else fields)[label.strip().casefold()] = slot
        labels = Labels(events, fields)
        if len(self._known) >= MOST_SPACES:
            self._known.clear()
        self._known[space_id] = (time.monotonic(), labels)
        return labels
