"""The owner of a key in another company's protocol: a site's public key, or an API key."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from headwater.http.errors import Forbidden, Unauthorized
from headwater.intake.tracker.endpoint import check_origin
from headwater.spaces.access import Caller, KeyCache
from headwater.spaces.sites.sites import PREFIX, SCOPE, ActiveSite, SiteCache

UNKNOWN = (
    "The {name} is missing, unknown, expired or revoked. Use the key of a site on its pages, and an API key"
    " with the scope events:write on servers."
)
API_KEY_ON_PAGE = "This is an API key, which must not be in a page. Use the key of the site."


class KeyOwner(Struct, frozen=True):
    caller: Caller
    site: ActiveSite | None
    """None for an API key."""


class Key(Struct, frozen=True):
    name: str
    """The protocol's word for it."""
    text: str


async def find_owner(keys: KeyCache, sites: SiteCache, key: Key, origin: str, scope: Any) -> KeyOwner:
    """Believe a site's key only from its pages, and an API key only without a page. Raise Unauthorized,
    Forbidden, or one of UNAVAILABLE.
    """
    try:
        if key.text.startswith(PREFIX):
            site = await sites.site(key.text)
            check_origin(origin)
            site.admit(origin)
            owner = KeyOwner(site.caller, site)
        else:
            caller = await keys.caller(b"Bearer " + key.text.encode(), scope)
            owner = KeyOwner(caller, None)
    except Unauthorized:
        raise Unauthorized(UNKNOWN.format(name=key.name)) from None
    if owner.site is None and origin:
        raise Forbidden(API_KEY_ON_PAGE)
    owner.caller.authorize(SCOPE)
    return owner
