"""The composition root: combines the packages into one ASGI application.

The only module that knows all others. Its only rule selects the busy endpoints that are served before the
routes.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import Any

import msgspec
import structlog
from msgspec import Struct
from psycopg.errors import LockNotAvailable
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headwater import __version__
from headwater.api.ingest import ingest_endpoints
from headwater.api.operations import OPERATIONS, PREFIX, describe_api
from headwater.api.reference.description import add_tags
from headwater.api.reference.examples import add_examples
from headwater.api.reference.page import reference_routes
from headwater.assistants.mcp.endpoint import SpaceEndpoint
from headwater.assistants.oauth.client_directory import ClientDirectory
from headwater.assistants.oauth.client_metadata import HostedClients
from headwater.assistants.oauth.consent_page import authorize_routes
from headwater.assistants.oauth.routes import oauth_routes
from headwater.attribution.paths.cache import MEGABYTE, cache
from headwater.base.background import BackgroundTask, repeat_to_the_end
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.base.storage import open_storage
from headwater.base.telemetry.request_spans import TracedRequests
from headwater.base.telemetry.spans import is_traced
from headwater.console.browsers import ForBrowsers, show_assistant_address, show_failure, wants_page
from headwater.console.routes import console_routes
from headwater.database.outage_log import requests_outage
from headwater.database.pool import UNAVAILABLE, Database
from headwater.database.row_security import served_space
from headwater.endpoints.router import Endpoints, operation_endpoints, path_routes
from headwater.endpoints.services import Services, provide
from headwater.events.browsing.places import Places
from headwater.exports.downloads import DOWNLOAD_ROUTES
from headwater.forwarding.deliveries.metrics import delivery_gauges
from headwater.forwarding.platforms import origins as forwarding_origins
from headwater.front import Front
from headwater.http.answer_counts import SECONDS as COUNT_SECONDS
from headwater.http.answer_counts import publish_answers
from headwater.http.compression import COMPRESSED
from headwater.http.errors import NotAllowed, Problem, Unavailable, make_problem
from headwater.http.health import READY_SECONDS, health_routes, healthz, read_backlog
from headwater.http.refusal_log import SECONDS as LOG_SECONDS
from headwater.http.refusal_log import log_repeated
from headwater.http.shared import Shared
from headwater.intake.ga4.endpoint import ga4_endpoints
from headwater.intake.inbox.inbox import Inbox
from headwater.intake.inbox.probe import takes_writes
from headwater.intake.ingest.endpoints import TRACKING, Ingest
from headwater.intake.merging.merge_alerts import merge_figures
from headwater.intake.protocols.endpoint import ProtocolServices
from headwater.intake.protocols.event_names import SpaceLabels
from headwater.intake.protocols.ignored import IgnoredNames
from headwater.intake.segment.endpoint import segment_endpoints, segment_routes
from headwater.intake.tracker import endpoint as tracker
from headwater.intake.tracker.script import ScriptEndpoint
from headwater.intake.tracker.shares import Shares
from headwater.intake.webhooks.routes import webhook_routes
from headwater.operations.backups.metrics import backup_gauges
from headwater.spaces.access import KeyCache
from headwater.spaces.accounts.passwords import Passwords
from headwater.spaces.credential_cache import Listener
from headwater.spaces.encryption import derive_key
from headwater.spaces.lock_refusals import note_lock_refusal
from headwater.spaces.secret_key import find_secret_key
from headwater.spaces.sites.sites import REPORTING, SiteCache
from headwater.spaces.sso.documents import ProviderDocuments
from headwater.spend.platforms import origins as spend_origins

SPACE_PATH = "/mcp/{space_id}/public-api"

log = structlog.get_logger()


class Headwater(Struct, frozen=True):
    """A running API process: shared services, and parts for one package."""

    services: Services
    sites: SiteCache
    access: Listener
    inbox: Inbox
    hits: Inbox
    """The inbox of browser events, separate because it has its own limit."""
    ignored: IgnoredNames
    readiness: Shared[bool]
    backlog: Shared[bytes]
    clients: ClientDirectory
    assistants: SpaceEndpoint

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Open connections and begin committing; on leaving, finish accepted work in the opposite order."""
        tasks = (
            self.access,
            self.services.keys.uses,
            self.sites.refusals,
            self.ignored,
            self.inbox,
            self.hits,
            BackgroundTask(repeat_to_the_end(publish_answers, COUNT_SECONDS)),
            BackgroundTask(repeat_to_the_end(log_repeated, LOG_SECONDS)),
        )
        shared = self.services
        async with shared.database, shared.egress, shared.public_egress, shared.providers.egress:
            for task in tasks:
                task.start()
            try:
                yield
            finally:
                for task in reversed(tasks):
                    await task.stop()


