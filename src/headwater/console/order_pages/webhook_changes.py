"""Change a webhook."""

from __future__ import annotations

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.order_pages.webhook import ADDRESS, SECRET, refuse_change, render_webhook
from headwater.console.order_pages.webhook_view import fetch_active_webhook
from headwater.console.order_pages.webhook_wizard import make_secret, read_secret
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.intake.webhooks.credentials import change_address, change_secret
from headwater.intake.webhooks.deliveries import fetch_delivery, replay_delivery, replay_failed
from headwater.intake.webhooks.models import Status
from headwater.intake.webhooks.webhooks import pause_webhook, revoke_webhook
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange

ROUTES = SpacePages("/orders/webhooks/{webhook_id}")
_SETTINGS = SentForm("change webhook", Permission.CHANGE_SETTINGS, changes=("webhook",))
_DATA = SentForm("change webhook", Permission.WRITE_DATA, changes=("webhook",))


@ROUTES.action("/secret", SECRET, refuse_change, refuse_change)
async def post_secret(visit: PageVisit) -> Response | FlashMessage:
    """Save the typed secret, or create one and show it once."""
    webhook, is_new = await fetch_active_webhook(visit), bool(visit.form.text("make"))
    secret = make_secret() if is_new else read_secret(visit.form.text("secret"))
    await change_secret(visit.connection, visit.space.id, webhook.id, secret, visit.services.sealing_key)
    return await render_webhook(visit, webhook.id, made=secret) if is_new else FlashMessage.SECRET_SAVED


@ROUTES.action("/address", ADDRESS, refuse_change, refuse_change)
async def post_address(visit: PageVisit) -> Response:
    """Show the new address once."""
    webhook = await fetch_active_webhook(visit)
    token = await change_address(visit.connection, visit.space.id, webhook.id, visit.services.sealing_key)
    return await render_webhook(visit, webhook.id, token=token)


@ROUTES.action("/pause", _SETTINGS, refuse_change, refuse_change)
async def post_pause(visit: PageVisit) -> FlashMessage:
    """Store deliveries without processing them."""
    webhook = await fetch_active_webhook(visit)
    await pause_webhook(visit.connection, visit.space.id, webhook.id, paused=True)
    return FlashMessage.WEBHOOK_PAUSED


@ROUTES.action("/resume", _SETTINGS, refuse_change, refuse_change)
async def post_resume(visit: PageVisit) -> FlashMessage:
    webhook = await fetch_active_webhook(visit)
    await pause_webhook(visit.connection, visit.space.id, webhook.id, paused=False)
    return FlashMessage.WEBHOOK_RESUMED


@ROUTES.action("/delete", _SETTINGS, refuse_change, refuse_change)
async def post_delete(visit: PageVisit) -> Response:
    webhook = await fetch_active_webhook(visit)
    await revoke_webhook(visit.connection, visit.space.id, webhook.id)
    return visit.redirect("/orders", FlashMessage.WEBHOOK_DELETED)


@ROUTES.action("/replay", _DATA, refuse_change, refuse_change)
async def post_replay(visit: PageVisit) -> FlashMessage:
    webhook, delivery_id = await fetch_active_webhook(visit), visit.form.number("delivery")
    await fetch_delivery(visit.connection, visit.space.id, webhook.id, delivery_id)
    outcome, _ = await replay_delivery(visit.connection, visit.space.id, delivery_id)
    visit.note(AuditChange("webhook", webhook.id, after={"replayed": 1}))
    is_accepted = outcome.status is Status.ACCEPTED
    return FlashMessage.DELIVERY_REPLAYED if is_accepted else FlashMessage.DELIVERY_STILL_REFUSED


@ROUTES.action("/replay-failed", _DATA, refuse_change, refuse_change)
async def post_replay_failed(visit: PageVisit) -> FlashMessage:
    webhook = await fetch_active_webhook(visit)
    outcomes = await replay_failed(visit.connection, visit.space.id, webhook.id)
    if not outcomes:
        return FlashMessage.NOTHING_CHANGED
    visit.note(AuditChange("webhook", webhook.id, after={"replayed": outcomes.total()}))
    if outcomes[Status.ACCEPTED] == outcomes.total():
        return FlashMessage.ALL_REPLAYED
    return FlashMessage.SOME_REPLAYED if outcomes[Status.ACCEPTED] else FlashMessage.NONE_REPLAYED
