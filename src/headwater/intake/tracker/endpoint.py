"""Receive browsers' reports in plain ASGI.

Access depends on the page's origin, because the site key is public. Bodies are text/plain to avoid preflight
requests.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from prometheus_client import Counter

from headwater.base.telemetry.counters import make_counter
from headwater.events.browsing.accepted import AcceptedBots
from headwater.events.browsing.agents import read_agent
from headwater.events.browsing.places import Places
from headwater.http.bodies import Receive, read_body, refuse_encoding
from headwater.http.clients import Networks, address_subject, client_address
from headwater.http.errors import Forbidden, Invalid, Problem, RateLimited, Unauthorized, bound
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.ingest.endpoints import (
    Endpoint,
    HttpResponse,
    Ingest,
    Send,
    make_problem_answer,
    quota_headers,
)
from headwater.intake.tracker.browser_reports import TOKEN, Body, Browser, BrowserReport, language_tag
from headwater.intake.tracker.reported_items import accept_item, describe_fault, is_page
from headwater.intake.tracker.shares import Shares
from headwater.people.identity.joins import address_key
from headwater.people.identity.senders import Sender
from headwater.spaces.sites.origins import OPAQUE, cookie_domain, sent_host
from headwater.spaces.sites.refusals import RefusalReason
from headwater.spaces.sites.sites import REPORTING, SCOPE, ActiveSite, SiteCache

MAX_BODY = 256 * 1024
COOKIE = "trk_token"
COOKIE_SECONDS = 400 * 86_400
"""The longest that browsers keep a cookie."""
LONGEST_USER_AGENT = 2048

_COOKIE = re.compile(rf"(?:^|;)\s*{COOKIE}=({TOKEN.pattern})\s*(?=;|\Z)")

bot_hits = Counter("headwater_bot_hits", "Page views by bots, not stored")
refusal_counter = make_counter(
    "headwater_refused_reports", "Refused browser reports", reason=("site", "origin", "share")
)

Headers = dict[bytes, bytes]


class ItemResults(Struct, frozen=True):
    results: list[dict[str, Any]]
    rows: list[NewRow]
    faults: Sequence[tuple[RefusalReason, str]] = ()
    """Reasons of refused items, with the wrong fields."""


class HitsEndpoint(Endpoint):
    """POST a browser's page views, persons and events."""

    def __init__(
        self, ingest: Ingest, sites: SiteCache, places: Places, trusted: Networks, shares: Shares
    ) -> None:
        self._ingest, self._sites, self._places, self._trusted = ingest, sites, places, trusted
        self._shares = shares
        # Compile the patterns before the first visitor waits.
        read_agent("Mozilla/5.0")

    async def answer(self, scope: Any, receive: Receive) -> HttpResponse:
        # The first of repeated headers counts.
        headers: Headers = dict(reversed(scope["headers"]))
        origin = get_text(headers, b"origin").strip()
        try:
            refuse_encoding(get_text(headers, b"content-encoding"))
            body = Body(await read_body(receive, MAX_BODY))
        except Problem as problem:
            # Any origin may read this: a script that can't would retry forever.
            return add_grant(make_problem_answer(problem), origin)
        site = await self._admit(body.site(), origin)
        try:
            site.caller.authorize(SCOPE)
            answer = await self._handle(site, body, scope, headers)
        except Problem as problem:
            answer = make_problem_answer(problem)
        return add_grant(answer, origin)

    async def _handle(self, site: ActiveSite, body: Body, scope: Any, headers: Headers) -> HttpResponse:
        address = client_address(scope, self._trusted)
        try:
            items = body.items()
            self._count(site, address, len(items))
            report = body.report(time.time())
        except Invalid as invalid:
            self._count(site, address, 1)
            return await self._ingest.refuse(site.caller, 0, invalid)
        browser = self._browser(address, headers, report)
        answer = await self._take(site, items, browser)
        if browser.token and not browser.agent.is_bot:
            origin, host = get_text(headers, b"origin").strip(), get_text(headers, b"host")
            answer.headers += _cookie_headers(browser.token, origin, host)
        return answer

    async def _admit(self, key: str, origin: str) -> ActiveSite:
        """Raise Unauthorized or Forbidden."""
        try:
            check_origin(origin)
            site = await self._sites.site(key)
        except Unauthorized:
            refusal_counter.labels("site").inc()
            if origin != OPAQUE:  # it doesn't identify the page
                self._sites.refusals.note_key(origin, key)
            raise
        except Forbidden:
            refusal_counter.labels("origin").inc()
            raise
        try:
            site.admit(origin)
        except Forbidden:
            refusal_counter.labels("origin").inc()
            if origin != OPAQUE:  # never suggest allowing all opaque frames
                self._note(site, RefusalReason.ORIGIN, origin)
            raise
        return site

    def _note(self, site: ActiveSite, reason: RefusalReason, detail: str) -> None:
        self._sites.refusals.note(site.caller.space_id, site.id, reason, detail)

    def _count(self, site: ActiveSite, address: str | None, items: int) -> None:
        """Charge the sender before validation. Raises RateLimited."""
        limit = self._ingest.keys.limit(site.caller, REPORTING)
        sender = address_subject(address)
        try:
            self._shares.take(site.caller.space_id, sender, items, limit, time.time())
        except RateLimited:
            refusal_counter.labels("share").inc()
            raise

    def _browser(self, ip: str | None, headers: Headers, report: BrowserReport) -> Browser:
        user_agent = get_text(headers, b"user-agent")[:LONGEST_USER_AGENT]
        cookie = _COOKIE.search(get_text(headers, b"cookie"))
        return Browser(
            token=cookie[1] if cookie else report.token,
            fingerprint=report.fingerprint,
            ip=ip,
            user_agent=user_agent,
            agent=read_agent(user_agent),
            place=self._places.find(ip),
            language=report.language or language_tag(get_text(headers, b"accept-language")),
            cookies=report.cookies,
            consent=report.consent,
            address_key=address_key(address_subject(ip)),
            landing=report.landing,
        )

    async def _take(self, site: ActiveSite, items: list[Raw], browser: Browser) -> HttpResponse:
        is_bot = browser.agent.is_bot
        outcome = _count_bot(site, items) if is_bot else _accept_all(items, browser, site)
        for reason, detail in outcome.faults:
            self._note(site, reason, detail)
        cost = len(items) if is_bot else len(outcome.rows)
        request = self._ingest.request(site.caller, cost, outcome.rows)
        refusal = await self._ingest.put(request)
        if refusal:
            return refusal
        if is_bot:
            bot_hits.inc(sum(map(is_page, items)))
        receipts = iter(request.receipts)
        for result in outcome.results:
            if result["status"] == "queued":
                result["receipt_id"] = str(next(receipts))
        status, body = _make_body(outcome, None if is_bot else browser.token)
        return HttpResponse(status, body, quota_headers(request.quota))


