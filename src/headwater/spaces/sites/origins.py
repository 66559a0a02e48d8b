"""Origins of a site's pages, in the browsers' form, and the cookie domain that a page shares with this host.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address

from headwater.sources.addresses import name_in_ascii
from headwater.sources.public_suffixes import find_public_suffix, find_registrable_domain

MAX_ORIGINS = 50
OPAQUE = "null"
"""The origin of a frame without one, such as Shopify's for pixels."""
FORMS = "such as https://shop.example, http://localhost:3000 or https://*.shop.example"

MOST_LABELS = 10
"""Hosts with more labels match no wildcard."""
LONGEST_QUOTE = 80
"""Characters of an address quoted in a sentence."""

_SEPARATORS = re.compile(r"[\s,;]+")
_END_OF_AUTHORITY = re.compile(r"[/?#\\]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*"
    r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_AUTHORITY = re.compile(r"(\*\.)?(\[.*\]|[^:\[\]]*)(?::(.*))?", re.DOTALL)
_SENT_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?")


def parse_origin(text: str) -> str:
    """Return an origin in the browsers' form: lower case, Punycode, without the default port. Its host may
    begin with `*.` for all hosts below. `null` matches every frame without an origin, on any site. Raises
    ValueError with the broken rule.
    """
    if text.strip() == OPAQUE:
        return OPAQUE
    scheme, separator, remainder = text.strip().partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORTS:
        raise ValueError(f"must begin with http:// or https://, {FORMS}")
    authority, _, path = remainder.partition("/")
    if path or re.search(r"[?#@\\]", authority):
        raise ValueError(f"must be an origin without a path, query or user, {FORMS}")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise ValueError(f"must have a host, {FORMS}")
    star, name, port = match.groups()
    host = _host(name, wildcard=bool(star))
    if port and not (port.isascii() and port.isdigit() and int(port[:6]) < 65536):
        raise ValueError("must have a port from 0 to 65535")
    written_port = f":{int(port)}" if port and int(port) != _DEFAULT_PORTS[scheme] else ""
    return f"{scheme}://{star or ''}{host}{written_port}"


def _host(name: str, *, wildcard: bool) -> str:
    if name.startswith("[") and not wildcard:
        try:
            return f"[{IPv6Address(name[1:-1])}]"
        except ValueError:
            raise ValueError(f"must have a host, {FORMS}") from None
    host = name.lower() if name.isascii() else name_in_ascii(name)
    if not _NAME.fullmatch(host):
        raise ValueError(f"must have a host, {FORMS}")
    if wildcard and find_public_suffix(host) == host:
        raise ValueError(f"must not cover all of {host}, whose hosts belong to many")
    return host


def parse_origins(texts: Iterable[str]) -> list[str]:
    """Return a site's distinct origins, in order. Raises ValueError naming the first bad one."""
    origins: dict[str, None] = {}
    for text in texts:
        try:
            origins[parse_origin(text)] = None
        except ValueError as error:
            raise ValueError(f"{text!r} {error}") from None
    if not 1 <= len(origins) <= MAX_ORIGINS:
        raise ValueError(f"must be 1 to {MAX_ORIGINS} origins")
    return list(origins)


def read_pasted_origins(text: str) -> list[str]:
    """Return the origins in a pasted text: addresses separated by blanks, commas or lines, with a path or
    without a scheme. Raises ValueError with advice.
    """
    return [_pasted_origin(address) for address in _SEPARATORS.split(text) if address]


def _pasted_origin(address: str) -> str:
    quote = f"“{address[:LONGEST_QUOTE]}{'…' if len(address) > LONGEST_QUOTE else ''}”"
    if address == OPAQUE:
        return OPAQUE
    scheme, separator, remainder = address.partition("://")
    is_local = not separator and scheme.startswith(("localhost", "127.0.0.1", "[::1]"))
    if not separator:
        remainder = scheme.removeprefix("//")
        scheme = "http" if is_local else "https"
    authority = _END_OF_AUTHORITY.split(remainder, maxsplit=1)[0]
    if "@" in authority:
        raise ValueError(f"{quote} has an @: enter the address of the shop's pages, {FORMS}.")
    if not (separator or is_local or "." in authority):
        raise ValueError(f"{quote} is not the address of a web page: enter one, {FORMS}.")
    try:
        return parse_origin(f"{scheme}://{authority}")
    except ValueError as error:
        raise ValueError(f"{quote} cannot be used: it {error}.") from None


def sent_host(origin: str) -> str | None:
    """Return the host of an `Origin` header; None unless it is a web origin (not `null`)."""
    match = _SENT_ORIGIN.fullmatch(origin)
    return match[2] if match else None


def is_among(origin: str, origins: Iterable[str]) -> bool:
    """Return whether an origin accepted by `sent_host`, or `null`, belongs to a site."""
    for pattern in origins:
        begin, star, end = pattern.partition("*")
        if origin == pattern or (
            star and len(origin) > len(pattern) - 1 and origin.startswith(begin) and origin.endswith(end)
        ):
            return True
    return False


def covering_origins(origin: str) -> list[str]:
    """Return the origins, with `*.` too, that would match an origin accepted by `sent_host`."""
    scheme, _, authority = origin.partition("://")
    labels = authority.split(".", MOST_LABELS)
    parents = [".".join(labels[count:]) for count in range(1, len(labels))]
    return [origin, *(f"{scheme}://*.{parent}" for parent in parents)]


@lru_cache(maxsize=4096)
def cookie_domain(page_host: str, our_host: str) -> str | None:
    """Return the domain that a cookie of our host needs so that the page can read it; "" for the same host,
    None without a common domain. Hosts are in the form of `sent_host`.
    """
    page_domain, own_domain = _registrable(page_host), _registrable(our_host)
    if page_domain and page_domain == own_domain:
        return page_domain
    return "" if page_host == our_host else None


def _registrable(host: str) -> str:
    """Return a domain with one owner; "" for an address or bare name. Shops on a provider's domain have
    different owners, and must not share cookies.
    """
    if find_public_suffix(host):
        return find_registrable_domain(host)
    if "." not in host or ":" in host or _is_ipv4(host):
        return ""
    # Without a rule in the list, browsers take the last label for the suffix.
    return ".".join(host.rsplit(".", 2)[-2:])


def _is_ipv4(host: str) -> bool:
    return host.rpartition(".")[2].isdigit()
