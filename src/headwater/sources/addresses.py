"""Read hosts of URLs. Pure, in linear time."""

from __future__ import annotations

import re
import unicodedata

import msgspec

MAX_HOST_LENGTH = 253

APP = "android-app://"

_AUTHORITY_AND_PATH = re.compile(r"([^/?#\\]*)([^?#]*)")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


class Address(msgspec.Struct, frozen=True, gc=False):
    """Host and path of a URL. The host is lower-case ASCII without `www.` and port, or `android-app://` and
    an app's id.
    """

    host: str
    path: str


def read_address(text: str | None) -> Address | None:
    """Parse a URL, or a bare host; None for anything but a page or app."""
    if not text:
        return None
    scheme, separator, target = text.strip().partition("://")
    if not separator:
        return _read_bare(scheme)
    scheme = scheme.lower()
    if scheme in ("https", "http"):
        return _split(target)
    if scheme == "android-app" and (app := _split(target)) is not None:
        return Address(APP + app.host, app.path)
    return None


def _read_bare(text: str) -> Address | None:
    if text.startswith("//"):
        return _split(text[2:])
    address = _split(text, with_user=False)
    return address if address is not None and "." in address.host else None


def _split(target: str, *, with_user: bool = True) -> Address | None:
    match = _AUTHORITY_AND_PATH.match(target)
    authority, path = match.groups() if match is not None else ("", "")
    user, _, host = authority.rpartition("@")
    name = _read_host(host) if with_user or not user else None
    return Address(name, path) if name is not None else None


def _read_host(text: str) -> str | None:
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        name = text
    elif port and not (port.isascii() and port.isdigit()):
        return None
    name = name.lower() if name.isascii() else name_in_ascii(name)
    name = name.rstrip(".")
    if len(name) > MAX_HOST_LENGTH or _NAME.fullmatch(name) is None:
        return None
    without_www = name.removeprefix("www.")
    return without_www if "." in without_www else name


def name_in_ascii(name: str) -> str:
    """Return Punycode, as browsers send it; "" if invalid."""
    if len(name) > MAX_HOST_LENGTH:
        return ""
    plain_name = unicodedata.normalize("NFKC", name).lower().replace("\u3002", ".")
    try:
        return ".".join(
            label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
            for label in plain_name.split(".")
        )
    except UnicodeError:
        return ""
