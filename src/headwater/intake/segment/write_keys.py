"""The sender of a request by its write key: a site's public key, or an API key."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from msgspec import Struct

from headwater.http.errors import Forbidden, Unauthorized
from headwater.intake.tracker.endpoint import check_origin
from headwater.spaces.access import Caller, KeyCache
from headwater.spaces.sites.sites import PREFIX, SCOPE, ActiveSite, SiteCache

UNKNOWN = (
    "The write key is missing, unknown or revoked. Use the key of a site on its pages, and an API key"
    " with the scope events:write on servers."
)
API_KEY_ON_PAGE = "This is an API key, which must not be in a page. Use the key of the site."
LONGEST_KEY = 512


class KeyOwner(Struct, frozen=True):
    caller: Caller
    site: ActiveSite | None
    """None for an API key."""


def read_write_key(authorization: bytes | None, in_body: Any) -> str:
    """Return the user name of basic authentication, or else the key in the body; empty without any."""
    scheme, _, encoded = (authorization or b"").partition(b" ")
    if scheme.lower() == b"basic" and len(encoded) <= LONGEST_KEY:
        try:
            user = base64.b64decode(encoded.strip(), validate=True).partition(b":")[0].decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            user = ""
        if user:
            return user
    return in_body if isinstance(in_body, str) and len(in_body) <= LONGEST_KEY else ""


async def find_sender(keys: KeyCache, sites: SiteCache, key: str, origin: str) -> KeyOwner:
    """Believe a site's key only from its pages, and an API key only without a page. Raise Unauthorized,
    Forbidden, or one of UNAVAILABLE.
    """
    try:
        if key.startswith(PREFIX):
            site = await sites.site(key)
            check_origin(origin)
            site.admit(origin)
            sender = KeyOwner(site.caller, site)
        else:
            caller = await keys.caller(b"Bearer " + key.encode())
            sender = KeyOwner(caller, None)
    except Unauthorized:
        raise Unauthorized(UNKNOWN) from None
    if sender.site is None and origin:
        raise Forbidden(API_KEY_ON_PAGE)
    sender.caller.authorize(SCOPE)
    return sender