def create_app(
    settings: Settings,
    database_url: str,
    base_url: str,
    passwords: Passwords | None = None,
    public_egress: Egress | None = None,
) -> ASGIApp:
    """Return the service as one ASGI application on a migrated database. `passwords` may hash cheaper, and
    `public_egress` use another network, for tests.
    """
    egress = public_egress or Egress()
    shared = _services(settings, database_url, base_url, passwords or Passwords(), egress)
    headwater = _headwater(shared, database_url)
    ingest = ingest_endpoints(Ingest(shared.keys, headwater.inbox))
    busy_endpoints = operation_endpoints(ingest, PREFIX, ingest) | _busy_endpoints(headwater)
    endpoints = operation_endpoints(OPERATIONS, PREFIX, ingest) | busy_endpoints
    app = Front(busy_endpoints, _routed(headwater, endpoints))
    if not is_traced():
        return app
    return TracedRequests(app, {path for _, path in busy_endpoints}, served_space)


def serve(
    settings: Settings, database_url: str, listener: socket.socket, base_url: str, began: Callable[[], None]
) -> None:
    """Serve on a listening socket until stopped; `began` is called once it serves."""
    from headwater.http.server import serve as serve_app  # noqa: PLC0415 - needs uvloop, Unix only

    cache.resize(settings.report_memory_mb * MEGABYTE)
    app = create_app(settings, database_url, base_url)
    serve_app(app, listener, settings.max_connections, began)


def _services(
    settings: Settings, database_url: str, base_url: str, passwords: Passwords, public_egress: Egress
) -> Services:
    database = Database(database_url)
    secret = _secret(settings, database_url)
    return Services(
        settings=settings,
        database=database,
        keys=KeyCache(database, settings.rate_limit_factor, settings.trusted_proxies),
        base_url=settings.base_url or base_url,
        signing_key=_signing_key(secret),
        sealing_key=derive_key(secret, settings.former_secret_key),
        egress=Egress(
            forwarding_origins.list_operator_hosts(settings) | spend_origins.list_operator_hosts(settings)
        ),
        public_egress=public_egress,
        storage=open_storage(settings),
        passwords=passwords,
        providers=ProviderDocuments(Egress(settings.sso_hosts)),
    )


def _headwater(shared: Services, database_url: str) -> Headwater:
    settings, database = shared.settings, shared.database
    inbox, hits = Inbox(database_url, TRACKING), Inbox(database_url, REPORTING)
    sites = SiteCache(database, shared.sealing_key)
    figures = (backup_gauges, delivery_gauges, merge_figures(settings.merge_alert))
    egress = shared.public_egress
    hosted = HostedClients(egress, settings.brand) if settings.hosted_clients else None
    return Headwater(
        services=shared,
        sites=sites,
        access=Listener(database_url, [shared.keys, sites]),
        inbox=inbox,
        hits=hits,
        ignored=IgnoredNames(database),
        readiness=Shared(partial(takes_writes, database, (inbox, hits)), READY_SECONDS),
        backlog=Shared(partial(read_backlog, database, figures)),
        clients=ClientDirectory(database, hosted),
        assistants=SpaceEndpoint(shared, inbox),
    )


