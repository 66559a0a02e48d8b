"""The operator's mail server and sender, from settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import parseaddr
from urllib.parse import parse_qs, unquote, urlsplit

PORTS = {"smtp": 587, "smtps": 465}
TLS_CHOICES = ("required", "optional", "never")


@dataclass(frozen=True)
class MailServer:
    host: str
    port: int
    is_tls: bool
    """True for TLS from the first octet."""
    starttls: str = "required"
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


def read_mail_server(url: str) -> MailServer:
    """Return the server of an smtp:// or smtps:// URL. Raise ValueError with the broken rule."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("must be an smtp:// or smtps:// URL that names a host")
    if parts.path not in ("", "/") or parts.fragment:
        raise ValueError("must have nothing after the host but ?tls=")
    choices = parse_qs(parts.query, keep_blank_values=True)
    tls = choices.pop("tls", ["required"])[-1]
    if choices or tls not in TLS_CHOICES:
        raise ValueError(f"may only have ?tls= after the host: {', '.join(TLS_CHOICES)}")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not (user + password).isascii():
        raise ValueError("must have a user name and password in ASCII")
    if user and tls == "never" and parts.scheme == "smtp":
        raise ValueError("must not have a password with tls=never, which would send it in clear")
    port = parts.port or PORTS[parts.scheme]
    return MailServer(parts.hostname, port, parts.scheme == "smtps", tls, user, password)


def read_sender(text: str) -> tuple[str, str]:
    """Return the name and address of a sender, as `Name <address>` or an address. Raise ValueError."""
    name, address = parseaddr(text)
    local_part, separator, domain = address.rpartition("@")
    if not (separator and local_part and domain) or not text.isprintable() or not address.isascii():
        raise ValueError("must be an e-mail address, such as alerts@example.com or Name <address>")
    return name, address
