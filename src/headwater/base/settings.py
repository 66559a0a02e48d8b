"""All operator settings, read once from HEADWATER_* variables.

An unusable value stops the start with an error naming the variable: guessing at a mistyped setting is worse
than not starting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headwater.base.failure import Failure
from headwater.base.log_lines import FORMATS
from headwater.base.mail_server import read_mail_server, read_sender
from headwater.base.syslog_server import read_syslog_server

PREFIX = "HEADWATER_"
_PLATFORM_URL = re.compile(PREFIX + "([A-Z]+(?:_ADS|_OFFLINE)?(?:_SPEND)?)_URL")
"""A platform's own variable; this package doesn't know the platforms."""
STORAGE_SCHEMES = ("s3", "gs", "az")
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)
_FULL_NAME = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.ASCII)
_NAME_OR_ADDRESS = re.compile(r"[a-z0-9.:-]+", re.ASCII)
_DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_DAYS = 36_500
"""A century. Dates before the year 1 do not exist."""
MERGE_ALERT = 500
"""Merges per hour: more than manual corrections and logins on second devices cause."""
TAKEN_PATHS = (
    ".well-known",
    "console",
    "docs",
    "downloads",
    "favicon.ico",
    "ga4",
    "healthz",
    "login",
    "logout",
    "mail",
    "mcp",
    "metrics",
    "public-api",
    "readyz",
    "segment",
    "shared",
    "webhooks",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """A process's configuration. Field names are the variables' names in lower case."""

    database_url: str | None = None
    """PostgreSQL to use, as a libpq URL; None runs the embedded one in `data_dir`."""
    data_dir: Path = Path("headwater-data")
    """Directory of the embedded PostgreSQL and local files."""
    base_url: str | None = None
    """Public origin of the service; None derives it from host and port."""
    secret_key: str | None = None
    """Signs cursors and links; None uses the secret created with the database."""
    former_secret_key: str | None = None
    """Still decrypts stored secrets while they are encrypted again with a new key."""
    storage_url: str | None = None
    """Object store URL for exports: s3://, gs://, az:// or file://. None uses a folder in `data_dir`."""
    backup_dir: Path | None = None
    """Folder of backups and, written by the worker, the journal of erasures."""
    watched_dir: Path | None = None
    """Folder with a folder for each Space, named by its id, whose files the Space may watch."""
    rate_limit_factor: float = 1.0
    """Multiplies every rate limit."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks whose X-Forwarded-For is trusted."""
    brand: str = "Headwater"
    geoip_db: Path | None = None
    """MaxMind database of cities or countries, to locate visitors."""
    tracker_script: str = "/t.js"
    """Path of the tracker's script."""
    tracker_endpoint: str = "/t"
    """Path that the tracker reports to."""
    hosted_clients: bool = True
    """True if assistants may identify themselves by the URL of a metadata document."""
    assistant_hosts: tuple[str, ...] = (
        "antigravity.google",
        "chatgpt.com",
        "claude.ai",
        "claude.com",
        "grok.com",
        "insiders.vscode.dev",
        "vscode.dev",
        "www.cursor.com",
    )
    """Hosts of assistants that may register themselves."""
    merge_alert: int = MERGE_ALERT
    """Contact merges per Space and hour that raise an alert."""
    platform_urls: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ad platform → its API's origin, if not the default (for tests). Read from HEADWATER_<PLATFORM>_URL,
    and as `meta_spend` from HEADWATER_META_SPEND_URL.
    """
    max_upload_mb: int = 200
    """Largest file that can be uploaded in the console, in megabytes."""
    report_memory_mb: int = 40
    """Report cache of an API process, in megabytes; 0 disables it."""
    fetch_rates: bool = False
    """Fetches the European Central Bank's reference rates daily."""
    rates_url: str = "https://www.ecb.europa.eu"
    """Origin of the reference rates."""
    smtp_url: str | None = field(default=None, repr=False)
    """The smtp:// or smtps:// URL of the mail server; None sends no mail."""
    mail_from: str | None = None
    """Sender of mail, as `Name <address>` or an address."""
    notify_hosts: tuple[str, ...] = ()
    """Hosts of alert webhooks that may have private addresses, or be called without TLS."""
    sso_hosts: tuple[str, ...] = ()
    """Hosts of identity providers that may have private addresses, or be called without TLS."""
    require_second_factor: bool = False
    """True if every Space requires a second factor of its members."""
    audit_days: int | None = None
    """How many days entries of the audit log are kept; None keeps them."""
    audit_syslog: str | None = None
    """The tcp:// or tls:// URL of a syslog server for the audit log."""
    audit_otlp_url: str | None = None
    """An OpenTelemetry collector's URL for the audit log, such as https://collector.example/v1/logs."""
    audit_otlp_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers for this collector, such as its token."""
    max_connections: int = 800
    """Maximum open connections of an API process."""
    log_level: str = "info"
    """debug, info, warning or error."""
    log_format: str = "auto"
    """text, json, or auto: text at a terminal and JSON elsewhere."""

    @property
    def sends_audit(self) -> bool:
        return self.audit_syslog is not None or self.audit_otlp_url is not None

    @property
    def sends_mail(self) -> bool:
        return self.smtp_url is not None and self.mail_from is not None

    def with_data_dir(self, data_dir: str | None) -> Settings:
        """Return the settings with `--data-dir`, which overrides the variable."""
        return replace(self, data_dir=Path(data_dir)) if data_dir else self


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return settings from the environment. Raise Failure naming the first bad variable."""
    texts = {name: text.strip() for name, text in environ.items() if text.strip()}
    variables = {PREFIX + name.upper(): name for name in READERS}
    values: dict[str, Any] = {
        name: _read(variable, READERS[name], texts[variable])
        for variable, name in variables.items()
        if variable in texts
    }
    platform_urls = {
        match[1].lower(): _read(variable, _base_url, text)
        for variable, text in texts.items()
        if variable not in variables and (match := _PLATFORM_URL.fullmatch(variable))
    }
    return Settings(**values, platform_urls=platform_urls)


