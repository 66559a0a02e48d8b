"""Users admit or reject an assistant here. The posted form is checked against the same address again, which
its token is bound to.

Before the login no other server is called and no redirect sent, so strangers can't make us fetch or redirect.
A certainly invalid request is refused immediately.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import structlog
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from headwater.assistants.oauth.client_directory import ClientDirectory
from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.consent import ConsentOffer, list_choices
from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.metadata import AUTHORIZE
from headwater.assistants.oauth.requests import (
    LONGEST_QUERY,
    AuthorizationRequest,
    ReplyTarget,
    UntrustedRequest,
    read_client_id,
    read_parameters,
    read_reply_target,
    read_request,
)
from headwater.console.audited import change_account, make_action
from headwater.console.forms import TOKEN, PostedForm, once_token, read_form_once
from headwater.console.pages import add_templates, hidden_token, pages_app, render
from headwater.console.visitor import (
    AUTHENTICATOR,
    CONFIRM,
    LOGIN,
    Visitor,
    delete_cookie,
    find_visitor,
    lacks_factor,
    require_visitor,
)
from headwater.endpoints.services import Services, services
from headwater.http.compression import COMPRESSED
from headwater.http.errors import Forbidden
from headwater.spaces.accounts.authorization_codes import NewCode, make_code
from headwater.spaces.accounts.sessions import close_session, hold_session
from headwater.spaces.accounts.tokens import MAX_OF_A_VIEWER, MAX_TOKENS
from headwater.spaces.audit.entries import AuditChange, add_entry

FORM = "authorize"
_PAGE_USED = "This page was already used. Go back to the assistant, and connect it again."

add_templates("headwater.assistants.oauth")

log = structlog.get_logger()


class ConsentRequest(Struct, frozen=True):
    visitor: Visitor
    query: str
    request: AuthorizationRequest
    reply: ReplyTarget


Decide = Callable[[Request, ConsentRequest], Awaitable[Response]]


def _deciding(clients: ClientDirectory, decide: Decide) -> Callable[[Request], Awaitable[Response]]:
    """Handle valid requests. An untrusted client or redirect address is reported to the person, other errors
    to the client.
    """

    async def answer(request: Request) -> Response:
        try:
            query = _read_query(request)
            if await find_visitor(request) is None:
                await _check_before_login(clients, query, services(request).base_url)
                if request.method == "POST":
                    return _see(_consent_path(query))  # where the login redirects to
            visitor = await require_visitor(request)
            consent = await _read_trusted_request(request, clients, visitor, query)
            return consent if isinstance(consent, Response) else await decide(request, consent)
        except (UntrustedRequest, OAuthError) as error:
            reason = error.description if isinstance(error, OAuthError) else str(error)
            log.info("oauth_request_untrusted", why=reason)
            return render(request, "untrusted.html", status=400, why=reason)

    return answer


async def _check_before_login(clients: ClientDirectory, query: str, base_url: str) -> None:
    """Raise Untrusted for an unknown client or foreign redirect address, if certain without calling another
    server. This spares the user a useless login.
    """
    parameters = read_parameters(query.encode())
    client_id = read_client_id(parameters)
    hosted = clients.hosting(client_id)
    if hosted is None:
        client = _require_client(await clients.find_registered(client_id))
    else:
        client = hosted.recall(client_id)
        if client is None:
            return  # its document is fetched after the login
    read_reply_target(parameters, client, base_url)


def _require_client(client: OAuthClient | None) -> OAuthClient:
    if client is None:
        raise UntrustedRequest("The assistant's client_id is unknown.")
    return client


async def _read_trusted_request(
    request: Request, clients: ClientDirectory, visitor: Visitor, query: str
) -> ConsentRequest | Response:
    """Return the request, or the answer to a client that may not send it. Raise Untrusted or OAuthError if
    the client or redirect address isn't trusted.
    """
    base_url = services(request).base_url
    parameters = read_parameters(query.encode())
    client = _require_client(await clients.find(read_client_id(parameters)))
    redirect, reply = read_reply_target(parameters, client, base_url)
    try:
        authorization = read_request(parameters, client, redirect, base_url)
    except OAuthError as refusal:
        log.info("oauth_request_refused", error=refusal.error, client=client.display_name)
        return _see(reply.failure(refusal.error, refusal.description))
    return ConsentRequest(visitor, query, authorization, reply)


async def show_consent(request: Request, consent: ConsentRequest) -> Response:
    """Show the page, which never agrees by itself."""
    async with services(request).database.connection() as connection:
        offer = await _offer(connection, consent)
    return _page(request, consent, offer)


async def post_consent(request: Request, consent: ConsentRequest) -> Response:
    """Accept, reject, or log in as another user."""
    form = await read_form_once(request, consent.visitor.form_key, FORM, consent.query)
    decision = form.text("decision")
    if decision == "switch":
        return await _switch(request, consent)
    if decision != "approve":
        return _see(consent.reply.failure("access_denied", "The person said no."))
    if not consent.visitor.session.is_fresh:
        return _see(_leading_back(CONFIRM, consent))
    return await _approve(request, consent, form)


async def _approve(request: Request, consent: ConsentRequest, form: PostedForm) -> Response:
    session = consent.visitor.session
    async with services(request).database.transaction() as connection:
        if not await hold_session(connection, session):
            return _see(_consent_path(consent.query))
        offer = await _offer(connection, consent)
        choice = offer.find(form.text("space_id"))
        if choice is None:
            return _page(request, consent, offer, status=422, problem="Choose a Space.")
        if lacks_factor(request, session, space_requires=choice.require_second_factor):
            return _see(_leading_back(AUTHENTICATOR, consent))
        user_id = consent.visitor.user.id
        client_request = consent.request
        new = NewCode(
            space_id=choice.space_id,
            user_id=user_id,
            consent=form.text(TOKEN),
            client_id=client_request.client.id,
            client_name=client_request.client.display_name,
            redirect_uri=client_request.redirect.text,
            code_challenge=client_request.code_challenge,
            resource=client_request.resource,
            read_only=client_request.read_only or bool(form.text("read_only")),
        )
        code = await make_code(connection, new)
        if code is None:
            raise Forbidden(_PAGE_USED)
        facts = {"name": new.client_name, "client_id": new.client_id, "read_only": new.read_only}
        change = AuditChange("assistant_token", after=facts)
        await add_entry(connection, make_action(request, user_id, choice.space_id), [change])
    log.info(
        "oauth_consent", space_id=choice.space_id, user_id=user_id, client=consent.request.client.display_name
    )
    return _see(consent.reply.success(code))


async def _switch(request: Request, consent: ConsentRequest) -> Response:
    """Log out, and return here after another login."""
    visitor = consent.visitor
    async with change_account(request, visitor.user.id, "session") as connection:
        await close_session(connection, visitor.user.id, visitor.session.id)
    response = _see(_leading_back(LOGIN, consent))
    delete_cookie(request, response, "session")
    return response


async def _offer(connection: AsyncConnection, consent: ConsentRequest) -> ConsentOffer:
    return await list_choices(connection, consent.visitor.user.id, consent.request.space_id)


def _page(
    request: Request,
    consent: ConsentRequest,
    offer: ConsentOffer,
    *,
    status: int = 200,
    problem: str | None = None,
) -> Response:
    key = consent.visitor.form_key
    values: dict[str, Any] = {
        "client": consent.request.client,
        "redirect": consent.request.redirect,
        "offer": offer,
        "read_only": consent.request.read_only,
        "most": MAX_TOKENS,
        "most_of_a_viewer": MAX_OF_A_VIEWER,
        "action": _consent_path(consent.query),
        "once": hidden_token(once_token(key, FORM, consent.query)),
        "problem": problem,
    }
    target = consent.request.redirect.form_target
    return render(request, "consent.html", status=status, form_action=[target], **values)


def _read_query(request: Request) -> str:
    query: bytes = request.scope["query_string"]
    if len(query) > LONGEST_QUERY:
        raise UntrustedRequest(f"The address is longer than {LONGEST_QUERY // 1024} KB.")
    if not query.isascii():
        request.scope["query_string"] = b""  # the page can't be rendered at such an address
        raise UntrustedRequest("The address cannot be read.")
    return query.decode()


def _consent_path(query: str) -> str:
    return f"{AUTHORIZE}?{query}"


def _leading_back(page: str, consent: ConsentRequest) -> str:
    """Return the address of a page that leads back here."""
    return f"{page}?next={quote(_consent_path(consent.query), safe='/')}"


def _see(location: str) -> RedirectResponse:
    return RedirectResponse(location, 303)


def authorize_routes(shared: Services, clients: ClientDirectory) -> list[Route]:
    routes = [
        Route(AUTHORIZE, _deciding(clients, show_consent), methods=["GET"]),
        Route(AUTHORIZE, _deciding(clients, post_consent), methods=["POST"]),
    ]
    return [Route(AUTHORIZE, pages_app(shared, routes, opened=[AUTHORIZE]), middleware=COMPRESSED)]
