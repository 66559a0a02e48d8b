"""Allowed hosts and addresses, against every odd spelling and every detour to inner ones."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.addresses import AddressRefusal, find_refusal, first_refusal, read_host

REFUSED = {
    AddressRefusal.UNSPECIFIED: ["0.0.0.0", "0.0.0.1", "0.255.255.255", "::"],
    AddressRefusal.LOOPBACK: [
        "127.0.0.1", "127.0.0.0", "127.1.2.3", "127.255.255.255", "::1", "::ffff:127.0.0.1",
        "::ffff:7f00:1", "64:ff9b::7f00:1", "64:ff9b::127.0.0.1",
    ],
    AddressRefusal.LINK_LOCAL: [
        "169.254.0.0", "169.254.0.1", "169.254.255.255", "fe80::1", "fe80::", "febf::1",
        "::ffff:169.254.1.1",
    ],
    AddressRefusal.PRIVATE: [
        "10.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.0", "172.16.0.1", "172.31.255.255",
        "192.168.0.0", "192.168.1.1", "192.168.255.255", "fc00::", "fc00::1", "fd00::1",
        "fdff:ffff::1", "fec0::1", "feff::1", "::ffff:10.0.0.1", "::ffff:192.168.0.1",
        "64:ff9b::a00:1", "64:ff9b::192.168.0.1",
    ],
    AddressRefusal.SHARED: ["100.64.0.0", "100.64.0.1", "100.127.255.255", "::ffff:100.64.0.1"],
    AddressRefusal.METADATA: [
        "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd20:ce::254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe", "::ffff:168.63.129.16", "fd00:42::42",
    ],
    AddressRefusal.DOCUMENTATION: [
        "192.0.2.0", "192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1",
        "2001:db8:ffff::1", "3fff::1", "3fff:fff::1", "::ffff:192.0.2.1",
    ],
    AddressRefusal.BENCHMARK: ["198.18.0.0", "198.18.0.1", "198.19.255.255", "2001:2::1"],
    AddressRefusal.MULTICAST: [
        "224.0.0.0", "224.0.0.1", "239.255.255.250", "239.255.255.255", "ff00::", "ff02::1",
        "ff0e::1", "::ffff:224.0.0.1",
    ],
    AddressRefusal.TUNNEL: [
        "192.88.99.1", "2002::", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1",
        "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "64:ff9b:1::1", "64:ff9b:1::7f00:1",
        "2600:1f18::5efe:a00:1", "2600:1f18::200:5efe:7f00:1",
    ],
    AddressRefusal.RESERVED: [
        "192.0.0.0", "192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.31.196.1",
        "192.52.193.1", "192.175.48.1", "240.0.0.0", "240.0.0.1", "255.255.255.255", "::2",
        "::127.0.0.1", "::7f00:1", "::8.8.8.8", "::ffff:0:127.0.0.1", "100::1", "100:0:0:1::1",
        "4000::1", "5f00::1", "1::1", "2001:1::1", "2001:3::1", "2001:10::1", "2001:20::1",
        "2001:30::1", "2620:4f:8000::1", "::ffff:240.0.0.1", "::fffe:8.8.8.8", "fe00::1",
    ],
}  # fmt: skip

ALLOWED = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
    "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
    "198.20.0.0", "223.255.255.255", "157.240.1.35", "2000::1", "2001:200::1", "2003::1",
    "2001:4860:4860::8888", "2606:4700:4700::1111", "2a03:2880:f12f:83:face:b00c:0:25de", "3ffe::1",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
]  # fmt: skip

PLAIN = {
    "graph.facebook.com": "graph.facebook.com",
    "GRAPH.Facebook.COM": "graph.facebook.com",
    "graph.facebook.com.": "graph.facebook.com",
    "localhost": "localhost",
    "localhost.": "localhost",
    "a_b.example": "a_b.example",
    "xn--bcher-kva.example": "xn--bcher-kva.example",
    "127.0.0.1": "127.0.0.1",
    "127.0.0.1.": "127.0.0.1",
    "[::1]": "::1",
    "[0:0:0:0:0:0:0:1]": "::1",
    "[::FFFF:127.0.0.1]": str(IPv6Address("::ffff:127.0.0.1")),
    "1.example": "1.example",
    "0x7f.example": "0x7f.example",
}

NOT_PLAIN = [
    "", ".", "..", "a..b", ".a", "-a.example", "a-.example", "a b.example",
    # Numbers that resolvers read as 127.0.0.1, 10.0.0.1 or 169.254.169.254.
    "2130706433", "2130706433.", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1",
    "0177.0.0.1", "0x7f.1", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.01", "127.0.0.0x1",
    "0", "0.", "00", "0x", "0x0", "127.0.0.1..", "1.2.3", "1.2.3.4.5", "256.0.0.1", "1.2.3.256",
    "012.0.0.1", "10.0.0.01", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "example.1",
    "example.0x1", "4294967296", "99999999999999999999",
    # Characters that normalization changes into others.
    "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\uff4cocalhost", "loc\u00adalhost",
    "b\u00fccher.example", "\u2460\u2461\u2466.0.0.1", "127.0.0.\u0661", "exampl\u212a.com",
    # Escapes, zones, users, ports, paths, and characters that end a text early.
    "127.0.0.1%00", "%6c%6f", "localhost%00.example.com", "a\0.example", "a\n.example", "a\t", " a",
    "user@127.0.0.1", "a:80", "a/b", "a?b", "a#b", "a\\b", "[::1", "::1]", "::1", "[fe80::1%eth0]",
    "[::1%25lo]", "[127.0.0.1]", "[]", "[a]", "[::ffff:127.0.0.01]", "[v1.a]", "a" * 64,
    ".".join(["a" * 60] * 5),
]  # fmt: skip


def test_it_works() -> None:
    assert find_refusal(ip_address("127.0.0.1")) is AddressRefusal.LOOPBACK
    assert find_refusal(ip_address("8.8.8.8")) is None
    forms = sum(map(len, REFUSED.values())) + len(ALLOWED) + len(PLAIN) + len(NOT_PLAIN)
    assert forms >= 120


@pytest.mark.parametrize(
    ("address", "reason"), [(text, refusal) for refusal, texts in REFUSED.items() for text in texts]
)
def test_private_addresses_are_refused(address: str, reason: AddressRefusal) -> None:
    assert find_refusal(ip_address(address)) is reason
    assert first_refusal(["8.8.8.8", address]) is reason


@pytest.mark.parametrize("address", ALLOWED)
def test_public_addresses_are_allowed(address: str) -> None:
    assert find_refusal(ip_address(address)) is None
    assert first_refusal([address, "8.8.8.8"]) is None


@pytest.mark.parametrize(("text", "host"), PLAIN.items())
def test_plain_hosts(text: str, host: str) -> None:
    assert read_host(text) == host


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_hosts_that_are_not_plain(text: str) -> None:
    assert read_host(text) is None


@pytest.mark.parametrize("text", ["fe80::1%eth0", "", "localhost"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert first_refusal([text]) is not None


@given(st.ip_addresses(v=4))
def test_each_form_of_an_address_is_as_good_as_the_address(address: IPv4Address) -> None:
    reason = find_refusal(address)
    number = int(address)
    assert find_refusal(IPv6Address((0xFFFF << 32) + number)) is reason
    assert find_refusal(IPv6Address((0x64FF9B << 96) + number)) is reason
    assert find_refusal(IPv6Address((0x2002 << 112) + (number << 80))) is AddressRefusal.TUNNEL


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_python_calls_private_is_never_connected_to(address: IPv4Address | IPv6Address) -> None:
    mapped_address = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if (mapped_address or address).is_private or address.is_multicast or address.is_link_local:
        assert find_refusal(address) is not None


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    host = read_host(text)
    assert host is None or host.isascii()