def _read(variable: str, reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise Failure(f"{variable}: {error}") from None


def _database_url(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("must be a postgresql:// URL")
    from psycopg import ProgrammingError  # noqa: PLC0415 - only with this variable
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - likewise

    try:
        host = conninfo_to_dict(text).get("host")
    except ProgrammingError:  # its text quotes the password
        host = "@"
    if "@" in str(host):
        raise ValueError(
            "must be a URL that PostgreSQL accepts: write special characters of the password"
            " percent-encoded, such as %40 for @, and only parameters of libpq after `?`"
        )
    return text


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http:// or https:// origin")
    if parts.path or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an origin without a path or trailing slash")
    if not _HOST.fullmatch(parts.hostname):
        raise ValueError("must have a host name in ASCII; write other letters as xn--…")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    # The console compares it with the origin that browsers send, which has this form.
    if text != (origin := f"{parts.scheme}://{host}{port}"):
        raise ValueError(f"must be written as browsers do: {origin}")
    return text


def _path(text: str) -> str:
    if not re.fullmatch("(/[A-Za-z0-9._~-]+)+", text, re.ASCII):
        raise ValueError("must be a path of letters, digits and - . _ ~, such as /t.js")
    if {".", ".."} & {*text.split("/")}:
        raise ValueError("must not contain /./ or /../, which browsers remove")
    if text.split("/")[1] in TAKEN_PATHS:
        raise ValueError(f"must not begin with /{text.split('/')[1]}, which Headwater itself uses")
    return text


def _places(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"{text} is not a file")
    import maxminddb  # noqa: PLC0415 - what does not serve should not pay for it

    try:
        with maxminddb.Reader(str(path)) as reader:
            kind = reader.metadata().database_type
    except (OSError, ValueError, maxminddb.InvalidDatabaseError):
        raise ValueError(f"{text} is not a MaxMind database") from None
    if not any(word in kind.lower() for word in ("city", "country", "enterprise")):
        raise ValueError(f"{text} is a database of type {kind}, not of cities or countries")
    return path


def _secret_key(text: str) -> str:
    if len(text) < 32:
        raise ValueError("must be at least 32 characters long")
    return text


def _storage_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/"):
            raise ValueError("must name an absolute path after file://")
    elif parts.scheme not in STORAGE_SCHEMES or not parts.netloc:
        raise ValueError("must be an s3://, gs://, az:// or file:// URL")
    return text


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0
    if not 0 < factor < 1e9:
        raise ValueError("must be a number above 0")
    return factor


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(network.strip()) for network in text.split(",") if network.strip())


def _whole_number(least: int, most: int, unit: str = "") -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text, re.ASCII) or not least <= int(text) <= most:
            raise ValueError(f"must be a whole number{unit} from {least} to {most}")
        return int(text)

    return read