def check_origin(origin: str) -> None:
    """Raise Forbidden unless it can be a page's origin."""
    if origin != OPAQUE and sent_host(origin) is None:
        raise Forbidden("A report needs the Origin header of a page.")


def _count_bot(site: ActiveSite, items: list[Raw]) -> ItemResults:
    """Store only a bot's number of page views."""
    results = [{"index": index, "status": "ignored"} for index in range(len(items))]
    hits = sum(map(is_page, items))
    row = NewRow("bots", msgspec.json.encode(AcceptedBots(site_id=site.id, hits=hits)), Sender.BROWSER)
    return ItemResults(results, [row] if hits else [])


def _accept_all(items: list[Raw], browser: Browser, site: ActiveSite) -> ItemResults:
    current_time = time.time()
    results: list[dict[str, Any]] = []
    rows: list[NewRow] = []
    faults: list[tuple[RefusalReason, str]] = []
    for index, raw in enumerate(items):
        try:
            rows.append(accept_item(raw, browser, site, current_time))
        except Invalid as invalid:
            results.append({"index": index, "status": "invalid", "errors": invalid.errors})
            faults.append(describe_fault(raw, invalid))
        else:
            results.append({"index": index, "status": "queued"})
    return ItemResults(results, rows, faults)


def _make_body(outcome: ItemResults, token: str | None) -> tuple[int, bytes]:
    counts = dict.fromkeys(("queued", "ignored", "invalid"), 0)
    for result in outcome.results:
        counts[result["status"]] += 1
    status = 422 if counts["invalid"] == len(outcome.results) else 202
    message = f"{counts['queued']} of {len(outcome.results)} items are queued."
    content: dict[str, Any] = {
        "status": status,
        "message": message,
        "token": token,
        "results": outcome.results,
    }
    if status == 422:
        content["errors"] = bound(
            (f"items.{result['index']}.{name}", rules)
            for result in outcome.results
            for name, rules in result["errors"].items()
        )
    return status, msgspec.json.encode(content)


def _cookie_headers(token: str, origin: str, host: str) -> list[tuple[bytes, bytes]]:
    """Set the token as a cookie of the page's domain, if ours belongs to it.

    Set by the server, because Safari limits cookies of scripts to seven days. Not HttpOnly, because
    trkToken() reads it.
    """
    domain = cookie_domain(sent_host(origin) or "", sent_host(f"http://{host.lower()}") or "")
    if domain is None:
        return []
    domain_part = f"; Domain={domain}" if domain else ""
    secure = "; Secure" if origin.startswith("https:") else ""
    text = f"{COOKIE}={token}; Path=/; Max-Age={COOKIE_SECONDS}; SameSite=Lax{domain_part}{secure}"
    return [(b"set-cookie", text.encode())]


def grant(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
        (b"vary", b"Origin"),
    ]


def add_grant(answer: HttpResponse, origin: str) -> HttpResponse:
    if sent_host(origin) is not None:
        answer.headers += grant(origin)
    return answer


async def preflight(scope: Any, _: Receive, send: Send) -> None:
    await answer_preflight(scope, send, b"content-type")


async def answer_preflight(scope: Any, send: Send, allowed_headers: bytes) -> None:
    """Allow any page: its origin is checked with its site."""
    origin = get_text(dict(reversed(scope["headers"])), b"origin").strip()
    headers = [(b"allow", b"OPTIONS, POST"), (b"vary", b"Origin")]
    if sent_host(origin) is not None:
        headers += [
            *grant(origin)[:2],
            (b"access-control-allow-methods", b"POST"),
            (b"access-control-allow-headers", allowed_headers),
            (b"access-control-max-age", b"86400"),
        ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def get_text(headers: Headers, name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")
