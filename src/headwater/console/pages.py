"""Render pages, security headers and error pages, also for other packages."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.base.dates import (
    format_day,
    format_day_and_time,
    format_month,
    format_short_day,
    format_weekday,
)
from headwater.console.assets import asset
from headwater.console.flash import FlashMessage, read_flash
from headwater.console.forms import TOKEN, form_token
from headwater.console.navigation import ENTRIES, MORE_PAGES, ON_PHONE, find_place
from headwater.console.visitor import (
    HOME,
    SeeOther,
    cookie_name,
    delete_cookie,
    find_form_page,
    find_visitor,
    guest_key,
    set_cookie,
)
from headwater.database.outage_log import requests_outage
from headwater.database.pool import UNAVAILABLE
from headwater.endpoints.services import Services, provide, services
from headwater.http.clients import client_address
from headwater.http.errors import FormRefused, Invalid, NotFound, Problem, Unavailable, make_problem
from headwater.http.inputs.pagination import CURSOR, FOREIGN_CURSOR
from headwater.http.refusal_log import log_refusal
from headwater.spaces.currencies import write_amount

_TITLES = {
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This cannot be done here",
    409: "This cannot be done now",
    413: "This is too large",
    415: "Not a form",
    422: "Something is wrong with the form",
    429: "Too much at once",
    500: "Something went wrong",
    503: "Back in a moment",
}

_WRONG_ADDRESS = "This address is not valid"
"""The title for 422 without a form."""
_FORM_REFUSED = "The form was not accepted"
_RECORD_MISSING = (
    "What this form changes no longer exists, or you no longer have access to it. The form changed nothing."
)
"""The message for 404 after a form: the page was there when the form was opened."""
_PAGE_MISSING = "There is no page at this address. It was mistyped, or the page was removed."
_FOR_PEOPLE = {
    make_problem(404).message: _PAGE_MISSING,
    NotFound("Page").message: _PAGE_MISSING,
    make_problem(405).message: "This address doesn't support this kind of request.",
    Invalid.of(CURSOR.name, FOREIGN_CURSOR).message: (
        "The position in the list is not valid. Open the list again from its first page."
    ),
    make_problem(500).message: (
        "The service failed; its log has the details. Try again. If it still fails, contact the operator."
    ),
}
"""Replacements for messages that assume knowledge of HTTP."""

_LOADERS = [PackageLoader("headwater.console")]
_TEMPLATES = Environment(
    loader=ChoiceLoader(_LOADERS),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # an upgrade replaces the files under a running process
)
_DATE_FORMATS = {
    "day": format_day,
    "short_day": format_short_day,
    "weekday": format_weekday,
    "month": format_month,
}
_TEMPLATES.filters.update({**_DATE_FORMATS, "amount": write_amount})  # type: ignore[reportUnknownMemberType] # jinja2 has no type for it


def add_templates(package: str) -> None:
    """Register a package's `templates` folder. Names must be unique across packages."""
    _LOADERS.append(PackageLoader(package))


def policy(form_action: Sequence[str] = (), *, fetches: bool = False) -> str:
    """Build a content security policy. `form_action` lists origins that a form's answer may redirect to;
    `fetches` lets scripts request our own addresses.
    """
    targets = " ".join(("'self'", *form_action))
    connections = "connect-src 'self'; " if fetches else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"{connections}form-action {targets}; frame-ancestors 'none'; base-uri 'none'"
    )


HEADERS = {
    "Content-Security-Policy": policy(),
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

OPENED = {"Cross-Origin-Opener-Policy": "unsafe-none"}
"""A page that isolates itself from its opener also isolates every later page in its window."""


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    form_action: Sequence[str] = (),
    fetches: bool = False,
    **values: Any,
) -> Response:
    """Render a page. Templates get the values and `brand, sends_mail, path, visitor, inside, flash, asset,
    token, guest_token, when, clock`, the path of the Space's pages (`base`), whether the page answers a form
    (`is_answer`), and what base.html draws the sidebar from; `errors` holds form errors by field.
    """
    visitor = getattr(request.state, "visitor", None)
    flash = read_flash(request.cookies.get(cookie_name(request, "said")))
    settings = services(request).settings
    inside = getattr(request.state, "inside", None)
    common: dict[str, Any] = {
        "brand": settings.brand,
        "sends_mail": settings.sends_mail,
        "path": request.url.path,
        "is_answer": request.method == "POST",
        "visitor": visitor,
        "inside": inside,
        "base": inside and f"{HOME}/spaces/{inside.space.id}",
        "flash": flash,
        "asset": asset,
        "token": _tokens(request, guest=visitor is None),
        "guest_token": _tokens(request, guest=True),
        "when": when,
        "clock": clock,
        "navigation": ENTRIES,
        "on_phone": ON_PHONE,
        "more_pages": MORE_PAGES,
        "find_place": find_place,
        "page_tab": None,
        "period_query": _write_period(request),
        "folded": "folded" in request.cookies,
    }
    values["errors"] = _Refusals(values.get("errors", {}))
    text = _TEMPLATES.get_template(template).render(common | values)
    headers = {"Content-Type": "text/html; charset=utf-8"}
    if form_action or fetches:
        headers["Content-Security-Policy"] = policy(form_action, fetches=fetches)
    response = Response(text, status, headers)
    if flash is not None:
        delete_cookie(request, response, "said")
    if hasattr(request.state, "new_guest"):
        set_cookie(request, response, "guest", request.state.new_guest)
    return response


