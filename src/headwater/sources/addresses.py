"""Hosts of URLs as browsers and people write them. Pure and total: any text can be read, in time
linear to its length; the result is None unless it is the address of a page or an app.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

MAX_HOST = 253
"""The longest name the domain name system has."""

APP = "android-app://"

_AUTHORITY_AND_PATH = re.compile(r"([^/?#\\]*)([^?#]*)")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


class Address(msgspec.Struct, frozen=True, gc=False):
    """The target of a URL: a host in lower-case ASCII without `www.` and port, and the path there.
    The host of an Android app is `android-app://` and the app's id.
    """

    host: str
    path: str


def read_address(text: str | None) -> Address | None:
    """The address in a URL, or in a bare host with or without a path."""
    if not text:
        return None
    scheme, separator, rest = text.strip().partition("://")
    if not separator:
        return _bare(scheme)
    scheme = scheme.lower()
    if scheme in ("https", "http"):
        return _split(rest)
    if scheme == "android-app" and (app := _split(rest)) is not None:
        return Address(APP + app.host, app.path)
    return None


def _bare(text: str) -> Address | None:
    if text.startswith("//"):
        return _split(text[2:])
    address = _split(text, with_user=False)
    # A host alone is told from any other word by its dot.
    return address if address is not None and "." in address.host else None


def _split(rest: str, *, with_user: bool = True) -> Address | None:
    match = _AUTHORITY_AND_PATH.match(rest)
    authority, path = match.groups() if match is not None else ("", "")
    user, _, host = authority.rpartition("@")
    name = _host(host) if with_user or not user else None
    return Address(name, path) if name is not None else None


def _host(text: str) -> str | None:
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        name = text
    elif port and not (port.isascii() and port.isdigit()):
        return None
    name = name.lower() if name.isascii() else name_in_ascii(name)
    name = name.rstrip(".")
    if len(name) > MAX_HOST or _NAME.fullmatch(name) is None:
        return None
    inner = name.removeprefix("www.")
    return inner if "." in inner else name


def name_in_ascii(name: str) -> str:
    """An internationalised name as browsers send it, in Punycode; "" when it is none."""
    if len(name) > MAX_HOST:
        return ""
    plain = unicodedata.normalize("NFKC", name).lower().replace("\u3002", ".")
    try:
        return ".".join(
            label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
            for label in plain.split(".")
        )
    except UnicodeError:
        return ""
