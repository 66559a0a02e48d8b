"""The composition root: puts the rooms together into one ASGI application.

The only module that knows everything. It holds no rules of its own, except which routes stand
before the framework because they carry the traffic.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater import __version__
from headwater.accounts.passwords import Passwords
from headwater.ads.operations import router as ads_router
from headwater.browsing.places import Places
from headwater.companies.operations import router as companies_router
from headwater.console.browsers import (
    ForBrowsers,
    show_assistant_address,
    show_missing,
    wants_page,
)
from headwater.console.routes import console_routes
from headwater.contacts.merge_alerts import merge_figures
from headwater.contacts.operations import router as contacts_router
from headwater.database.allowance import begin_request
from headwater.database.pool import UNAVAILABLE, Database
from headwater.egress.client import Egress
from headwater.events.operations import router as events_router
from headwater.exports.operations import DOWNLOAD_ROUTES
from headwater.exports.operations import router as exports_router
from headwater.forwarding.delivery_operations import router as journal_router
from headwater.forwarding.metrics import forwarding_figures
from headwater.forwarding.operations import router as destinations_router
from headwater.forwarding.origins import named_hosts
from headwater.http import openapi
from headwater.http.admission import BodyBudget
from headwater.http.errors import NotAllowed, Problem, Unavailable, plain
from headwater.http.health import (
    HEALTH_ROUTES,
    READY_SECONDS,
    healthz,
    read_backlog,
    takes_writes,
)
from headwater.http.shared import Shared
from headwater.ingest.endpoints import (
    BUCKET,
    EVENTS,
    TOUCHPOINTS,
    BatchEndpoint,
    Ingest,
    TrackEndpoint,
)
from headwater.ingest.inbox import Inbox
from headwater.ingest.operations import router as receipts_router
from headwater.ingest.schemas import INGEST_PATHS, INGEST_SCHEMAS
from headwater.mcp.context import McpServices
from headwater.mcp.endpoint import SpaceEndpoint
from headwater.mcp.server import build_server
from headwater.mcp.tools import TOOLS
from headwater.oauth.client_metadata import HostedClients
from headwater.oauth.consent_page import authorize_routes
from headwater.oauth.routes import OAUTH_ROUTES
from headwater.privacy.operations import router as privacy_router
from headwater.reference.description import add_tags
from headwater.reference.examples import add_examples
from headwater.reference.page import reference_routes
from headwater.settings import Settings
from headwater.spaces.access import KeyCache
from headwater.spaces.credential_cache import Listener
from headwater.spaces.encryption import derive_key
from headwater.spaces.secret_key import find_secret_key
from headwater.storage import Storage, open_storage
from headwater.tracker import endpoint as tracker
from headwater.tracker.script import ScriptEndpoint
from headwater.tracker.sites import SiteCache
from headwater.webhooks.routes import WEBHOOK_ROUTES

API = "/public-api/v1"
SPACE_PATH = "/mcp/{space_id}/public-api"
ABOUT = (
    "Send conversions, sign-ups and refunds, and read back which sources earned them. Create an "
    "API key, send it as a bearer token, and begin with POST /events/track."
)
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

ROUTERS = (
    events_router, receipts_router, contacts_router, companies_router, ads_router, exports_router,
    privacy_router, destinations_router, journal_router,
)  # fmt: skip

log = structlog.get_logger()


@dataclass
class Headwater:
    """What a running API process shares between its requests."""

    settings: Settings
    database: Database
    keys: KeyCache
    sites: SiteCache
    access: Listener
    inbox: Inbox
    hits: Inbox
    """Where browsers' reports go: an inbox of its own, as their limit is."""
    storage: Storage
    base_url: str
    signing_key: bytes
    sealing_key: bytes
    readiness: Shared[bool]
    backlog: Shared[bytes]
    egress: Egress
    """To whom we send of our own accord; hosts that the operator named may be anywhere."""
    public_egress: Egress
    """To whom others make us call: no exceptions."""
    hosted_clients: HostedClients
    passwords: Passwords
    assistants: SpaceEndpoint

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Open connections and begin committing; on leaving, finish what was accepted."""
        await self.database.open()
        self.access.start()
        self.inbox.start()
        self.hits.start()
        try:
            async with self.assistants.running():
                yield
        finally:
            await self.hits.stop()
            await self.inbox.stop()
            await self.access.stop()
            await self.egress.close()
            await self.public_egress.close()
            await self.database.close()


def create_app(
    settings: Settings,
    database_url: str,
    base_url: str,
    passwords: Passwords | None = None,
    public_egress: Egress | None = None,
) -> ASGIApp:
    """The service as one ASGI application on a migrated database; `passwords` may be cheaper, and
    `public_egress` lead to another network.
    """
    database = Database(database_url)
    secret = _secret(settings, database_url)
    keys, sealing_key = KeyCache(database, settings.rate_limit_factor), derive_key(secret)
    sites = SiteCache(database, sealing_key)
    public_egress, inbox = public_egress or Egress(), Inbox(database_url, BUCKET)
    origin, signing_key = settings.base_url or base_url, _signing_key(secret)
    asked = McpServices(database, inbox, origin, signing_key, settings.rate_limit_factor)
    headwater = Headwater(
        settings=settings,
        database=database,
        keys=keys,
        sites=sites,
        access=Listener(database_url, [keys, sites]),
        inbox=inbox,
        hits=Inbox(database_url, tracker.BUCKET),
        storage=open_storage(settings),
        base_url=origin,
        signing_key=signing_key,
        sealing_key=sealing_key,
        readiness=Shared(partial(takes_writes, database_url), READY_SECONDS),
        backlog=Shared(
            partial(
                read_backlog, database, (forwarding_figures, merge_figures(settings.merge_alert))
            )
        ),
        egress=Egress(named_hosts(settings)),
        public_egress=public_egress,
        hosted_clients=HostedClients(public_egress, settings.brand),
        passwords=passwords or Passwords(),
        assistants=SpaceEndpoint(asked, build_server(settings.brand, TOOLS)),
    )
    return _Front(_hot(headwater), _framework(headwater))


def _hot(headwater: Headwater) -> dict[tuple[str, str], ASGIApp]:
    """The routes that stand before the framework."""
    settings = headwater.settings
    ingest = Ingest(headwater.keys, headwater.inbox)
    script = ScriptEndpoint(settings.tracker_script, settings.tracker_endpoint)
    hits = tracker.HitsEndpoint(
        Ingest(headwater.keys, headwater.hits), headwater.sites, Places(settings.geoip_db),
        settings.trusted_proxies,
    )  # fmt: skip
    return {
        ("GET", "/healthz"): healthz,
        ("HEAD", "/healthz"): healthz,
        ("POST", f"{API}/events/track"): TrackEndpoint(ingest),
        ("POST", f"{API}/events/batch"): BatchEndpoint(ingest, EVENTS),
        ("POST", f"{API}/touchpoints/batch"): BatchEndpoint(ingest, TOUCHPOINTS),
        ("POST", settings.tracker_endpoint): hits,
        ("OPTIONS", settings.tracker_endpoint): tracker.preflight,
        ("GET", settings.tracker_script): script,
        ("HEAD", settings.tracker_script): script,
    }


def serve(settings: Settings, database_url: str, listener: socket.socket, base_url: str) -> None:
    """Serve on an open listening socket until told to stop."""
    from headwater.http.server import serve as serve_app  # noqa: PLC0415 - needs uvloop, Unix only

    app = create_app(settings, database_url, base_url)
    serve_app(app, listener, settings.max_connections)


class _Front:
    """Sends the busiest routes straight to their endpoints and puts the quota's headers on
    everything else. Here a request gets what it may spend: time on the database, and memory.
    """

    def __init__(self, hot: dict[tuple[str, str], ASGIApp], framework: ASGIApp) -> None:
        self._hot, self._framework = hot, framework
        self._fixed = _methods_of_fixed_paths(hot)
        self._budget = BodyBudget()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._framework(scope, receive, send)
            return
        if scope["method"] == "HEAD" and scope["path"].startswith(API):
            # The answer to GET, of which the server sends the head alone (RFC 9110 §9.3.2).
            scope = {**scope, "method": "GET"}
        begin_request()
        with self._budget.request(_declared_length(scope)):
            endpoint = self._hot.get((scope["method"], scope["path"]), self._take_other)
            await endpoint(scope, receive, send)

    async def _take_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        allowed = self._fixed.get(scope["path"])
        if allowed and scope["method"] not in allowed:
            await _answer(NotAllowed(allowed))(scope, receive, send)
        else:
            await self._run_framework(scope, receive, send)

    async def _run_framework(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = False

        async def send_with_quota(message: Message) -> None:
            nonlocal answered
            quota = scope.get("headwater.quota")
            if quota is not None and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *quota.headers()]
            await send(message)
            answered = message["type"] == "http.response.body" and not message.get("more_body")

        try:
            await self._framework(scope, receive, send_with_quota)
        except Exception:
            if not answered:
                raise
            # The framework has answered 500 and raises all the same; the server would take that
            # for an answer cut short and end the connection.
            log.exception("request_failed", method=scope["method"], path=scope["path"][:200])


def _declared_length(scope: Scope) -> int:
    """The body's length by the request's head, whose form the server has checked."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value)
    return 0


