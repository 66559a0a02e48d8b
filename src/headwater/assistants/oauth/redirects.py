"""Redirect addresses, which receive authorization answers. Pure.

They are compared as text, without normalizing. An address that a browser could read differently is refused,
at registration and in requests.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

LONGEST = 2000

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "[::1]", "localhost"})

APPLICATION_SCHEMES = frozenset(
    {
        "antigravity",
        "claude",
        "cline",
        "cursor",
        "goose",
        "jetbrains",
        "raycast",
        "vscode",
        "vscode-insiders",
        "vscodium",
        "warp",
        "windsurf",
        "zed",
    }
)
"""Schemes of well-known applications, which the system opens."""

# Characters that RFC 3986 allows in an address; no backslash, quote or angle bracket.
_WRITTEN = re.compile(r"[a-z][a-z0-9+.-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", re.ASCII)
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%(?:0[0-9A-Fa-f]|1[0-9A-Fa-f]|7[Ff]|2[EeFf]|5[Cc])")
"""A broken escape, or one of a control character, dot, slash or backslash."""
_DOT_SEGMENT = re.compile(r"/\.{1,2}(/|$)")
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_REVERSE_DNS = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)


class RedirectRefusal(StrEnum):
    """The reason for refusing a redirect address, for the client's developer."""

    MALFORMED = "is not an absolute address written as RFC 3986 has it"
    FRAGMENT = "must not have a fragment"
    USERINFO = "must not have a user or a password"
    BAD_HOST = "has no host that can be used"
    BAD_PORT = "has a port that can not be used"
    PLAIN_HTTP = "must be https, or http on the loopback interface"
    UNKNOWN_HOST = "is on a host that is not on this installation's list of assistants"
    OTHER_ORIGIN = "must be on the loopback interface or on the client's own origin"
    UNKNOWN_SCHEME = "has the scheme of no known application"


class Redirect:
    __slots__ = ("host", "parts", "port", "scheme", "text")

    def __init__(self, text: str, parts: SplitResult, host: str, port: str | None) -> None:
        self.text, self.parts, self.host, self.port = text, parts, host, port
        self.scheme = parts.scheme

    @property
    def is_loopback(self) -> bool:
        """Return whether it stays on the person's machine."""
        return self.scheme == "http" and self.host in LOOPBACK_HOSTS

    @property
    def is_application(self) -> bool:
        return self.scheme not in ("http", "https")

    @property
    def origin(self) -> tuple[str, str, str]:
        """Scheme, host and port; https has a default port."""
        return self.scheme, self.host, self.port or "443"

    @property
    def form_target(self) -> str:
        """Return the policy source that lets a form's answer redirect here. A policy can't name an IPv6
        address, nor the host of an application's scheme.
        """
        if self.is_application or self.host.startswith("["):
            return f"{self.scheme}:"
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port else "")

    @property
    def label(self) -> str:
        """The host, or an application's scheme, for people."""
        return f"{self.scheme}:" if self.is_application else self.host

    def is_same_as(self, requested: Redirect) -> bool:
        """Compare the text, except that an application on the loopback interface may use any port (RFC 8252
        §7.3).
        """
        if self.text == requested.text:
            return True
        return (
            self.is_loopback
            and requested.is_loopback
            and self.host == requested.host
            and self.parts.path == requested.parts.path
            and self.parts.query == requested.parts.query
            and ("?" in self.text) == ("?" in requested.text)
        )


def read_redirect(text: str) -> Redirect | RedirectRefusal:
    """Return why no client could use it, if so."""
    scheme, parts = text.partition(":")[0], _split(text)
    if parts is None or parts.scheme != scheme or _DOT_SEGMENT.search(parts.path):
        return RedirectRefusal.MALFORMED
    if "#" in text:
        return RedirectRefusal.FRAGMENT
    if "@" in parts.netloc:
        return RedirectRefusal.USERINFO
    if scheme not in ("http", "https"):
        return Redirect(text, parts, parts.netloc, None)
    return _read_web(text, parts)


def _split(text: str) -> SplitResult | None:
    if len(text) > LONGEST or not _WRITTEN.fullmatch(text) or _ESCAPE.search(text):
        return None
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _read_web(text: str, parts: SplitResult) -> Redirect | RedirectRefusal:
    bracketed = re.fullmatch(r"(\[[^]]*\])(?::(.*))?", parts.netloc)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    else:
        host, colon, digits = parts.netloc.partition(":")
        port = digits if colon else None
    if not (host == "[::1]" or _HOST.fullmatch(host)):
        return RedirectRefusal.BAD_HOST
    if port is not None and not (_PORT.fullmatch(port) and int(port) <= 65_535):
        return RedirectRefusal.BAD_PORT
    return Redirect(text, parts, host, port)


def refuse_registered(redirect: Redirect, hosts: Collection[str]) -> RedirectRefusal | None:
    """Return why a self-registered client can't have this address. `hosts` are hosts of remote assistants."""
    if redirect.is_loopback:
        return None
    if redirect.scheme == "http":
        return RedirectRefusal.PLAIN_HTTP
    if redirect.scheme == "https":
        is_listed = redirect.host in hosts and redirect.port in (None, "443")
        return None if is_listed else RedirectRefusal.UNKNOWN_HOST
    is_known = redirect.scheme in APPLICATION_SCHEMES or _REVERSE_DNS.fullmatch(redirect.scheme)
    return None if is_known else RedirectRefusal.UNKNOWN_SCHEME


def refuse_hosted(redirect: Redirect, client: Redirect) -> RedirectRefusal | None:
    """Return why a client with its metadata document at `client` can't have this address."""
    if redirect.is_loopback:
        return None
    if redirect.scheme == "http":
        return RedirectRefusal.PLAIN_HTTP
    return None if redirect.origin == client.origin else RedirectRefusal.OTHER_ORIGIN


def find_registered(registered: Collection[str], uri: str) -> Redirect | None:
    redirect = read_redirect(uri)
    if isinstance(redirect, RedirectRefusal):
        return None
    known_redirects = map(read_redirect, registered)
    matches = (
        isinstance(known_redirect, Redirect) and known_redirect.is_same_as(redirect)
        for known_redirect in known_redirects
    )
    return redirect if any(matches) else None