def refuse_link(request: Request, reason: str) -> Response:
    message = f"{reason} Ask for a new one."
    return render(request, "error.html", status=404, title="This link doesn't work", message=message)


def _write_period(request: Request) -> str:
    names = ("period", "start_date", "end_date")
    return urlencode([pair for pair in request.query_params.multi_items() if pair[0] in names])


class _Refusals(dict[str, list[str]]):
    """Empty for other fields."""

    def __missing__(self, field: str) -> list[str]:
        return []


def redirect(request: Request, location: str, flash: FlashMessage | None = None) -> Response:
    response = RedirectResponse(location, 303)
    if flash is not None:
        set_cookie(request, response, "said", flash.name, 60)
    return response


def _tokens(request: Request, *, guest: bool) -> Callable[[str], Markup]:
    """Return the template function for hidden tokens. Guest forms keep the guest's signature even after a
    login.
    """

    def field(form: str) -> Markup:
        key = guest_key(request) if guest else request.state.visitor.form_key
        return hidden_token(form_token(key, form))

    return field


def hidden_token(token: str) -> Markup:
    return Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN, token)


def when(moment: datetime | str, zone: str = "UTC") -> Markup:
    """Write a time, also one from JSON."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    text = format_day_and_time(moment.astimezone(ZoneInfo(zone)))
    exact_time = moment.astimezone(UTC).isoformat(timespec="seconds")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact_time, zone, text)


def clock(moment: datetime, zone: str = "UTC") -> Markup:
    exact_time = moment.astimezone(UTC).isoformat(timespec="seconds")
    local_time = f"{moment.astimezone(ZoneInfo(zone)):%H:%M:%S}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact_time, zone, local_time)


def pages_app(shared: Services, routes: Sequence[BaseRoute], opened: Collection[str]) -> ASGIApp:
    """Return an application that answers with pages, errors included. Other sites may open `opened` paths in
    a window and communicate with it.
    """
    app = Starlette(
        routes=list(routes),
        exception_handlers={
            SeeOther: _see_other,
            Problem: show_problem,
            HTTPException: show_problem,
            Exception: show_problem,
            **dict.fromkeys(UNAVAILABLE, show_problem),
        },
    )
    app.router.redirect_slashes = False
    provide(app, shared)
    return _Secured(app, opened)


class _Secured:
    """Add HEADERS to answers that don't set their own."""

    def __init__(self, app: ASGIApp, opened: Collection[str]) -> None:
        self._app, self._opened = app, opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        defaults = HEADERS | (OPENED if scope["path"] in self._opened else {})

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in defaults.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_secured)


async def _see_other(request: Request, error: Exception) -> Response:
    assert isinstance(error, SeeOther)
    return redirect(request, error.location)


async def show_problem(request: Request, error: Exception) -> Response:
    """Return a page, or JSON for a program. The page head shows the visitor's name if it can be read."""
    problem = _problem(error)
    if problem.status == 403:
        _log_refusal(request, problem)
    if _is_program(request):
        return Response(problem.body(), problem.status, problem.headers, "application/json")
    if problem.status < 500:
        try:
            await find_visitor(request)
        except UNAVAILABLE:
            request.state.visitor = None
    response = render(
        request,
        "error.html",
        status=problem.status,
        title=_title(request, problem),
        message=_message(request, problem),
        form_page=_form_page(request) if isinstance(problem, FormRefused) else None,
    )
    response.headers.update(problem.headers)
    return response


def _form_page(request: Request) -> str:
    """Return the form's page, with the query of one that sends its form to itself."""
    page, address = find_form_page(request), request.url
    return f"{page}?{address.query}" if page == address.path and address.query else page


def _log_refusal(request: Request, problem: Problem) -> None:
    """Log a refused form with its sender, and a refused permission with its user."""
    visitor = getattr(request.state, "visitor", None)
    inside = getattr(request.state, "inside", None)
    ids: dict[str, int] = {} if visitor is None else {"user_id": visitor.user.id}
    if inside is not None:
        ids["space_id"] = inside.space.id
    if not isinstance(problem, FormRefused):
        log_refusal("permission_missing", **ids)
        return
    trusted_proxies = services(request).settings.trusted_proxies
    log_refusal("form_refused", client_address(request.scope, trusted_proxies), **ids)


def _message(request: Request, problem: Problem) -> str:
    message = _FOR_PEOPLE.get(problem.message, problem.message)
    return _RECORD_MISSING if message == _PAGE_MISSING and request.method == "POST" else message


def _title(request: Request, problem: Problem) -> str:
    if isinstance(problem, FormRefused):
        return _FORM_REFUSED
    if problem.status == 422 and request.method != "POST":
        return _WRONG_ADDRESS
    return _TITLES.get(problem.status) or HTTPStatus(problem.status).phrase


def _is_program(request: Request) -> bool:
    accept_header = request.headers.get("accept", "")
    return "application/json" in accept_header and "text/html" not in accept_header


def _problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if error.status_code == 404:
            return NotFound("Page")
        return Problem(make_problem(error.status_code).message, error.status_code, headers=headers)
    if isinstance(error, UNAVAILABLE):
        requests_outage.fail(error)
        return Unavailable()
    return make_problem(500)


def wait_text(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} second{'s' * (seconds != 1)}"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' * (minutes != 1)}"
