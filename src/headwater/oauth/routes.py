"""The endpoints that clients ask directly: discovery, registration, tokens. Each answers JSON,
whatever happens, and may be asked from any page: none of them looks at a cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headwater.accounts.authorization_codes import find_code
from headwater.database.pool import UNAVAILABLE
from headwater.http.bodies import read_body
from headwater.http.clients import address_subject, client_address
from headwater.http.errors import Invalid, Problem, shorten
from headwater.http.json_decoder import decode_storable
from headwater.oauth.client_metadata import is_document_url
from headwater.oauth.clients import OAuthClient, read_registration
from headwater.oauth.errors import CORS, NO_STORE, OAuthError
from headwater.oauth.metadata import (
    REGISTER,
    TOKEN,
    resource_metadata,
    server_metadata,
    space_of_path,
)
from headwater.oauth.registrations import (
    count_registration,
    fetch_client,
    register_client,
    tell_client,
)
from headwater.oauth.requests import UntrustedRequest, read_parameters
from headwater.oauth.token_exchange import check_form, exchange

MAX_BODY = 64 * 1024
LONGEST_LOGGED = 200
"""Of a path: anybody may send any."""
FORM = "application/x-www-form-urlencoded"
PREFLIGHT = CORS | {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Authorization, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
DISCOVERABLE = CORS | {"Cache-Control": "public, max-age=3600"}

Handler = Callable[[Request], Awaitable[Response]]

log = structlog.get_logger()


def _answering(handle: Handler) -> Handler:
    """A handler whose refusals and failures are answered as OAuth has it."""

    async def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PREFLIGHT)
        try:
            return await handle(request)
        except OAuthError as error:
            log.info(
                "oauth_refused", path=shorten(request.url.path, LONGEST_LOGGED), error=error.error
            )
            return error.answer()
        except UNAVAILABLE:
            headers = {"Retry-After": "2"}
            words = "The service is temporarily unavailable; try again."
            return OAuthError("temporarily_unavailable", words, 503, headers).answer()

    return answer


async def show_server(request: Request) -> Response:
    """The authorization server's metadata, in every form of its address."""
    path = request.path_params.get("path", "")
    if path not in ("", "mcp/oauth") and space_of_path(f"/{path}") is None:
        return _not_found()
    headwater = request.app.state.headwater
    hosted = headwater.settings.hosted_clients
    metadata = server_metadata(headwater.base_url, hosted_documents=hosted)
    return JSONResponse(metadata, headers=DISCOVERABLE)


async def show_resource(request: Request) -> Response:
    """A Space's protected resource, in both forms of its address."""
    space_id = space_of_path(f"/{request.path_params.get('path', '')}")
    if space_id is None:
        return _not_found()
    headwater = request.app.state.headwater
    metadata = resource_metadata(headwater.base_url, headwater.settings.brand, space_id)
    return JSONResponse(metadata, headers=DISCOVERABLE)


async def register(request: Request) -> Response:
    """Register a client (RFC 7591)."""
    headwater = request.app.state.headwater
    settings = headwater.settings
    address = address_subject(client_address(request.scope, settings.trusted_proxies))
    async with headwater.database.transaction() as connection:
        await count_registration(connection, address)
    given = _read_json(await _read_body(request))
    hosts = settings.assistant_hosts
    registration = read_registration(given, settings.brand, hosts)
    async with headwater.database.transaction() as connection:
        told = await register_client(connection, registration, headwater.base_url)
    return JSONResponse(told, 201, headers=NO_STORE | CORS)


async def show_client(request: Request) -> Response:
    """What a client was told when it registered."""
    headwater = request.app.state.headwater
    client_id = request.path_params["client_id"]
    async with headwater.database.connection() as connection:
        told = await tell_client(connection, client_id, headwater.base_url)
    if told is None:
        raise OAuthError("invalid_client", "The client is not known.", 401)
    return JSONResponse(told, headers=NO_STORE | CORS)


async def give_token(request: Request) -> Response:
    """Exchange a code for a token (RFC 6749 §4.1.3, RFC 7636 §4.5)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise OAuthError("invalid_request", f"The body must be {FORM}.")
    if "authorization" in request.headers:
        challenge = {"WWW-Authenticate": 'Basic realm="clients have no secret"'}
        raise OAuthError("invalid_client", "Clients have no secret here.", 401, challenge)
    try:
        form = read_parameters(await _read_body(request))
    except UntrustedRequest:
        raise OAuthError("invalid_request", "The body cannot be read.") from None
    client_id = check_form(form)
    headwater = request.app.state.headwater
    client = await _who_asks(headwater, client_id, form.one("code") or "")
    async with headwater.database.transaction() as connection:
        answer = await exchange(connection, form, client, headwater.base_url)
    if isinstance(answer, OAuthError):
        raise answer
    return JSONResponse(answer, headers=NO_STORE | CORS)


async def _who_asks(headwater: Any, client_id: str, code: str) -> OAuthClient | None:
    """The client that asks for a token. None for one with a document to whom the code was not
    given: only who was let in by a person has us ask another server, and no stranger.
    """
    if hosts_document(headwater, client_id):
        async with headwater.database.connection() as connection:
            found = await find_code(connection, code)
        if found is None or found[1] != client_id:
            return None
    client = await find_client(headwater, client_id)
    if client is None:
        raise OAuthError("invalid_client", "The client is not known.", 401)
    return client


async def find_client(headwater: Any, client_id: str) -> OAuthClient | None:
    """The client with an id: registered, or hosting its document there. Raises OAuthError when the
    document cannot be used.
    """
    if hosts_document(headwater, client_id):
        return await headwater.hosted_clients.fetch(client_id)
    async with headwater.database.transaction() as connection:
        return await fetch_client(connection, client_id)


def hosts_document(headwater: Any, client_id: str) -> bool:
    """Whether a client is one that hosts a metadata document, to be fetched from there."""
    return headwater.settings.hosted_clients and is_document_url(client_id)


async def _read_body(request: Request) -> bytes:
    try:
        return await read_body(request.receive, MAX_BODY)
    except Problem as problem:
        raise OAuthError("invalid_request", problem.message, problem.status) from None


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        given = decode_storable(body)
    except Invalid as error:
        raise OAuthError("invalid_client_metadata", error.message) from None
    if not isinstance(given, dict):
        raise OAuthError("invalid_client_metadata", "The body must be a JSON object.")
    return cast("dict[str, Any]", given)


def _not_found() -> Response:
    return JSONResponse({"message": "Not Found."}, 404, headers=CORS)


def _route(path: str, handler: Handler, *methods: str) -> Route:
    return Route(path, _answering(handler), methods=[*methods, "OPTIONS"], include_in_schema=False)


_SERVER = ("oauth-authorization-server", "openid-configuration")
_RESOURCE = "oauth-protected-resource"

OAUTH_ROUTES = [
    *(_route(f"/.well-known/{name}", show_server, "GET") for name in _SERVER),
    *(_route(f"/.well-known/{name}/{{path:path}}", show_server, "GET") for name in _SERVER),
    *(_route(f"/{{path:path}}/.well-known/{name}", show_server, "GET") for name in _SERVER),
    _route(f"/.well-known/{_RESOURCE}", show_resource, "GET"),
    _route(f"/.well-known/{_RESOURCE}/{{path:path}}", show_resource, "GET"),
    _route(f"/{{path:path}}/.well-known/{_RESOURCE}", show_resource, "GET"),
    _route(REGISTER, register, "POST"),
    _route(f"{REGISTER}/{{client_id}}", show_client, "GET"),
    _route(TOKEN, give_token, "POST"),
]