def _busy_endpoints(headwater: Headwater) -> dict[tuple[str, str], ASGIApp]:
    """Return the other endpoints that are served before the routes."""
    settings = headwater.services.settings
    script = ScriptEndpoint(settings.tracker_script, settings.tracker_endpoint)
    ingest = Ingest(headwater.services.keys, headwater.hits)
    places = Places(settings.geoip_db)
    shares = Shares()
    hits = tracker.HitsEndpoint(ingest, headwater.sites, places, settings.trusted_proxies, shares)
    protocols = ProtocolServices(
        events=Ingest(headwater.services.keys, headwater.inbox),
        hits=ingest,
        sites=headwater.sites,
        places=places,
        trusted=settings.trusted_proxies,
        labels=SpaceLabels(headwater.services.database),
        ignored=headwater.ignored,
        shares=shares,
    )
    return {
        **segment_endpoints(protocols),
        **ga4_endpoints(protocols),
        ("GET", "/healthz"): healthz,
        ("HEAD", "/healthz"): healthz,
        ("POST", settings.tracker_endpoint): hits,
        ("OPTIONS", settings.tracker_endpoint): tracker.preflight,
        ("GET", settings.tracker_script): script,
        ("HEAD", settings.tracker_script): script,
    }


def _routed(headwater: Headwater, endpoints: Endpoints) -> Starlette:
    shared = headwater.services

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with headwater.running():
            yield

    assistants = ForBrowsers(headwater.assistants, show_assistant_address)
    app = Starlette(
        lifespan=lifespan,
        routes=[
            *health_routes(headwater.readiness, headwater.backlog),
            *DOWNLOAD_ROUTES,
            *webhook_routes(headwater.inbox),
            *segment_routes(headwater.sites),
            *console_routes(shared),
            *oauth_routes(headwater.clients),
            *authorize_routes(shared, headwater.clients),
            Route(SPACE_PATH, assistants),
            *path_routes(endpoints),
            *_description_routes(shared),
        ],
        exception_handlers={
            Problem: _handler(lambda problem: problem),
            HTTPException: _handler(_refusal),
            **{kind: _handler(_unavailable) for kind in UNAVAILABLE},
            Exception: _handler(lambda _: make_problem(500)),  # Front logs it
        },
    )
    app.router.redirect_slashes = False
    provide(app, shared)
    return app


def _description_routes(shared: Services) -> list[Route]:
    """Return the routes of the OpenAPI document and its page, which their first request builds."""

    @lru_cache
    def document() -> dict[str, Any]:
        api_document = describe_api(f"{shared.settings.brand} {__version__}", shared.base_url)
        add_tags(api_document)
        add_examples(api_document)
        return api_document

    @lru_cache
    def encoded() -> bytes:
        return msgspec.json.encode(document())

    async def show(_: Request) -> Response:
        return Response(encoded(), media_type="application/json")

    reference = reference_routes(shared.settings.brand, shared.base_url, document)
    return [Route(f"{PREFIX}/openapi.json", show, middleware=COMPRESSED), *reference]


def _handler(find_problem: Callable[[Any], Problem]) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return an exception handler that answers with JSON, or with a page for browsers."""

    async def handle(request: Request, error: Exception) -> Response:
        problem = find_problem(error)
        if wants_page(request.scope):
            return await show_failure(request, problem)
        return Response(problem.body(), problem.status, problem.headers, "application/json")

    return handle


def _refusal(error: HTTPException) -> Problem:
    """Return the error for a request without a route. The allowed methods omit OPTIONS, which browsers send
    by themselves.
    """
    if error.status_code != 405:
        return make_problem(error.status_code)
    allowed = (error.headers or {}).get("Allow", "").split(", ")
    return NotAllowed(method for method in allowed if method != "OPTIONS")


def _unavailable(error: Exception) -> Problem:
    if isinstance(error, LockNotAvailable):
        note_lock_refusal()
    else:
        requests_outage.fail(error)
    return Unavailable()


def _secret(settings: Settings, database_url: str) -> str:
    key = find_secret_key(settings, database_url)
    if key.in_database:
        log.warning("secret_key_in_database", instead="set HEADWATER_SECRET_KEY")
    return key.text


def _signing_key(secret: str) -> bytes:
    return hashlib.sha256(b"headwater signing key\0" + secret.encode()).digest()
