"""A new webhook, by what sends to it: a name, and what its deliveries are signed with."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.forms import PostedForm, once_token, read_form_once, spend, without_keys
from headwater.console.order_pages.webhook import render_webhook
from headwater.console.order_pages.webhook_view import list_senders, orders_path
from headwater.console.pages import hidden_token, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.events.accepted import STANDARD_NAMES
from headwater.http.errors import Invalid
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.providers.generic import GENERIC
from headwater.intake.webhooks.providers.provider import SecretMaker
from headwater.intake.webhooks.settings_input import read_settings
from headwater.intake.webhooks.webhooks import NewWebhook, create_webhook
from headwater.spaces.accounts.roles import Permission

FORM = "create webhook"
MADE, TYPED, UNSIGNED = "made", "typed", "unsigned"
"""The choices of a signing secret."""
LONGEST_SECRET = 500
NOT_USED = "Clear this secret, or choose “I have one”: without a signature it is not used."


async def show_wizard(request: Request) -> Response:
    """Show the senders there are, or the form of the one that the address names."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
    kind = request.query_params.get("type", "")
    return _page(request, inside, kind if kind in PROVIDERS else None)


async def post_create(request: Request) -> Response:
    """Create a webhook; its address, and a secret that was made for it, are shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, FORM)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        kind = form.text("type")
        if kind not in PROVIDERS:
            return _page(request, inside, None)
        try:
            secret, made = _read_secret(kind, form)
            token, webhook_id = await _create(request, connection, inside, form, secret)
        except Invalid as error:
            errors = without_keys(error.errors)
            return _page(request, inside, kind, form=form, errors=errors, status=422)
        await spend(connection, form)
        return await render_webhook(
            request, connection, inside, webhook_id, token=token, made=secret if made else None
        )


async def _create(
    request: Request, connection: AsyncConnection, inside: SpaceVisitor, form: PostedForm, secret: str | None
) -> tuple[str, int]:
    kind = form.text("type")
    pairs = {"event": form.text("event")} if kind == GENERIC.type else {}
    new = NewWebhook(kind, form.text("name"), read_settings(kind, pairs), secret)
    key = services(request).sealing_key
    return await create_webhook(connection, inside.space.id, new, key)


def _read_secret(kind: str, form: PostedForm) -> tuple[str | None, bool]:
    """The signing secret, and whether it was made here. None where the sender is yet to make it, or
    where nothing is signed. A secret that was typed is never dropped, whatever is chosen: the
    sender signs with it. Raises Invalid.
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
    """A signing secret as it was typed. Raises Invalid."""
    secret = typed.strip()
    if not secret:
        raise Invalid({"secret": ["Paste the signing secret."]})
    if len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise Invalid({"secret": ["This is no signing secret: copy it once more."]})
    return secret


def make_secret() -> str:
    """A new signing secret, in the form of Standard Webhooks, which is text to all others."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


def _page(
    request: Request,
    inside: SpaceVisitor,
    kind: str | None,
    *,
    status: int = 200,
    form: PostedForm | None = None,
    **values: Any,
) -> Response:
    once = hidden_token(once_token(inside.visitor.form_key, FORM))
    provider = PROVIDERS[kind] if kind else None
    typed = {name: form.text(name) for name in ("name", "event", "signing")} if form else {}
    return render(
        request,
        "webhook_new.html",
        status=status,
        provider=provider,
        senders=list_senders(),
        typed={"name": "", "event": "", "signing": MADE, **typed},
        once=once,
        event_names=STANDARD_NAMES,
        here=orders_path(inside.space.id),
        **values,
    )


_PATH = f"{HOME}/spaces/{{space_id}}/orders/webhooks"
ROUTES = [
    Route(f"{_PATH}/new", show_wizard, methods=["GET"]),
    Route(f"{_PATH}/create", post_create, methods=["POST"]),
]
