"""Read a site's page as a browser would: redirects, policies and tracker script. Requests are guarded and
share a time limit.
"""

from __future__ import annotations

import asyncio
import ipaddress
import posixpath
import time
from collections.abc import Sequence
from urllib.parse import quote, urldefrag, urlencode, urljoin, urlsplit, urlunsplit

from msgspec import Struct

from headwater.alerts.site_tests.content_policy import Wanted, blocking_directive
from headwater.alerts.site_tests.models import PageProbe, ScriptState, TagFacts
from headwater.alerts.site_tests.page_source import KEY_PREFIX, PageSource, ScriptTag, read_page
from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest, EgressResponse

SECONDS = 8.0
MOST_REDIRECTS = 6
MOST_BYTES = 512 * 1024
MOST_TAGS = 3
LONGEST_KEY = 100
LONGEST_ADDRESS = 500
CLICK_PARAMETER = "gclid"
MARK = b"trkFingerprint"
"""A text in the tracker's script under any file name."""
_REDIRECTS = (301, 302, 303, 307, 308)
_UNSAFE = "%/:=&?~!$'()*+,;@[]"
"""Characters that quoting an address keeps."""
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "User-Agent": "Mozilla/5.0 (compatible; Headwater site test)",
}


class ProbeTarget(Struct, frozen=True):
    """A page to read with a click id, and the expected script."""

    url: str
    click_id: str
    script_url: str
    endpoint: str
    """The path that this installation's script reports to."""


def with_click(url: str, click_id: str) -> str:
    """Return the address that an ad's click opens."""
    parts = urlsplit(url)
    pair = urlencode({CLICK_PARAMETER: click_id})
    query = f"{parts.query}&{pair}" if parts.query else pair
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", query, ""))


async def probe_page(egress: Egress, target: ProbeTarget) -> PageProbe:
    try:
        async with asyncio.timeout(SECONDS):
            return await _Probing(egress, target).run()
    except EgressError as error:
        return PageProbe(failure=f"The server cannot open the page: {error}")
    except TimeoutError:
        return PageProbe(failure=f"The page did not load within {SECONDS:.0f} seconds.")


class _Probing:
    def __init__(self, egress: Egress, target: ProbeTarget) -> None:
        self._egress, self._target = egress, target
        self._ends = time.monotonic() + SECONDS

    async def run(self) -> PageProbe:
        url, lost_between = with_click(self._target.url, self._target.click_id), None
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._get(url)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                break
            after = _resolve(url, location)
            if after is None:
                return PageProbe(failure="The page redirects to an invalid address.")
            if lost_between is None and self._has_click(url) and not self._has_click(after):
                lost_between = (_bare(url), _bare(after))
            url = after
        else:
            return PageProbe(failure=f"The page redirects more than {MOST_REDIRECTS} times.")
        # A later redirect may bring it back.
        lost_between = None if self._has_click(url) else lost_between
        if response.status >= 400:
            failure = f"The page answered the server with HTTP {response.status}."
            return PageProbe(failure=failure, final_url=_bare(url), lost_between=lost_between)
        source = read_page(response.body.decode("utf-8", "replace").replace("\0", " "))
        return PageProbe(
            final_url=_bare(url),
            lost_between=lost_between,
            tags=tuple(
                [await self._read_tag(tag, url, response, source) for tag in self._own_tags(source, url)]
            ),
            keys=tuple(source.keys),
            has_tag_manager=source.has_tag_manager,
            is_cut=response.cut,
        )

    async def _get(self, url: str) -> EgressResponse:
        request = EgressRequest(url=_plain(url), method="GET", headers=_HEADERS)
        remaining_seconds = max(0.1, self._ends - time.monotonic())
        return await self._egress.send(request, remaining_seconds, most_bytes=MOST_BYTES)

    def _has_click(self, url: str) -> bool:
        pair = urlencode({CLICK_PARAMETER: self._target.click_id})
        return pair in urlsplit(url).query.split("&")

    def _own_tags(self, source: PageSource, page_url: str) -> Sequence[ScriptTag]:
        own_tags = [
            tag
            for tag in source.scripts
            if tag.site.startswith(KEY_PREFIX) or _resolve(page_url, tag.source) == self._target.script_url
        ]
        return own_tags[:MOST_TAGS]

    async def _read_tag(
        self, tag: ScriptTag, page_url: str, page: EgressResponse, source: PageSource
    ) -> TagFacts:
        address, key = _resolve(page_url, tag.source), tag.site[:LONGEST_KEY]
        if address is None:
            fault = "is not an address"
            return TagFacts(
                source=tag.source[:LONGEST_ADDRESS],
                key=key,
                needs_consent=tag.needs_consent,
                script=ScriptState.MISSING,
                script_fault=fault,
            )
        policies = [
            *(text for name, text in page.fields if name == "content-security-policy"),
            *source.policies,
        ]
        script = Wanted("script", address, page_url, tag.nonce)
        reports = Wanted("connect", urljoin(address, self._relative_endpoint()), page_url)
        state, fault = await self._script(address, page_url)
        return TagFacts(
            source=_bare(address),
            key=key,
            needs_consent=tag.needs_consent,
            script=state,
            script_fault=fault,
            script_blocked_by=blocking_directive(policies, script),
            reports_blocked_by=blocking_directive(policies, reports),
        )

    def _relative_endpoint(self) -> str:
        script = urlsplit(self._target.script_url).path
        return posixpath.relpath(self._target.endpoint, posixpath.dirname(script))

    async def _script(self, address: str, page_url: str) -> tuple[ScriptState, str]:
        page = urlsplit(page_url)
        if page.scheme == "https" and address.startswith("http:"):
            return ScriptState.INSECURE, ""
        if is_local(address) and not is_local(page_url):
            return ScriptState.LOCAL, ""
        if address == self._target.script_url:
            return ScriptState.OWN, ""
        fault = await self._script_fault(address)
        return (ScriptState.MISSING if fault else ScriptState.PASSED_ON), fault

    async def _script_fault(self, address: str) -> str:
        """Return "" for the tracker's script."""
        try:
            response = await self._get(address)
        except EgressError as error:
            return f"cannot be opened ({str(error).rstrip('.')})"
        if response.status != 200:
            return f"answers HTTP {response.status}"
        return "" if MARK in response.body else "is not the tracker's script"


def is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _resolve(base: str, url: str) -> str | None:
    """Return None for an invalid address."""
    try:
        resolved_url = urljoin(base, url)
        parts = urlsplit(resolved_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return _plain(resolved_url) if is_address else None


def _plain(url: str) -> str:
    """Return the address as sent: ASCII, without fragment."""
    return quote(urldefrag(url).url, safe=_UNSAFE)


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", "", ""))[:LONGEST_ADDRESS]
