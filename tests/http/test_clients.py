"""Which address a request is attributed to."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from headwater.http.clients import client_address

PROXIES = [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")]
PROXY = "10.0.0.1"


def find_client(peer: str | None, *forwarded: str, trusted_proxies: Any = PROXIES) -> str | None:
    scope = {
        "client": None if peer is None else (peer, 1234),
        "headers": [(b"x-forwarded-for", text.encode("latin-1")) for text in forwarded],
    }
    return client_address(scope, trusted_proxies)


def test_it_works() -> None:
    assert find_client(PROXY, "203.0.113.7") == "203.0.113.7"


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),  # strangers can send any header
        (PROXY, [], PROXY),
        (PROXY, ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
        (PROXY, ["198.51.100.1, 203.0.113.7, 10.9.9.9"], "203.0.113.7"),
        (PROXY, ["198.51.100.1", "203.0.113.7,10.9.9.9"], "203.0.113.7"),
        (PROXY, ["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        (PROXY, ["203.0.113.7:4711"], "203.0.113.7"),
        (PROXY, ["[2001:4860::1]:4711"], "2001:4860::1"),
        (PROXY, ["[2001:4860::1]"], "2001:4860::1"),
        (PROXY, ["2001:4860:0::1"], "2001:4860::1"),
        (PROXY, ["::ffff:203.0.113.7"], "203.0.113.7"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("2001:db8::5", ["2001:4860::1, 2001:db8::6"], "2001:4860::1"),
        (PROXY, ["fe80::1%eth0"], "fe80::1"),
        (PROXY, ["203.0.113.7, unknown"], None),
        (PROXY, ["unknown, 203.0.113.7"], "203.0.113.7"),
        (PROXY, [""], None),
        (PROXY, [","], None),
        (PROXY, ["é"], None),
        (PROXY, ["203.0.113.7; DROP"], None),
        (PROXY, ["999.1.1.1"], None),
        (None, ["203.0.113.7"], None),
        ("unix", ["203.0.113.7"], None),
    ],
)
def test_which_address_counts(peer: str | None, forwarded: list[str], address: str | None) -> None:
    assert find_client(peer, *forwarded) == address


def test_nobody_is_trusted_unless_told() -> None:
    assert find_client(PROXY, "203.0.113.7", trusted_proxies=()) == PROXY
