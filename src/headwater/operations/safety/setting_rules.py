"""Risks of the settings, decided on the variables and the service's address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

from headwater.base.mail_server import read_mail_server
from headwater.base.settings import Settings
from headwater.operations.safety.models import Risk, RiskSeverity

MOST_TIMES = 20.0
"""Up to this factor a rate limit still protects."""
WIDEST = {4: 8, 6: 16}
"""The shortest acceptable prefix of a trusted proxy network, by IP version."""
FAILPOINTS = ("HEADWATER_FAILPOINT", "HEADWATER_FAILPOINT_FILE")


def judge_settings(settings: Settings, base_url: str, environ: Mapping[str, str]) -> Iterator[Risk]:
    yield from _judge_address(settings, base_url)
    for network in settings.trusted_proxies:
        yield from _judge_proxy(network)
    if settings.rate_limit_factor > MOST_TIMES:
        yield Risk(
            "no_rate_limits",
            RiskSeverity.WARNING,
            f"HEADWATER_RATE_LIMIT_FACTOR={settings.rate_limit_factor:g}",
            "one sender can use up shared resources: this factor disables the limits",
            f"set it to {MOST_TIMES:g} or less, and raise single limits with `headwater space set`",
        )
    yield from _judge_ways_out(settings)
    for variable in FAILPOINTS:
        if environ.get(variable):
            yield Risk(
                "failpoint",
                RiskSeverity.CRITICAL,
                variable,
                "it makes processes crash on purpose, for tests only",
                "remove it from the environment, and restart",
            )


def _judge_address(settings: Settings, base_url: str) -> Iterator[Risk]:
    parts = urlsplit(base_url)
    if _is_loopback(parts.hostname or ""):
        return
    if parts.scheme != "https":
        yield Risk(
            "no_tls",
            RiskSeverity.CRITICAL,
            base_url,
            "passwords, keys and visits cross the network unencrypted",
            "put a TLS proxy in front, and set HEADWATER_BASE_URL to the https:// origin",
        )
    if not settings.trusted_proxies:
        yield Risk(
            "no_proxy_trust",
            RiskSeverity.WARNING,
            f"{base_url}: no trusted proxies",
            "every visitor appears with the proxy's address: one of them can block the login for all,"
            " and journeys and places are wrong",
            "set HEADWATER_TRUSTED_PROXIES to the proxy's address, here and where `serve` runs",
        )


def _judge_proxy(network: IPv4Network | IPv6Network) -> Iterator[Risk]:
    if network.is_loopback or network.is_link_local or network.prefixlen >= WIDEST[network.version]:
        return
    yield Risk(
        "proxies_too_wide",
        RiskSeverity.CRITICAL,
        f"HEADWATER_TRUSTED_PROXIES: {network}",
        "callers from there can claim any address and bypass limits",
        "list only the addresses of your proxies",
    )


def _judge_ways_out(settings: Settings) -> Iterator[Risk]:
    """Judge mail without TLS, and hosts other than the platforms'."""
    if settings.smtp_url is not None:
        server = read_mail_server(settings.smtp_url)
        if not (server.is_tls or server.starttls == "required" or _is_loopback(server.host)):
            yield Risk(
                "mail_without_tls",
                RiskSeverity.WARNING,
                f"HEADWATER_SMTP_URL: {server.name}",
                "alerts, reports and the password may be sent unencrypted",
                "remove ?tls=, or use smtps://",
            )
    if settings.notify_hosts:
        yield Risk(
            "private_hosts",
            RiskSeverity.NOTICE,
            f"HEADWATER_NOTIFY_HOSTS: {', '.join(settings.notify_hosts)}",
            "members who create channels can send requests to these hosts in your network",
            "list only hosts that expect this",
        )
    for platform, url in settings.platform_urls.items():
        yield Risk(
            "platform_elsewhere",
            RiskSeverity.WARNING,
            f"HEADWATER_{platform.upper()}_URL: {url}",
            "conversions, and the platform's tokens, go to that host instead of the platform's",
            "remove it, except for tests of destinations",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