def _methods_of_fixed_paths(hot: dict[tuple[str, str], ASGIApp]) -> dict[str, set[str]]:
    """The methods of every path of the API without parameters: with any other, a route with a
    parameter would take the path's last part for an id.
    """
    found: dict[str, set[str]] = {}
    for method, path in hot:
        found.setdefault(path, set()).add(method)
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    for route in routes:
        if "{" not in route.path:
            found.setdefault(API + route.path, set()).update(route.methods or ())
    return {path: _with_head(methods) for path, methods in found.items()}


def _with_head(methods: set[str]) -> set[str]:
    """GET answers HEAD as well."""
    return methods | {"HEAD"} if "GET" in methods else methods


def _framework(headwater: Headwater) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with headwater.running():
            yield

    app = FastAPI(
        title="v1", version="1.3.0", openapi_url=None, docs_url=None, redoc_url=None,
        lifespan=lifespan, redirect_slashes=False,
        routes=[
            *HEALTH_ROUTES, *DOWNLOAD_ROUTES, *WEBHOOK_ROUTES, *console_routes(headwater),
            *OAUTH_ROUTES, *authorize_routes(headwater),
            Route(SPACE_PATH, ForBrowsers(headwater.assistants, show_assistant_address)),
        ],
    )  # fmt: skip
    app.state.headwater = headwater
    for router in ROUTERS:
        app.include_router(router, prefix=API)
    _describe(app, headwater)
    app.add_exception_handler(Problem, _handler(lambda problem: problem))
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(405, _not_allowed)
    for unavailable in UNAVAILABLE:
        app.add_exception_handler(unavailable, _handler(_unavailable))
    app.add_exception_handler(Exception, _handler(lambda _: plain(500)))  # _Front logs it
    return app


