"""Content security policies: find the directive that blocks the tracker. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

LONGEST_POLICY = 16 * 1024
FALLBACKS: dict[str, tuple[str, ...]] = {
    "script": ("script-src-elem", "script-src", "default-src"),
    "connect": ("connect-src", "default-src"),
}
_PORTS = {"http": 80, "https": 443}

Use = Literal["script", "connect"]


class Wanted(Struct, frozen=True):
    use: Use
    url: str
    page_url: str
    nonce: str = ""


def blocking_directive(policies: Sequence[str], address: Wanted) -> str:
    """Return the first directive that blocks an address; "" if every policy allows it. A header may hold
    several policies.
    """
    for text in policies:
        for policy in text[:LONGEST_POLICY].split(","):
            directive, sources = _governing(policy, address.use)
            if directive and not _is_allowed(sources, address):
                return directive
    return ""


def _governing(policy: str, use: Use) -> tuple[str, list[str]]:
    directives: dict[str, list[str]] = {}
    for text in policy.split(";"):
        name, *sources = text.split() or [""]
        directives.setdefault(name.lower(), sources)
    directive = next((name for name in FALLBACKS[use] if name in directives), "")
    return directive, directives.get(directive, [])


def _is_allowed(sources: Sequence[str], address: Wanted) -> bool:
    lowered = [source.lower() for source in sources]
    if address.use == "script":
        if address.nonce and f"'nonce-{address.nonce}'" in sources:
            return True
        if "'strict-dynamic'" in lowered:
            return False
    try:
        url, page = urlsplit(address.url), urlsplit(address.page_url)
        return any(_matches(source, url, page) for source in lowered)
    except ValueError:
        return False


def _matches(source: str, url: SplitResult, page: SplitResult) -> bool:
    if source == "'self'":
        return _same_host(url, page) and _is_scheme(url.scheme, page.scheme)
    if source.startswith("'"):
        return False
    if source == "*":
        return url.scheme in _PORTS
    if source.endswith(":") and "/" not in source:
        return _is_scheme(url.scheme, source[:-1])
    scheme, separator, remainder = source.partition("://")
    if not separator:
        scheme, remainder = page.scheme, source
    if not _is_scheme(url.scheme, scheme):
        return False
    authority, _, path = remainder.partition("/")
    return _is_host(authority, url) and _is_path(f"/{path}" if path else "", url.path or "/")


def _is_scheme(actual: str, allowed_scheme: str) -> bool:
    return actual == allowed_scheme or (allowed_scheme == "http" and actual == "https")


def _same_host(url: SplitResult, page: SplitResult) -> bool:
    same_port = _port(url) == _port(page)
    upgraded = (page.scheme, url.scheme) == ("http", "https") and _port(url) == _PORTS["https"]
    return url.hostname == page.hostname and (same_port or upgraded)


def _is_host(authority: str, url: SplitResult) -> bool:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    actual = url.hostname or ""
    fits = actual.endswith(host[1:]) if host.startswith("*.") else host in ("*", actual, f"[{actual}]")
    if not fits:
        return False
    return port == "*" or str(_port(url)) == (port or str(_PORTS.get(url.scheme, "")))


def _is_path(allowed_path: str, actual: str) -> bool:
    if not allowed_path:
        return True
    path = actual.lower()
    return path.startswith(allowed_path) if allowed_path.endswith("/") else path == allowed_path


def _port(url: SplitResult) -> int:
    return url.port or _PORTS.get(url.scheme, 0)
