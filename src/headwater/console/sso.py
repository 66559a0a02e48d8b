"""Single sign-on: to the provider, back with its answer, and what was refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import make_action
from headwater.console.login import replace_session
from headwater.console.pages import OPENED, redirect, render
from headwater.console.visitor import (
    HOME,
    LOGIN,
    cookie_name,
    delete_cookie,
    find_visitor,
    local_path,
    log_in,
    set_cookie,
)
from headwater.endpoints.services import Services, services
from headwater.http.clients import address_subject, client_address
from headwater.spaces.accounts.attempts import give_back, take_attempt, tidy_attempts
from headwater.spaces.accounts.sessions import ProviderSession
from headwater.spaces.accounts.users import User
from headwater.spaces.audit.entries import AuditChange, add_entry
from headwater.spaces.audit.kinds import HIDDEN_VALUE, Kind
from headwater.spaces.audit.subjects import recording
from headwater.spaces.sso.id_tokens import is_identifier
from headwater.spaces.sso.identities import Admission, admit, read_account
from headwater.spaces.sso.providers import SsoProvider, fetch_provider
from headwater.spaces.sso.refusals import SsoReason, SsoRefused
from headwater.spaces.sso.sign_in import (
    LONGEST_NEXT,
    SIGN_IN_SECONDS,
    PendingSignIn,
    SignInTokens,
    begin_sign_in,
    check_answer,
    exchange_code,
    make_authorization_url,
    open_pending,
    seal_id_token,
    seal_pending,
)

ATTEMPTS = 30
WINDOW_SECONDS = 15 * 60
SSO = f"{LOGIN}/sso/{{provider}}"
_OF_MEMBERSHIPS: tuple[Kind, ...] = ("member", "invitation", "assistant_token")
"""What the end of a membership changes."""

log = structlog.get_logger()


def _explaining(handle: Callable[[Request, SsoProvider], Awaitable[Response]]) -> Any:
    """Find the provider, and show why a sign-in was refused. Raise NotFound without a provider."""

    async def answer(request: Request) -> Response:
        name = request.path_params["provider"]
        async with services(request).database.connection() as connection:
            provider = await fetch_provider(connection, name)
        await find_visitor(request)
        try:
            response = await handle(request, provider)
        except SsoRefused as refusal:
            log.warning("sso_refused", provider=name, reason=refusal.reason)
            response = _refuse(request, provider, refusal)
        response.headers.update(OPENED)  # a window of an assistant keeps its opener
        return response

    return answer


def _refuse(request: Request, provider: SsoProvider, refusal: SsoRefused) -> Response:
    is_away = refusal.reason is SsoReason.PROVIDER_UNREACHABLE
    response = render(
        request, "sso_refused.html", status=503 if is_away else 403, provider=provider, refused=refusal
    )
    delete_cookie(request, response, "sso")
    return response


async def start(request: Request, provider: SsoProvider) -> Response:
    """Redirect to the provider. `?choose` lets the person choose another account there."""
    shared = services(request)
    metadata = await shared.providers.find_metadata(provider.issuer)
    next_path = local_path(request.query_params.get("next"))
    fits = len(next_path.encode()) <= LONGEST_NEXT
    pending = begin_sign_in(provider.name, next_path if fits else HOME)
    target = make_authorization_url(
        provider, metadata, pending, _redirect_uri(shared, provider), choose="choose" in request.query_params
    )
    response = redirect(request, target)
    set_cookie(request, response, "sso", seal_pending(shared.sealing_key, pending), SIGN_IN_SECONDS)
    return response


async def finish(request: Request, provider: SsoProvider) -> Response:
    """Log in with the provider's answer."""
    shared = services(request)
    metadata = await shared.providers.find_metadata(provider.issuer)
    answer = dict(request.query_params)
    cookie = open_pending(shared.sealing_key, request.cookies.get(cookie_name(request, "sso"), ""))
    pending = check_answer(cookie, provider, metadata, answer)
    address = address_subject(client_address(request.scope, shared.settings.trusted_proxies))
    await _count(shared, pending, address)
    tokens = await exchange_code(
        shared.providers,
        provider,
        metadata,
        {
            "code": answer["code"],
            "redirect_uri": _redirect_uri(shared, provider),
            "code_verifier": pending.verifier,
        },
        (provider.secret(shared.sealing_key), pending.nonce),
    )
    token, user = await _admit(request, provider, tokens)
    async with shared.database.connection() as connection:
        await give_back(connection, "sso from", address)
        await tidy_attempts(connection)
    log.info("sso_login", provider=provider.name, user_id=user.id)
    response = redirect(request, pending.next_path)
    log_in(request, response, token)
    delete_cookie(request, response, "sso")
    return response


async def _count(shared: Services, pending: PendingSignIn, address: str) -> None:
    """Use up the sign-in, once, and one attempt of the address. Raise SsoRefused."""
    async with shared.database.transaction() as connection:
        attempt = await take_attempt(connection, "sso", pending.state, 1, SIGN_IN_SECONDS + 60)
        verdict = await take_attempt(connection, "sso from", address, ATTEMPTS, WINDOW_SECONDS)
    if not attempt.admitted:
        raise SsoRefused(SsoReason.USED_BEFORE)
    if not verdict.admitted:
        raise SsoRefused(SsoReason.TOO_MANY_ATTEMPTS)


async def _admit(request: Request, provider: SsoProvider, tokens: SignInTokens) -> tuple[str, User]:
    """Return a new session's token and its user. Raise SsoRefused."""
    shared, before = services(request), await find_visitor(request)
    account = read_account(provider.settings, tokens.claims)
    sid = tokens.claims.get("sid")
    origin = ProviderSession(
        provider.name,
        sid if is_identifier(sid) else None,
        seal_id_token(shared.sealing_key, provider.name, tokens.id_token),
    )
    async with shared.database.transaction() as connection:
        provider = await fetch_provider(connection, provider.name)

        def record(user_id: int, space_id: int) -> AbstractAsyncContextManager[object]:
            return recording(connection, make_action(request, user_id, space_id), _OF_MEMBERSHIPS)

        admission = await admit(connection, provider, account, record, before and before.user.id)
        user = admission.user
        token, session_changes = await replace_session(connection, request, user, before, origin)
        if changes := [*_list_changes(admission, provider.name), *session_changes]:
            await add_entry(connection, make_action(request, user.id), changes)
        return token, user


def _list_changes(admission: Admission, provider: str) -> list[AuditChange]:
    """Return what an admission changed of the user; its roles are recorded in their Spaces."""
    user_id, changes = admission.user.id, list[AuditChange]()
    if admission.is_new:
        changes.append(AuditChange("user", user_id, after={"email": HIDDEN_VALUE}))
    if admission.is_linked:
        changes.append(AuditChange("sso_account", user_id, after={"provider": provider}))
    return changes


def _redirect_uri(shared: Services, provider: SsoProvider) -> str:
    return f"{shared.base_url}{provider.path}/callback"


ROUTES = [
    Route(SSO, _explaining(start), methods=["GET"]),
    Route(f"{SSO}/callback", _explaining(finish), methods=["GET"]),
]
