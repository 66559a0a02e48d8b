"""Everything that brings a Space's orders in: webhooks, files, and the API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.order_pages.webhook_view import ROWS, list_senders, orders_path
from headwater.console.pages import render
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.intake.imports.jobs import list_jobs
from headwater.intake.webhooks.deliveries import summarize_deliveries
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.webhooks import list_webhook_names, list_webhooks
from headwater.spaces.keys import fetch_key_use


async def show_orders(request: Request) -> Response:
    """Show the webhooks with their last deliveries, the imports, and the keys of the API."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        space_id = inside.space.id
        names = await list_webhook_names(connection, space_id)
        working = [name for name in names if name.revoked_at is None]
        deleted = [name for name in names if name.revoked_at is not None]
        listed = read_list_page(request, working, lambda each: each.name)
        listed_ids = [each.id for each in listed.rows]
        webhooks = await list_webhooks(connection, space_id, listed_ids)
        summaries = await summarize_deliveries(connection, space_id, listed_ids)
        jobs = await list_jobs(connection, space_id, ROWS)
        keys, key_used_at = await fetch_key_use(connection, space_id)
    return render(
        request,
        "orders.html",
        webhooks=webhooks,
        listed=listed,
        summaries=summaries,
        deleted=deleted[: -PER_PAGE - 1 : -1],
        deleted_before=len(deleted) - PER_PAGE,
        providers=PROVIDERS,
        senders=list_senders(),
        jobs=jobs,
        keys=keys,
        key_used_at=key_used_at,
        base=f"{HOME}/spaces/{space_id}",
        here=orders_path(space_id),
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/orders", show_orders, methods=["GET"])]
