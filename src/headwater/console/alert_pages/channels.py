"""Alert channels, and the consent page for mail addresses."""

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
from headwater.console.alert_pages.rules import CHANNEL_FORM, rules_page
from headwater.console.audited import make_action
from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form
from headwater.console.pages import render
from headwater.console.visitor import guest_key
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    open_visit,
    read_sent_form,
)
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.subjects import recording
from headwater.spaces.spaces import fetch_space

ANSWER_FORM = "mail answer"
_PAGES = SpacePages("/alerts/channels", return_path="/alerts/rules#channels")
_TEST = SentForm("test channel", Permission.CHANGE_SETTINGS)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    form, kind = visit.form, visit.form.text("kind")
    typed: dict[str, Any] = {
        "kind": kind,
        "name": form.text("name"),
        "rules": form.texts("rules"),
        "form": "channel",
        "address": form.text("address") if kind == EMAIL else "",
    }
    return await rules_page(visit, typed=typed, errors=list_form_errors(refusal))


@_PAGES.action("/create", CHANNEL_FORM, _refuse)
async def post_create(visit: PageVisit) -> FlashMessage:
    """Create a channel. An address of no member gets a consent mail first."""
    form, space, key = visit.form, visit.space, visit.services.sealing_key
    kind = form.text("kind")
    if kind not in (EMAIL, WEBHOOK):
        raise Invalid.of("kind", "must be email or webhook.")
    new = NewChannel(kind, form.text("name"), form.text("address"), form.texts("rules"), visit.user_id)
    channel_id, needs_confirmation = await channels.create_channel(visit.connection, space.id, new, key)
    if needs_confirmation:
        token = mail_token(key, space.id, channel_id)
        notice = confirmation_notice(space, token, visit.services.settings.brand)
        await add_message(visit.connection, space.id, channel_id, notice)
    return FlashMessage.CHANNEL_UNCONFIRMED if needs_confirmation else FlashMessage.CHANNEL_MADE


@_PAGES.action("/change", SentForm("change channel", Permission.CHANGE_SETTINGS, changes=("alert_channel",)))
async def post_change(visit: PageVisit) -> FlashMessage:
    form, channel_id = visit.form, visit.form.number("channel")
    if form.text("remove") == "yes":
        await channels.remove_channel(visit.connection, visit.space.id, channel_id)
        return FlashMessage.CHANNEL_REMOVED
    await channels.change_channel(
        visit.connection, visit.space.id, channel_id, form.text("name"), form.texts("rules")
    )
    return FlashMessage.CHANNEL_SAVED


async def post_test(request: Request) -> Response:
    """Send a test message; no transaction is open while sending."""
    form = await read_sent_form(request, _TEST)
    async with open_visit(request, _TEST, form) as visit:
        channel_id, shared = form.number("channel"), visit.services
    async with Egress(shared.settings.notify_hosts) as egress:
        outlet = Outlet(
            shared.settings, egress, shared.sealing_key, shared.base_url, mail_seconds=TEST_SECONDS
        )
        result = await try_channel(shared.database, outlet, visit.space, channel_id)
    async with open_visit(request, _TEST, form) as visit:
        return await rules_page(visit, test=(channel_id, result.error))


_PAGES.add("/test", post_test, "POST")


async def show_answer(request: Request) -> Response:
    """Show the page of a consent mail's link. It changes nothing, because programs open links too."""
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
    """Accept mail, or forget the address."""
    form = await read_form(request, guest_key(request), ANSWER_FORM)
    shared = services(request)
    space_id, channel_id = channels.read_mail_token(shared.sealing_key, request.path_params["token"])
    answer = form.text("answer")
    async with shared.database.transaction() as connection:
        target = await channels.fetch_target(connection, space_id, channel_id)
        space = await fetch_space(connection, space_id)
        if target is not None and target.kind == EMAIL:
            async with recording(connection, make_action(request, None, space_id), ("alert_channel",)):
                if answer == "agree":
                    await channels.confirm_channel(connection, space_id, channel_id)
                elif answer == "refuse":
                    await channels.remove_channel(connection, space_id, channel_id)
    return render(request, "mail_answer.html", target=target, space=space, form=ANSWER_FORM, answer=answer)


ROUTES = [
    *_PAGES,
    Route(f"{STOP}/{{token}}", show_answer, methods=["GET"]),
    Route(f"{STOP}/{{token}}", post_answer, methods=["POST"]),
]
