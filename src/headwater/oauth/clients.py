"""What an assistant says of itself, when it registers and in a metadata document it hosts: read,
checked and told. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import msgspec

from headwater.oauth.errors import OAuthError
from headwater.oauth.redirects import (
    Redirect,
    RedirectRefusal,
    find_registered,
    read_redirect,
    refuse_hosted,
    refuse_registered,
)

LONGEST_NAME = 120
MOST_REDIRECTS = 20
LONGEST_RECORDED = 2000

RECORDED_TEXTS = ("client_uri", "application_type", "logo_uri", "policy_uri", "tos_uri",
                  "software_id", "software_version", "scope")  # fmt: skip
RECORDED_LISTS = ("grant_types", "response_types")
"""What else a client may say; it is kept and never enforced."""

_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Categories of what has no place in a name: controls, halves of characters, line separators."""


@dataclass(frozen=True)
class OAuthClient:
    """An assistant as a consent page shows it and a redirect is checked against."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    host: str | None = None
    """Where its metadata document is hosted; None when it registered itself."""
    registered_at: datetime | None = None
    """When it registered itself."""

    @property
    def shown(self) -> str:
        """Its name as pages show it."""
        return shown_name(self.name)

    def find_redirect(self, asked: str) -> Redirect | None:
        """The redirect address that is asked for, if it is one of the client's."""
        return find_registered(self.redirect_uris, asked)

    @property
    def is_loopback_only(self) -> bool:
        """Whether any program on the person's machine could pretend to be it."""
        read = map(read_redirect, self.redirect_uris)
        return all(isinstance(each, Redirect) and each.is_loopback for each in read)


@dataclass(frozen=True)
class Registration:
    """A registration that is accepted, with the part of its redirect addresses that is."""

    name: str
    redirect_uris: tuple[str, ...]
    recorded: dict[str, Any]


def read_registration(given: Mapping[str, Any], brand: str, hosts: Collection[str]) -> Registration:
    """A client that registers itself. Raises OAuthError; of its redirect addresses those that can
    be used are kept, and one has to be left.
    """
    name = _name(given.get("client_name"), brand)
    _refuse_secrets(given, "invalid_client_metadata")
    asked = _addresses(given.get("redirect_uris"))
    kept = tuple(dict.fromkeys(each for each in asked if _accepted(each, hosts)))
    if not kept:
        why = {each[:200]: _refusal(each, hosts) for each in asked[:5]}
        told = "; ".join(f"{each} {refusal}" for each, refusal in why.items())
        raise OAuthError("invalid_redirect_uri", f"No redirect URI can be used: {told or 'none'}.")
    return Registration(name, kept, _recorded(given))


def read_document(url: str, given: Mapping[str, Any], brand: str) -> OAuthClient:
    """The client whose metadata document at `url` says this. Raises OAuthError; a document with one
    bad redirect address is refused whole.
    """
    own = read_redirect(url)
    if isinstance(own, RedirectRefusal):
        raise OAuthError("invalid_client", f"The client_id {own}.", 401)
    if given.get("client_id") != url:
        raise _bad_document("client_id is not the document's own URL")
    if given.get("token_endpoint_auth_method") != "none":
        raise _bad_document("token_endpoint_auth_method is not none")
    _refuse_secrets(given, "invalid_client")
    try:
        name = _name(given.get("client_name"), brand)
        asked = _addresses(given.get("redirect_uris"))
    except OAuthError as error:
        raise _bad_document(error.description.rstrip(".")) from None
    for each in asked:
        redirect = read_redirect(each)
        why = redirect if isinstance(redirect, RedirectRefusal) else refuse_hosted(redirect, own)
        if why is not None:
            raise _bad_document(f"redirect URI {each[:200]} {why}")
    return OAuthClient(url, name, tuple(dict.fromkeys(asked)), own.host)


def _bad_document(why: str) -> OAuthError:
    told = f"The client's metadata document cannot be used: {why}."
    return OAuthError("invalid_client", told, 401)


def _accepted(uri: str, hosts: Collection[str]) -> bool:
    return _refusal(uri, hosts) is None


def _refusal(uri: str, hosts: Collection[str]) -> RedirectRefusal | None:
    redirect = read_redirect(uri)
    return redirect if isinstance(redirect, RedirectRefusal) else refuse_registered(redirect, hosts)


def _addresses(given: Any) -> list[str]:
    if not isinstance(given, list) or not given:
        raise OAuthError("invalid_redirect_uri", "redirect_uris must be an array of addresses.")
    addresses = cast("list[Any]", given)
    if len(addresses) > MOST_REDIRECTS:
        raise OAuthError("invalid_redirect_uri", f"At most {MOST_REDIRECTS} redirect URIs.")
    if not all(isinstance(each, str) for each in addresses):
        raise OAuthError("invalid_redirect_uri", "redirect_uris must hold strings.")
    return addresses


def _name(given: Any, brand: str) -> str:
    try:
        return check_client_name(given, brand)
    except ValueError as error:
        raise OAuthError("invalid_client_metadata", f"client_name {error}.") from None


def check_client_name(given: Any, brand: str) -> str:
    """A name fit for a consent page. ValueError says what is wrong with it."""
    if not isinstance(given, str) or not shown_name(given).strip():
        raise ValueError("is required")
    if len(given) > LONGEST_NAME:
        raise ValueError(f"must not be longer than {LONGEST_NAME} characters")
    if any(unicodedata.category(each) in _HIDDEN for each in given):
        raise ValueError("must not hold control characters")
    # As people read it: with other forms of the same letters, and without marks that hide in it.
    read = unicodedata.normalize("NFKC", shown_name(given))
    if re.search(rf"(?<!\w){re.escape(brand)}(?!\w)", read, re.IGNORECASE):
        raise ValueError(f"must not hold the name {brand}")
    return given.strip()


def shown_name(name: str) -> str:
    """A client's name as a page shows it: without marks that turn the text around or hide in it."""
    return "".join(each for each in name if unicodedata.category(each) != "Cf")


def _refuse_secrets(given: Mapping[str, Any], code: Any) -> None:
    if given.get("client_secret") is not None:
        raise OAuthError(code, "Clients have no secret here.")


def _recorded(given: Mapping[str, Any]) -> dict[str, Any]:
    """What else was said, as far as it is of the right kind and of a sane size."""
    kept = {name: given[name] for name in RECORDED_TEXTS if isinstance(given.get(name), str)}
    kept |= {name: given[name] for name in RECORDED_LISTS if _is_texts(given.get(name))}
    return {
        name: value
        for name, value in kept.items()
        if len(msgspec.json.encode(value)) <= LONGEST_RECORDED
    }


def _is_texts(given: Any) -> bool:
    return isinstance(given, list) and all(
        isinstance(each, str) for each in cast("list[Any]", given)
    )
