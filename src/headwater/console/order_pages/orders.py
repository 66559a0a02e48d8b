"""Webhooks, files and the API."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.order_pages.webhook_view import ROWS, list_senders
from headwater.console.visits import PageVisit, SpacePages
from headwater.intake.imports.jobs import list_jobs
from headwater.intake.webhooks.deliveries import summarize_deliveries
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.webhooks import list_webhook_names, list_webhooks
from headwater.spaces.keys import fetch_key_use

ROUTES = SpacePages("/orders")


@ROUTES.page()
async def show_orders(visit: PageVisit) -> Response:
    connection, space_id = visit.connection, visit.space.id
    names = await list_webhook_names(connection, space_id)
    deleted_names = [name for name in names if name.revoked_at is not None]
    active_names = [name for name in names if name.revoked_at is None]
    webhooks = read_list_page(visit.request, active_names, lambda webhook: webhook.name)
    listed_ids = [webhook.id for webhook in webhooks.rows]
    keys, key_used_at = await fetch_key_use(connection, space_id)
    values: dict[str, Any] = {
        "webhooks": await list_webhooks(connection, space_id, listed_ids),
        "listed": webhooks,
        "summaries": await summarize_deliveries(connection, space_id, listed_ids),
        "deleted": deleted_names[: -PER_PAGE - 1 : -1],
        "deleted_before": len(deleted_names) - PER_PAGE,
        "providers": PROVIDERS,
        "senders": list_senders(),
        "jobs": await list_jobs(connection, space_id, ROWS),
        "keys": keys,
        "key_used_at": key_used_at,
        "here": visit.path("/orders"),
    }
    return visit.render("orders.html", values)
