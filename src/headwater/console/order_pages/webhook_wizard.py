"""The form for a new webhook."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from starlette.responses import Response

from headwater.console.forms import PostedForm, without_keys
from headwater.console.order_pages.webhook import render_webhook
from headwater.console.order_pages.webhook_view import list_senders
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.events.accepted import STANDARD_NAMES
from headwater.http.errors import Invalid
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.providers.generic import GENERIC
from headwater.intake.webhooks.providers.provider import SecretMaker
from headwater.intake.webhooks.settings_input import read_settings
from headwater.intake.webhooks.webhooks import NewWebhook, create_webhook
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/orders/webhooks")
_CREATE = SentForm("create webhook", Permission.CHANGE_SETTINGS, once=True, changes=("webhook",))
MADE, TYPED, UNSIGNED = "made", "typed", "unsigned"
LONGEST_SECRET = 500
NOT_USED = "Clear this secret, or choose “I have one”. Without a signature it is not used."


@ROUTES.page("/new", Permission.CHANGE_SETTINGS)
async def show_wizard(visit: PageVisit) -> Response:
    kind = visit.request.query_params.get("type", "")
    return _page(visit, kind if kind in PROVIDERS else None)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed = visit.typed("name", "event", "signing")
    errors = without_keys(list_form_errors(refusal))
    return _page(visit, visit.form.text("type"), typed, refusal.status, errors=errors)


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> Response:
    """Show the address and generated secret once."""
    kind = visit.form.text("type")
    if kind not in PROVIDERS:
        return _page(visit, None)
    secret, is_made = _read_secret(kind, visit.form)
    pairs = {"event": visit.form.text("event")} if kind == GENERIC.type else {}
    new = NewWebhook(kind, visit.form.text("name"), read_settings(kind, pairs), secret)
    token, webhook_id = await create_webhook(
        visit.connection, visit.space.id, new, visit.services.sealing_key
    )
    return await render_webhook(visit, webhook_id, token=token, made=secret if is_made else None)


def _read_secret(kind: str, form: PostedForm) -> tuple[str | None, bool]:
    """Return the secret, and whether it was created here. None if the sender creates it or doesn't sign. A
    typed secret always wins because the sender signs with it. Raise Invalid.
    """
    choice, typed = form.text("signing"), form.text("secret").strip()
    if PROVIDERS[kind].guide.secret_maker is SecretMaker.SENDER:
        return (read_secret(typed) if typed else None), False
    if choice == UNSIGNED and not PROVIDERS[kind].needs_secret:
        if typed:
            raise Invalid({"secret": [NOT_USED]})
        return None, False
    if choice == TYPED or typed:
        return read_secret(typed), False
    return make_secret(), True


def read_secret(typed: str) -> str:
    """Raise Invalid for bad input."""
    secret = typed.strip()
    if not secret:
        raise Invalid({"secret": ["Paste the signing secret."]})
    if len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise Invalid({"secret": ["This is not a signing secret. Copy it again."]})
    return secret


def make_secret() -> str:
    """Use the Standard Webhooks format, which other senders treat as text."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


def _page(
    visit: PageVisit, kind: str | None, typed: dict[str, str] | None = None, status: int = 200, **values: Any
) -> Response:
    common: dict[str, Any] = {
        "provider": PROVIDERS[kind] if kind else None,
        "senders": list_senders(),
        "typed": {"name": "", "event": "", "signing": MADE} | (typed or {}),
        "once": visit.once(_CREATE.name),
        "event_names": STANDARD_NAMES,
        "here": visit.path("/orders"),
    }
    return visit.render("webhook_new.html", common | values, status)
