"""Hosts and addresses that may be connected to, for possibly malicious URLs. Pure.

The list is our own: `ipaddress`'s `is_global` differs between Python versions, and is true for addresses that
lead back into our network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address

MAX_HOST = 253

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)


class AddressRefusal(StrEnum):
    UNSPECIFIED = "unspecified"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    PRIVATE = "private"
    SHARED = "shared by a provider"
    METADATA = "a cloud's own service"
    DOCUMENTATION = "for documentation"
    BENCHMARK = "for benchmarks"
    MULTICAST = "multicast"
    TUNNEL = "a tunnel"
    RESERVED = "reserved"


def _list_networks(
    *networks: tuple[AddressRefusal, str],
) -> list[tuple[IPv4Network | IPv6Network, AddressRefusal]]:
    return [(ip_network(text), reason) for reason, texts in networks for text in texts.split()]


# The first network with an address determines the reason.
_REFUSED_V4 = _list_networks(
    (AddressRefusal.METADATA, "169.254.169.254/32 169.254.170.2/32 100.100.100.200/32"),
    (AddressRefusal.METADATA, "168.63.129.16/32 192.0.0.192/32"),
    (AddressRefusal.UNSPECIFIED, "0.0.0.0/8"),
    (AddressRefusal.PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"),
    (AddressRefusal.SHARED, "100.64.0.0/10"),
    (AddressRefusal.LOOPBACK, "127.0.0.0/8"),
    (AddressRefusal.LINK_LOCAL, "169.254.0.0/16"),
    (AddressRefusal.DOCUMENTATION, "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"),
    (AddressRefusal.TUNNEL, "192.88.99.0/24"),
    (AddressRefusal.BENCHMARK, "198.18.0.0/15"),
    (AddressRefusal.MULTICAST, "224.0.0.0/4"),
    (AddressRefusal.RESERVED, "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 240.0.0.0/4"),
)

_REFUSED_V6 = _list_networks(
    (AddressRefusal.METADATA, "fd00:ec2::254/128 fd20:ce::254/128 fd00:42::42/128"),
    (AddressRefusal.UNSPECIFIED, "::/128"),
    (AddressRefusal.LOOPBACK, "::1/128"),
    (AddressRefusal.LINK_LOCAL, "fe80::/10"),
    (AddressRefusal.PRIVATE, "fc00::/7 fec0::/10"),
    (AddressRefusal.MULTICAST, "ff00::/8"),
    (AddressRefusal.BENCHMARK, "2001:2::/48"),
    (AddressRefusal.DOCUMENTATION, "2001:db8::/32 3fff::/20"),
    (AddressRefusal.TUNNEL, "2001::/32 2002::/16 64:ff9b:1::/48"),
    (AddressRefusal.RESERVED, "2001::/23 2620:4f:8000::/48"),
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_MAPPED, _TRANSLATED = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def read_host(text: str) -> str | None:
    """Return a URL's host in normal form: a lower-case name without a trailing dot, or an address. None for
    an ambiguous host: numbers that resolvers take for addresses, letters that become others, escapes, zones.
    """
    if not text.isascii():  # also if the lower-case form would be ASCII
        return None
    host = text.lower()
    if host.startswith("[") and host.endswith("]"):
        return _literal(host[1:-1], IPv6Address)
    host = host.removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _literal(host, IPv4Address)
    fits = len(host) <= MAX_HOST and all(_LABEL.fullmatch(label) for label in labels)
    return host if fits else None


def _literal(text: str, kind: type[IPAddress]) -> str | None:
    try:
        address = kind(text)
    except ValueError:
        return None
    return None if "%" in text else str(address)


def find_refusal(address: IPAddress) -> AddressRefusal | None:
    """Return the reason for refusing an address, or None."""
    if isinstance(address, IPv4Address):
        return next((reason for network, reason in _REFUSED_V4 if address in network), None)
    for network in (_MAPPED, _TRANSLATED):
        if address in network:
            return find_refusal(IPv4Address(int(address) & 0xFFFF_FFFF))
    for network, reason in _REFUSED_V6:
        if address in network:
            return reason
    if address not in _GLOBAL_V6:
        return AddressRefusal.RESERVED
    interface = int(address) & 0xFFFF_FFFF_FFFF_FFFF
    return AddressRefusal.TUNNEL if interface >> 32 in _ISATAP else None


def first_refusal(addresses: Iterable[str]) -> AddressRefusal | None:
    """Return the reason for refusing a host: one refused address is enough."""
    for text in addresses:
        try:
            refusal = find_refusal(ip_address(text))
        except ValueError:  # it has a zone; only link-local addresses do
            return AddressRefusal.LINK_LOCAL
        if refusal is not None:
            return refusal
    return None