def _describe(app: FastAPI, headwater: Headwater) -> None:
    """Publish what the routes say of themselves, for tools and for people."""
    document = openapi.document(app, INGEST_PATHS, INGEST_SCHEMAS)
    document["info"] |= {
        "summary": f"{headwater.settings.brand} {__version__}",
        "description": ABOUT,
    }
    add_tags(document)
    add_examples(document)
    encoded = msgspec.json.encode(document)

    async def show(_: Request) -> Response:
        return Response(encoded, media_type="application/json")

    app.add_route(f"{API}/openapi.json", show, include_in_schema=False)
    app.routes.extend(reference_routes(headwater.settings.brand, headwater.base_url, document))


def _answer(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, problem.headers, "application/json")


def _handler(problem_of: Callable[[Any], Problem]) -> Any:
    async def handle(_: Request, error: Exception) -> Response:
        return _answer(problem_of(error))

    return handle


async def _refused(request: Request, error: Exception) -> Response:
    """What the framework refuses: in JSON, but for people who open what is not there."""
    assert isinstance(error, HTTPException)
    is_lost = error.status_code == 404 and not request.url.path.startswith("/public-api/")
    if is_lost and wants_page(request.scope):
        return await show_missing(request, error)
    return _answer(plain(error.status_code))


async def _not_allowed(request: Request, _: Exception) -> Response:
    """The framework names only the methods of the first route with the path."""

    def works(method: str) -> bool:
        scope = {**request.scope, "method": "GET" if method == "HEAD" else method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    return _answer(NotAllowed(filter(works, METHODS)))


def _unavailable(error: Exception) -> Problem:
    log.warning("database_unavailable", error=type(error).__name__)
    return Unavailable()


def _secret(settings: Settings, database_url: str) -> str:
    key = find_secret_key(settings, database_url)
    if key.in_database:
        log.warning("secret_key_in_database", instead="set HEADWATER_SECRET_KEY")
    return key.text


def _signing_key(secret: str) -> bytes:
    return hashlib.sha256(b"headwater signing key\0" + secret.encode()).digest()
