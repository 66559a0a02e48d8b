"""Discovery, registration and tokens for clients. All answers, errors included, are JSON. Any page may call
them because none reads a cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headwater.assistants.oauth.client_directory import ClientDirectory
from headwater.assistants.oauth.clients import OAuthClient, read_registration
from headwater.assistants.oauth.errors import CORS, NO_STORE, OAuthError
from headwater.assistants.oauth.metadata import (
    REGISTER,
    TOKEN,
    parse_resource_path,
    resource_metadata,
    server_metadata,
)
from headwater.assistants.oauth.registrations import count_registration, fetch_registration, register_client
from headwater.assistants.oauth.requests import UntrustedRequest, read_parameters
from headwater.assistants.oauth.token_exchange import check_form, exchange
from headwater.database.pool import UNAVAILABLE
from headwater.endpoints.services import services
from headwater.http.bodies import read_body
from headwater.http.clients import address_subject, client_address
from headwater.http.errors import Invalid, Problem, shorten
from headwater.http.json_decoder import decode_storable
from headwater.spaces.accounts.authorization_codes import find_code

MAX_BODY = 64 * 1024
LONGEST_LOGGED = 200
"""Maximum characters of a logged path, because paths are untrusted."""
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

    async def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PREFLIGHT)
        try:
            return await handle(request)
        except OAuthError as error:
            log.info("oauth_refused", path=shorten(request.url.path, LONGEST_LOGGED), error=error.error)
            return error.answer()
        except UNAVAILABLE:
            headers = {"Retry-After": "2"}
            words = "The service is temporarily unavailable; try again."
            return OAuthError("temporarily_unavailable", words, 503, headers).answer()

    return answer


async def show_server(request: Request) -> Response:
    path = request.path_params.get("path", "")
    if path not in ("", "mcp/oauth") and parse_resource_path(f"/{path}") is None:
        return _make_not_found()
    shared = services(request)
    hosted = shared.settings.hosted_clients
    metadata = server_metadata(shared.base_url, hosted_documents=hosted)
    return JSONResponse(metadata, headers=DISCOVERABLE)


async def show_resource(request: Request) -> Response:
    space_id = parse_resource_path(f"/{request.path_params.get('path', '')}")
    if space_id is None:
        return _make_not_found()
    shared = services(request)
    metadata = resource_metadata(shared.base_url, shared.settings.brand, space_id)
    return JSONResponse(metadata, headers=DISCOVERABLE)


async def register(request: Request) -> Response:
    """Register a client (RFC 7591)."""
    shared = services(request)
    settings = shared.settings
    address = address_subject(client_address(request.scope, settings.trusted_proxies))
    async with shared.database.transaction() as connection:
        await count_registration(connection, address)
    metadata = _read_json(await _read_body(request))
    hosts = settings.assistant_hosts
    registration = read_registration(metadata, settings.brand, hosts)
    async with shared.database.transaction() as connection:
        registered_client = await register_client(connection, registration, shared.base_url)
    return JSONResponse(registered_client, 201, headers=NO_STORE | CORS)


async def show_client(request: Request) -> Response:
    shared = services(request)
    client_id = request.path_params["client_id"]
    async with shared.database.connection() as connection:
        registered_client = await fetch_registration(connection, client_id, shared.base_url)
    if registered_client is None:
        raise OAuthError("invalid_client", "The client is not known.", 401)
    return JSONResponse(registered_client, headers=NO_STORE | CORS)


async def give_token(clients: ClientDirectory, request: Request) -> Response:
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
    client = await _find_entitled(clients, client_id, form.single("code") or "")
    shared = services(request)
    async with shared.database.transaction() as connection:
        answer = await exchange(connection, form, client, shared.base_url)
    if isinstance(answer, OAuthError):
        raise answer
    return JSONResponse(answer, headers=NO_STORE | CORS)


async def _find_entitled(clients: ClientDirectory, client_id: str, code: str) -> OAuthClient | None:
    """Return None for a client with a document that doesn't own the code: only an admitted client may make us
    call another server.
    """
    if clients.hosting(client_id) is not None:
        async with clients.database.connection() as connection:
            code_grant = await find_code(connection, code)
        if code_grant is None or code_grant[1] != client_id:
            return None
    client = await clients.find(client_id)
    if client is None:
        raise OAuthError("invalid_client", "The client is not known.", 401)
    return client


async def _read_body(request: Request) -> bytes:
    try:
        return await read_body(request.receive, MAX_BODY)
    except Problem as problem:
        raise OAuthError("invalid_request", problem.message, problem.status) from None


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        value = decode_storable(body)
    except Invalid as error:
        raise OAuthError("invalid_client_metadata", error.message) from None
    if not isinstance(value, dict):
        raise OAuthError("invalid_client_metadata", "The body must be a JSON object.")
    return cast("dict[str, Any]", value)


def _make_not_found() -> Response:
    return JSONResponse({"message": "Not Found."}, 404, headers=CORS)


def _route(path: str, handler: Handler, *methods: str) -> Route:
    return Route(path, _answering(handler), methods=[*methods, "OPTIONS"])


_SERVER = ("oauth-authorization-server", "openid-configuration")
_RESOURCE = "oauth-protected-resource"


def oauth_routes(clients: ClientDirectory) -> list[Route]:
    return [
        *(_route(f"/.well-known/{name}", show_server, "GET") for name in _SERVER),
        *(_route(f"/.well-known/{name}/{{path:path}}", show_server, "GET") for name in _SERVER),
        *(_route(f"/{{path:path}}/.well-known/{name}", show_server, "GET") for name in _SERVER),
        _route(f"/.well-known/{_RESOURCE}", show_resource, "GET"),
        _route(f"/.well-known/{_RESOURCE}/{{path:path}}", show_resource, "GET"),
        _route(f"/{{path:path}}/.well-known/{_RESOURCE}", show_resource, "GET"),
        _route(REGISTER, register, "POST"),
        _route(f"{REGISTER}/{{client_id}}", show_client, "GET"),
        _route(TOKEN, partial(give_token, clients), "POST"),
    ]
