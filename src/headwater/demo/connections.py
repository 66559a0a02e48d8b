"""Connections of the first sample Space: a working destination, one with an expired token, and a shop's
webhook; and notes on days.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.base.settings import Settings
from headwater.console.report_pages.charts.chart_notes import add_note, list_notes
from headwater.console.report_pages.saved_views import list_member_views, read_view, save_view
from headwater.demo.client import HttpClient
from headwater.demo.pretend_platforms import ACCESS_TOKEN, PIXEL_ID
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.inputs import read_new
from headwater.intake.webhooks import webhooks
from headwater.intake.webhooks.settings_input import read_settings
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key

META = {
    "platform": "meta",
    "name": "Nordlicht pixel",
    "settings": {"pixel_id": PIXEL_ID, "test_event_code": "TEST12345"},
    "secrets": {"access_token": ACCESS_TOKEN},
    "event_names": {"custom_event_1": None},
}
GOOGLE = {
    "platform": "google",
    "name": "Nordlicht search ads",
    "settings": {"customer_id": "1234567890"},
    "secrets": {
        "client_id": "pretend-id",
        "client_secret": "pretend-secret",
        "refresh_token": "pretend-token",
    },
    "event_names": {"purchase": "700000001", "sign_up": "700000002"},
}
NOTES = ((17, "New product pages went live"), (6, "Autumn hikes: budget halved"))
"""Days ago, and the note."""
VIEWS = {"/changes/since": "Why last month changed", "/campaigns/changes": "Why last month's spend changed"}
_SHOP = "https://nordlicht-outdoor.example/wp-json/wc/v3/orders/"


async def connect_platforms(settings: Settings, space_id: int) -> None:
    """Create the destinations, unless there are any."""
    key = load_encryption_key(settings)
    async with transaction(settings) as connection:
        if not await destinations.list_destinations(connection, space_id):
            for body in (META, GOOGLE):
                await destinations.create_destination(connection, space_id, read_new(body), key)


async def write_notes(settings: Settings, space_id: int, user_id: int, current_time: datetime) -> None:
    async with transaction(settings) as connection:
        if not await list_notes(connection, space_id, 1):
            for days, text in NOTES:
                day = f"{current_time - timedelta(days=days):%Y-%m-%d}"
                await add_note(connection, space_id, user_id, day, text)


async def view_names(settings: Settings, space_id: int, user_id: int) -> list[str]:
    async with transaction(settings) as connection:
        return [view.name for view in await list_member_views(connection, space_id, user_id)]


async def save_views(settings: Settings, space_id: int, user_id: int, queries: Mapping[str, str]) -> None:
    async with transaction(settings) as connection:
        for page, query in queries.items():
            view = read_view(VIEWS[page], page, query, VIEWS)
            await save_view(connection, space_id, user_id, view)


async def create_shop_webhook(settings: Settings, space_id: int) -> tuple[str, str] | None:
    """Return the webhook's path and signing secret; None if it exists."""
    secret, key = secrets.token_urlsafe(24), load_encryption_key(settings)
    async with transaction(settings) as connection:
        if await webhooks.list_webhooks(connection, space_id):
            return None
        reading = read_settings("woocommerce", {})
        new = webhooks.NewWebhook("woocommerce", "Shop orders", reading, secret)
        token, _ = await webhooks.create_webhook(connection, space_id, new, key)
    return f"{webhooks.PATH}/{token}", secret


def deliver_orders(base_url: str, path: str, secret: str, current_time: datetime) -> None:
    """Report two accepted orders, one with an ignored status, one without a total, one wrongly signed."""
    http = HttpClient(base_url)
    _post(http, path, secret, _order(90001, current_time))
    _post(http, path, secret, _order(90002, current_time, total="129.00"))
    _post(http, path, secret, _order(90003, current_time, status="pending"))
    _post(http, path, secret, _order(90004, current_time, total="to be agreed"))
    _post(http, path, "another-secret", _order(90005, current_time))


def _order(number: int, current_time: datetime, status: str = "processing", **fields: str) -> dict[str, Any]:
    moment = f"{current_time.astimezone(UTC) - timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}"
    return {
        "id": number,
        "number": str(number),
        "status": status,
        "currency": "EUR",
        "total": "89.50",
        "date_created_gmt": moment,
        "date_paid_gmt": moment,
        "date_modified_gmt": moment,
        "billing": {"email": f"order{number}@gmail.com", "first_name": "Lena", "last_name": "Dahl"},
        "_links": {"self": [{"href": f"{_SHOP}{number}"}]},
        **fields,
    }


def _post(http: HttpClient, path: str, secret: str, order: dict[str, Any]) -> None:
    body = json.dumps(order).encode()
    signature = base64.b64encode(hmac.digest(secret.encode(), body, "sha256")).decode()
    headers = {
        "Content-Type": "application/json",
        "X-WC-Webhook-Signature": signature,
        "X-WC-Webhook-Topic": "order.updated",
        "X-WC-Webhook-Source": "https://nordlicht-outdoor.example/",
    }
    http.send("POST", path, body, headers)
