"""The time and the addresses to which an API key is limited. Pure, parsed from text by forms and commands."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network

from headwater.http.errors import Invalid

MAX_ADDRESSES = 100
MAX_LIFETIME = timedelta(days=3650)
MAX_OVERLAP = timedelta(days=90)
DEFAULT_OVERLAP = "24h"

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}
_MAPPED = ip_network("::ffff:0:0/96")


def read_lifetime(text: str) -> timedelta | None:
    """Return None for an empty text: the key never expires. Raise Invalid."""
    if not text.strip():
        return None
    return _read_duration("expires", text, timedelta(hours=1), MAX_LIFETIME)


def read_overlap(text: str) -> timedelta:
    """Raise Invalid."""
    return _read_duration("overlap", text, timedelta(0), MAX_OVERLAP)


def _read_duration(name: str, text: str, shortest: timedelta, longest: timedelta) -> timedelta:
    match = re.fullmatch("([0-9]{1,5})([hd])", text.strip(), re.ASCII)
    duration = int(match[1]) * _UNITS[match[2]] if match else None
    if duration is None or not shortest <= duration <= longest:
        hours = int(shortest / _UNITS["h"])
        rule = f"must be hours or days, such as 24h or 90d, from {hours}h to {longest.days}d."
        raise Invalid.of(name, rule)
    return duration


def read_addresses(text: str) -> list[str]:
    """Return the networks in a text of addresses and networks, separated by commas or spaces; IPv4 addresses
    in IPv6 form become IPv4, like those of clients. Raise Invalid.
    """
    items = text.replace(",", " ").split()
    if len(items) > MAX_ADDRESSES:
        raise Invalid.of("addresses", f"must not be more than {MAX_ADDRESSES}.")
    try:
        return list(dict.fromkeys(str(_read_network(item)) for item in items))
    except ValueError as error:
        raise Invalid.of("addresses", f"can't be read: {error}.") from None


def _read_network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text)
    if isinstance(network, IPv6Network) and network.prefixlen >= _MAPPED.prefixlen:
        mapped_address = network.network_address.ipv4_mapped
        if mapped_address is not None:
            return IPv4Network((mapped_address, network.prefixlen - _MAPPED.prefixlen))
    return network
