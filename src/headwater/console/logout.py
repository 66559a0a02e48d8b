"""Logout: here, at the provider that the session began with, and when the provider reports one."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headwater.console.audited import change_account, make_action
from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form
from headwater.console.pages import redirect, render
from headwater.console.sso import SSO
from headwater.console.visitor import LOGIN, delete_cookie, find_visitor
from headwater.endpoints.services import services
from headwater.http.bodies import read_body
from headwater.http.errors import NotFound
from headwater.spaces.accounts.attempts import take_attempt
from headwater.spaces.accounts.sessions import ProviderSession, close_provider_sessions, close_session
from headwater.spaces.audit.entries import AuditChange, add_entry
from headwater.spaces.sso.id_tokens import LONGEST_TOKEN, ExpectedClaims, check_logout_token
from headwater.spaces.sso.identities import find_linked_user
from headwater.spaces.sso.providers import SsoProvider, fetch_provider
from headwater.spaces.sso.refusals import SsoReason, SsoRefused
from headwater.spaces.sso.sign_in import make_logout_url

ONCE_SECONDS = 24 * 60 * 60

log = structlog.get_logger()


async def post_logout(request: Request) -> Response:
    visitor = await find_visitor(request)
    if visitor is None:
        return redirect(request, LOGIN)
    await read_form(request, visitor.form_key, "logout")
    async with change_account(request, visitor.user.id, "session") as connection:
        origin = await close_session(connection, visitor.user.id, visitor.session.id)
    request.state.visitor = None
    response = await _offer_provider_logout(request, origin)
    response = response or redirect(request, LOGIN, FlashMessage.LOGGED_OUT)
    delete_cookie(request, response, "session")
    return response


async def _offer_provider_logout(request: Request, origin: ProviderSession) -> Response | None:
    """Return a page with a link to the provider's own logout, or None if it has none. A form's answer must
    not redirect there, by our content security policy.
    """
    if origin.provider is None:
        return None
    shared = services(request)
    try:
        async with shared.database.connection() as connection:
            provider = await fetch_provider(connection, origin.provider)
        metadata = await shared.providers.find_metadata(provider.issuer)
    except (NotFound, SsoRefused):
        return None
    url = make_logout_url(provider, metadata, origin.id_token, shared.sealing_key, shared.base_url + LOGIN)
    return None if url is None else render(request, "logged_out.html", provider=provider, url=url)


async def post_backchannel(request: Request) -> Response:
    """End the sessions that the provider reports as logged out."""
    shared, name = services(request), request.path_params["provider"]
    async with shared.database.connection() as connection:
        provider = await fetch_provider(connection, name)
    try:
        claims = await _read_logout(request, provider)
    except SsoRefused as refusal:
        log.warning("sso_logout_refused", provider=name, reason=refusal.reason)
        return JSONResponse({"error": "invalid_request", "error_description": refusal.text}, 400)
    subject, sid = claims.get("sub"), claims.get("sid")
    async with shared.database.transaction() as connection:
        user_id = await find_linked_user(connection, name, subject) if isinstance(subject, str) else None
        is_known = user_id is not None or subject is None
        if is_known and await close_provider_sessions(connection, name, sid, user_id):
            change = AuditChange("session", after={"ended_by": name})
            await add_entry(connection, make_action(request, user_id), [change])
    return Response(status_code=200)


async def _read_logout(request: Request, provider: SsoProvider) -> dict[str, Any]:
    """Return the claims of a new logout token. Raise SsoRefused."""
    shared = services(request)
    token = await read_logout_token(request)
    metadata = await shared.providers.find_metadata(provider.issuer)
    expected_claims = ExpectedClaims(metadata.issuer, provider.client_id, time.time())
    claims = await shared.providers.verify(
        metadata, lambda keys: check_logout_token(token, keys, expected_claims)
    )
    async with shared.database.transaction() as connection:
        attempt = await take_attempt(connection, "sso logout", token, 1, ONCE_SECONDS)
    if not attempt.admitted:
        raise SsoRefused(SsoReason.USED_BEFORE)
    return claims


async def read_logout_token(request: Request) -> str:
    """Raise SsoRefused."""
    body = await read_body(request.receive, 2 * LONGEST_TOKEN)
    try:
        return dict(parse_qsl(body.decode(), strict_parsing=True, max_num_fields=20))["logout_token"]
    except (ValueError, KeyError):
        raise SsoRefused(SsoReason.MALFORMED_TOKEN) from None


ROUTES = [
    Route("/logout", post_logout, methods=["POST"]),
    Route(f"{SSO}/logout", post_backchannel, methods=["POST"]),
]