def _yes_or_no(text: str) -> bool:
    return _word("true", "false")(text) == "true"


def _hosts(text: str, form: re.Pattern[str] = _FULL_NAME, noun: str = "host name") -> tuple[str, ...]:
    hosts = tuple(host.strip().lower() for host in text.split(",") if host.strip())
    for host in hosts:
        if not form.fullmatch(host):
            raise ValueError(f"{host} is not a {noun}, such as login.example.com")
    return hosts


def _readable_by(read: Callable[[str], object]) -> Callable[[str], str]:
    """Return a reader of texts that `read` accepts."""

    def check(text: str) -> str:
        read(text)
        return text

    return check


def _private_hosts(text: str) -> tuple[str, ...]:
    return _hosts(text, _NAME_OR_ADDRESS, "host name or address")


def _otlp_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
        raise ValueError("must be an http:// or https:// URL")
    return text


def _headers(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for pair in text.split(","):
        name, is_pair, value = pair.strip().partition("=")
        if not is_pair or not re.fullmatch(r"[A-Za-z0-9-]+", name) or not value.isascii():
            raise ValueError("must be NAME=VALUE, several with commas")
        headers[name] = value.strip()
    return headers


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"must be {', '.join(words[:-1])} or {words[-1]}")
        return text.lower()

    return read


READERS = {
    "database_url": _database_url,
    "data_dir": Path,
    "base_url": _base_url,
    "secret_key": _secret_key,
    "former_secret_key": _secret_key,
    "storage_url": _storage_url,
    "backup_dir": Path,
    "watched_dir": Path,
    "rate_limit_factor": _factor,
    "trusted_proxies": _networks,
    "brand": str,
    "geoip_db": _places,
    "tracker_script": _path,
    "tracker_endpoint": _path,
    "hosted_clients": _yes_or_no,
    "assistant_hosts": _hosts,
    "merge_alert": _whole_number(1, 999_999_999),
    "max_upload_mb": _whole_number(1, 999_999_999),
    "report_memory_mb": _whole_number(0, 999_999, " of megabytes"),
    "fetch_rates": _yes_or_no,
    "rates_url": _base_url,
    "smtp_url": _readable_by(read_mail_server),
    "mail_from": _readable_by(read_sender),
    "notify_hosts": _private_hosts,
    "sso_hosts": _private_hosts,
    "require_second_factor": _yes_or_no,
    "audit_days": _whole_number(1, MAX_DAYS, " of days"),
    "audit_syslog": _readable_by(read_syslog_server),
    "audit_otlp_url": _otlp_url,
    "audit_otlp_headers": _headers,
    "max_connections": _whole_number(1, 999_999),
    "log_level": _word("debug", "info", "warning", "error"),
    "log_format": _word(*FORMATS),
}
