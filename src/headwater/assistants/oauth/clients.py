"""Client metadata, from a registration or a hosted document. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec
from msgspec import Struct

from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.redirects import (
    Redirect,
    RedirectRefusal,
    find_registered,
    read_redirect,
    refuse_hosted,
    refuse_registered,
)
from headwater.http.inputs.fields import UNPRINTABLE

LONGEST_NAME = 120
MOST_REDIRECTS = 20
LONGEST_RECORDED = 2000

RECORDED_TEXTS = (
    "client_uri",
    "application_type",
    "logo_uri",
    "policy_uri",
    "tos_uri",
    "software_id",
    "software_version",
    "scope",
)
RECORDED_LISTS = ("grant_types", "response_types")
"""Other metadata that is stored but never enforced."""

_HIDDEN_CATEGORIES = ("Cc", "Cf", "Zl", "Zp")
"""Character categories hidden in names: controls, marks, line separators."""


class OAuthClient(Struct, frozen=True):
    """An assistant, shown on consent pages and checked against redirects."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    host: str | None = None
    """Host of its metadata document; None for a registered client."""
    registered_at: datetime | None = None

    @property
    def display_name(self) -> str:
        return visible_name(self.name)

    def find_redirect(self, uri: str) -> Redirect | None:
        return find_registered(self.redirect_uris, uri)

    @property
    def is_loopback_only(self) -> bool:
        """Return True if any program on the person's machine could impersonate it."""
        redirects = map(read_redirect, self.redirect_uris)
        return all(isinstance(target, Redirect) and target.is_loopback for target in redirects)


class Registration(Struct, frozen=True):
    """An accepted registration, with its accepted redirect addresses."""

    name: str
    redirect_uris: tuple[str, ...]
    recorded: dict[str, Any]


def read_registration(metadata: Mapping[str, Any], brand: str, hosts: Collection[str]) -> Registration:
    """Drop unusable redirect addresses. Raise OAuthError if none is left."""
    name = _name(metadata.get("client_name"), brand)
    _refuse_secrets(metadata, "invalid_client_metadata")
    uris = _addresses(metadata.get("redirect_uris"))
    redirects = tuple(dict.fromkeys(uri for uri in uris if _refusal(uri, hosts) is None))
    if not redirects:
        refusals_by_uri = {uri[:200]: _refusal(uri, hosts) for uri in uris[:5]}
        refusals = "; ".join(f"{uri} {refusal}" for uri, refusal in refusals_by_uri.items())
        raise OAuthError("invalid_redirect_uri", f"No redirect URI can be used: {refusals or 'none'}.")
    return Registration(name, redirects, _recorded(metadata))


def read_document(url: str, metadata: Mapping[str, Any], brand: str) -> OAuthClient:
    """Raise OAuthError, also if any redirect address is bad."""
    own_redirect = read_redirect(url)
    if isinstance(own_redirect, RedirectRefusal):
        raise OAuthError("invalid_client", f"The client_id {own_redirect}.", 401)
    if metadata.get("client_id") != url:
        raise _bad_document("client_id is not the document's own URL")
    if metadata.get("token_endpoint_auth_method") != "none":
        raise _bad_document("token_endpoint_auth_method is not none")
    _refuse_secrets(metadata, "invalid_client")
    try:
        name = _name(metadata.get("client_name"), brand)
        uris = _addresses(metadata.get("redirect_uris"))
    except OAuthError as error:
        raise _bad_document(error.description.rstrip(".")) from None
    for uri in uris:
        redirect = read_redirect(uri)
        refusal = redirect if isinstance(redirect, RedirectRefusal) else refuse_hosted(redirect, own_redirect)
        if refusal is not None:
            raise _bad_document(f"redirect URI {uri[:200]} {refusal}")
    return OAuthClient(url, name, tuple(dict.fromkeys(uris)), own_redirect.host)


def _bad_document(reason: str) -> OAuthError:
    message = f"The client's metadata document cannot be used: {reason}."
    return OAuthError("invalid_client", message, 401)


def _refusal(uri: str, hosts: Collection[str]) -> RedirectRefusal | None:
    redirect = read_redirect(uri)
    return redirect if isinstance(redirect, RedirectRefusal) else refuse_registered(redirect, hosts)


def _addresses(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise OAuthError("invalid_redirect_uri", "redirect_uris must be an array of addresses.")
    addresses = cast("list[Any]", value)
    if len(addresses) > MOST_REDIRECTS:
        raise OAuthError("invalid_redirect_uri", f"At most {MOST_REDIRECTS} redirect URIs.")
    if not all(isinstance(address, str) for address in addresses):
        raise OAuthError("invalid_redirect_uri", "redirect_uris must hold strings.")
    return addresses


def _name(value: Any, brand: str) -> str:
    try:
        return check_client_name(value, brand)
    except ValueError as error:
        raise OAuthError("invalid_client_metadata", f"client_name {error}.") from None


def check_client_name(name: Any, brand: str) -> str:
    """Return a name fit for a consent page. Raise ValueError with the broken rule."""
    if not isinstance(name, str) or not visible_name(name).strip():
        raise ValueError("is required")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"must not be longer than {LONGEST_NAME} characters")
    if UNPRINTABLE.search(name):
        raise ValueError("must not hold control characters")
    # As people read it: normalized letters, without hidden marks.
    visible_text = unicodedata.normalize("NFKC", visible_name(name))
    if re.search(rf"(?<!\w){re.escape(brand)}(?!\w)", visible_text, re.IGNORECASE):
        raise ValueError(f"must not hold the name {brand}")
    return name.strip()


def visible_name(name: str) -> str:
    """Return one line, without marks that turn or hide text."""
    return "".join(char for char in name if unicodedata.category(char) not in _HIDDEN_CATEGORIES)


def _refuse_secrets(metadata: Mapping[str, Any], code: Any) -> None:
    if metadata.get("client_secret") is not None:
        raise OAuthError(code, "Clients have no secret here.")


def _recorded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: metadata[name] for name in RECORDED_TEXTS if isinstance(metadata.get(name), str)}
    texts |= {name: metadata[name] for name in RECORDED_LISTS if _is_texts(metadata.get(name))}
    return {
        name: value for name, value in texts.items() if len(msgspec.json.encode(value)) <= LONGEST_RECORDED
    }


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))
