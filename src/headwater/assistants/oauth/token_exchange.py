"""Exchange a code and its verifier for a token, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from psycopg import AsyncConnection

from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.metadata import READ_SCOPE, SCOPE, parse_resource_url
from headwater.assistants.oauth.registrations import note_use
from headwater.assistants.oauth.requests import AuthorizationParameters
from headwater.http.errors import NotFound
from headwater.spaces.accounts.authorization_codes import AuthorizationGrant, find_code, note_token, use_code
from headwater.spaces.accounts.members import lock_members
from headwater.spaces.accounts.tokens import NewToken, TooManyTokens, issue_token

LIFETIME = timedelta(days=365)
GRANT = "authorization_code"
LONGEST = 4096

_REQUIRED = ("code", "redirect_uri", "code_verifier")
_SECRETS = ("client_secret", "client_assertion", "client_assertion_type")

log = structlog.get_logger()


def check_form(form: AuthorizationParameters) -> str:
    """Return the client id. Raise OAuthError."""
    repeated = form.repeated()
    if repeated is not None:
        error = "invalid_target" if repeated == "resource" else "invalid_request"
        raise OAuthError(error, f"{repeated} must not be given twice.")
    if any(name in form.values for name in _SECRETS):
        raise OAuthError("invalid_client", "Clients have no secret here.", 401)
    grant = form.single("grant_type")
    if grant is None:
        raise OAuthError("invalid_request", "grant_type is required.")
    if grant != GRANT:
        raise OAuthError("unsupported_grant_type", f"The only grant_type is {GRANT}.")
    client_id = form.single("client_id")
    if client_id is None:
        raise OAuthError("invalid_request", "client_id is required.")
    for name in _REQUIRED:
        value = form.single(name)
        if value is None:
            raise OAuthError("invalid_request", f"{name} is required.")
        if len(value) > LONGEST:
            raise OAuthError("invalid_request", f"{name} is too long.")
    return client_id


async def exchange(
    connection: AsyncConnection, form: AuthorizationParameters, client: OAuthClient | None, base_url: str
) -> dict[str, Any] | OAuthError:
    """Answer a checked form; without `client` the code belongs to another one.

    Errors are returned, not raised, so that effects on the code and its token are committed.
    """
    grant = await _use(connection, form.single("code") or "")
    if grant is None:
        return _invalid("The code is unknown, or was used before.")
    refusal = _refuse(form, client, grant, base_url)
    if refusal is not None:
        return refusal
    name = grant.client_name
    new = NewToken(grant.user_id, "oauth", name, grant.client_id, LIFETIME, grant.read_only)
    try:
        token, token_id = await issue_token(connection, grant.space_id, new)
    except TooManyTokens as error:
        return _invalid(error.message)
    except NotFound:
        return _invalid("The user is no longer a member of the Space.")
    await note_token(connection, grant, token_id)
    await note_use(connection, grant.client_id)
    log.info("oauth_token_issued", space_id=grant.space_id, user_id=grant.user_id, client=name)
    return {
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": int(LIFETIME.total_seconds()),
        "scope": READ_SCOPE if grant.read_only else SCOPE,
    }


async def _use(connection: AsyncConnection, code: str) -> AuthorizationGrant | None:
    """Lock the Space's memberships first, because ending a membership also ends its codes and the two must
    not deadlock.
    """
    owner = await find_code(connection, code)
    if owner is not None:
        await lock_members(connection, owner[0])
    return await use_code(connection, code)


def _refuse(
    form: AuthorizationParameters, client: OAuthClient | None, grant: AuthorizationGrant, base_url: str
) -> OAuthError | None:
    """Return why a code is invalid for its sender. It is used up in any case."""
    redirect_uri = form.single("redirect_uri") or ""
    rules = (
        (grant.is_fresh, "The code has expired."),
        (client is not None and client.id == grant.client_id, "The code was given to another client."),
        (redirect_uri == grant.redirect_uri, "The redirect_uri differs from the authorization request's."),
        (
            client is not None and client.find_redirect(redirect_uri) is not None,
            "The redirect_uri is no longer registered for the client.",
        ),
        (
            grant.is_verified_by(form.single("code_verifier") or ""),
            "The code_verifier does not match the code_challenge.",
        ),
    )
    broken_rule = next((words for holds, words in rules if not holds), None)
    if broken_rule is not None:
        return _invalid(broken_rule)
    resource = form.single("resource")
    if resource is not None and parse_resource_url(base_url, resource) != grant.space_id:
        return OAuthError("invalid_target", "The resource differs from the granted one.")
    return None


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_grant", description)
