"""The channels of a Space on its page of alerts: made, tested, changed and removed; and the page
with which whose address it is agrees to mail, or refuses it.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.notifications import channels
from headwater.alerts.notifications.channels import EMAIL, WEBHOOK, NewChannel, mail_token
from headwater.alerts.notifications.messages import add_message
from headwater.alerts.notifications.probe import TEST_SECONDS, confirmation_notice, try_channel
from headwater.alerts.notifications.sender import STOP, Outlet
from headwater.base.egress.client import Egress
from headwater.console.alert_pages.alerts import CHANNEL_FORM, alerts_page, alerts_path
from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form, read_form_once, spend
from headwater.console.pages import redirect, render
from headwater.console.visitor import enter, guest_key, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.spaces import fetch_space

CHANGE_FORM, TEST_FORM, ANSWER_FORM = "change channel", "test channel", "mail answer"


async def post_create(request: Request) -> Response:
    """Make a channel. An address of nobody in the Space gets a mail that asks first."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, CHANNEL_FORM)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        space_id, kind = inside.space.id, form.text("kind")
        typed: dict[str, Any] = {
            **{name: form.text(name) for name in ("kind", "name")},
            "rules": form.texts("rules"),
            "form": "channel",
            "address": form.text("address") if kind == EMAIL else "",
        }
        try:
            if kind not in (EMAIL, WEBHOOK):
                raise Invalid.of("kind", "must be email or webhook.")
            new = NewChannel(
                kind, form.text("name"), form.text("address"), form.texts("rules"), visitor.user.id
            )
            channel_id, asks = await channels.create_channel(connection, space_id, new, shared.sealing_key)
        except Invalid as error:
            return await alerts_page(connection, request, inside, typed=typed, errors=error.errors)
        if asks:
            token = mail_token(shared.sealing_key, space_id, channel_id)
            notice = confirmation_notice(inside.space, token, shared.settings.brand)
            await add_message(connection, space_id, channel_id, notice)
        await spend(connection, form)
    flash = FlashMessage.CHANNEL_UNCONFIRMED if asks else FlashMessage.CHANNEL_MADE
    return redirect(request, f"{alerts_path(space_id)}#channels", flash)


async def post_change(request: Request) -> Response:
    """Change which rules' alerts go to a channel, or remove it."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, CHANGE_FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        space_id, channel_id = inside.space.id, form.number("channel")
        if form.text("remove") == "yes":
            await channels.remove_channel(connection, space_id, channel_id)
            flash = FlashMessage.CHANNEL_REMOVED
        else:
            await channels.change_channel(
                connection, space_id, channel_id, form.text("name"), form.texts("rules")
            )
            flash = FlashMessage.CHANNEL_SAVED
    return redirect(request, f"{alerts_path(space_id)}#channels", flash)


async def post_test(request: Request) -> Response:
    """Send a test message, and say what became of it."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, TEST_FORM)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        channel_id = form.number("channel")
    async with Egress(shared.settings.notify_hosts) as egress:
        outlet = Outlet(
            shared.settings, egress, shared.sealing_key, shared.base_url, mail_seconds=TEST_SECONDS
        )
        result = await try_channel(shared.database, outlet, inside.space, channel_id)
    async with shared.database.transaction() as connection:
        test = (channel_id, result.error)
        return await alerts_page(connection, request, inside, test=test)


async def show_answer(request: Request) -> Response:
    """The page that the link in a mail opens. It changes nothing: programs open links, too."""
    shared = services(request)
    space_id, channel_id = channels.read_mail_token(shared.sealing_key, request.path_params["token"])
    async with shared.database.connection() as connection:
        target = await channels.fetch_target(connection, space_id, channel_id)
        space = await fetch_space(connection, space_id)
    if target is not None and target.kind != EMAIL:
        raise NotFound("Page")
    guest_key(request)
    return render(request, "mail_answer.html", target=target, space=space, form=ANSWER_FORM, answer="")


async def post_answer(request: Request) -> Response:
    """Agree to mail, or refuse it: then the address is forgotten."""
    form = await read_form(request, guest_key(request), ANSWER_FORM)
    shared = services(request)
    space_id, channel_id = channels.read_mail_token(shared.sealing_key, request.path_params["token"])
    answer = form.text("answer")
    async with shared.database.transaction() as connection:
        target = await channels.fetch_target(connection, space_id, channel_id)
        space = await fetch_space(connection, space_id)
        if target is not None and target.kind == EMAIL:
            if answer == "agree":
                await channels.confirm_channel(connection, space_id, channel_id)
            elif answer == "refuse":
                await channels.remove_channel(connection, space_id, channel_id)
    return render(request, "mail_answer.html", target=target, space=space, form=ANSWER_FORM, answer=answer)


_PATH = "/console/spaces/{space_id}/alerts/channels"
ROUTES = [
    Route(f"{_PATH}/create", post_create, methods=["POST"]),
    Route(f"{_PATH}/change", post_change, methods=["POST"]),
    Route(f"{_PATH}/test", post_test, methods=["POST"]),
    Route(f"{STOP}/{{token}}", show_answer, methods=["GET"]),
    Route(f"{STOP}/{{token}}", post_answer, methods=["POST"]),
]
