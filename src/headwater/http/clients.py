"""The client's address: the connection's, or the one from trusted proxies."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

Networks = Collection[IPv4Network | IPv6Network]

_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


def client_address(scope: Any, trusted: Networks) -> str | None:
    """Return the address of the client of the outermost trusted proxy, or ours.

    Proxies append to X-Forwarded-For, so it is read from the end: an address is trusted if the next one is.
    None if a trusted proxy gives no address.
    """
    client = scope.get("client")
    address = _read(client[0]) if client else None
    if address is None or not _is_in(address, trusted):
        return None if address is None else str(address)
    values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    steps = b",".join(values).decode("latin-1").split(",") if values else []
    for step in reversed(steps):
        address = _read(step)
        if address is None or not _is_in(address, trusted):
            break
    return None if address is None else str(address)


def address_subject(address: str | None) -> str:
    """Return the subject for counting attempts; for IPv6, the subscriber's network."""
    if address is None:
        return "unknown"
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, 64), strict=False))
    return address


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address in a proxy's format, with optional port, brackets or zone."""
    text = text.strip()
    match = _WITH_PORT.fullmatch(text)
    if match:
        text = match[1] or match[2]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped_address = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped_address or address


def _is_in(address: IPv4Address | IPv6Address, networks: Networks) -> bool:
    return any(address in network for network in networks)
