"""Identity providers of the installation: whom they may let in, and with which roles.

Their client secrets are encrypted. A provider's issuer never changes, because accounts are linked by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all
from headwater.http.errors import Conflict, Invalid, require_any, require_found
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import close_password_sessions
from headwater.spaces.accounts.users import read_label
from headwater.spaces.encryption import SealedColumn, Unsealable, seal, unseal
from headwater.spaces.sso.documents import WELL_KNOWN
from headwater.spaces.sso.refusals import SsoReason, SsoRefused

queries = Queries(__name__, "providers.sql")

SCOPES = ("openid", "email", "profile")
LONGEST = 500
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}", re.ASCII)
_WORD = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", re.ASCII)


class RoleRule(Struct, frozen=True):
    """A role in a Space, for the members of a group or, without one, for each new user."""

    space_id: int
    role: Role
    group: str | None = None


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    domains: tuple[str, ...]
    """Domains of the e-mail addresses that are admitted."""
    rules: tuple[RoleRule, ...] = ()
    scopes: tuple[str, ...] = ()
    """Requested in addition to SCOPES."""
    groups_claim: str = "groups"
    verified_claim: str = "email_verified"
    """The claim that must be true for the e-mail address to count."""
    required: dict[str, str] = {}
    """Claims and the values that they must have or contain."""


class SsoProvider(Struct, frozen=True):
    name: str
    """Part of its addresses here."""
    issuer: str
    client_id: str
    sealed_secret: bytes | None
    settings: ProviderSettings

    @property
    def path(self) -> str:
        return f"/login/sso/{self.name}"

    def secret(self, sealing_key: bytes) -> str | None:
        """Raise SsoRefused if the installation's secret has changed."""
        if self.sealed_secret is None:
            return None
        try:
            return unseal(sealing_key, self.sealed_secret, _row(self.name)).decode()
        except Unsealable:
            raise SsoRefused(SsoReason.SECRET_UNREADABLE) from None


async def add_provider(connection: AsyncConnection, provider: SsoProvider) -> None:
    """Raise Conflict for a name in use."""
    if (await connection.execute(queries["add"], _values(provider))).rowcount == 0:
        raise Conflict(f"There is a provider named {provider.name}.")


async def change_provider(connection: AsyncConnection, provider: SsoProvider) -> None:
    await connection.execute(queries["change"], _values(provider))


async def remove_provider(connection: AsyncConnection, name: str) -> None:
    """Remove its links and sessions too. Raise NotFound."""
    require_any((await connection.execute(queries["remove"], {"name": name})).rowcount, "Provider")


async def list_providers(connection: AsyncConnection) -> list[SsoProvider]:
    return [_read(row) for row in await fetch_all(connection.cursor(row_factory=dict_row), queries["list"])]


async def fetch_provider(connection: AsyncConnection, name: str) -> SsoProvider:
    """Raise NotFound."""
    providers = {provider.name: provider for provider in await list_providers(connection)}
    return require_found(providers.get(name), "Provider")


def read_provider(name: str, issuer: str, client_id: str, settings: Mapping[str, Any]) -> SsoProvider:
    """Check what the operator typed. Raise Invalid."""
    if not _NAME.fullmatch(name):
        raise Invalid.of("name", "must be up to 32 lower-case letters, digits and hyphens.")
    for field, text in (("client_id", client_id), ("issuer", issuer)):
        if not text.isascii() or not text.isprintable() or not 0 < len(text) <= LONGEST:
            raise Invalid.of(field, f"must be 1 to {LONGEST} ASCII characters.")
    parts = urlsplit(issuer)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
        raise Invalid.of("issuer", "must be an https:// URL without a query.")
    if parts.path.endswith(WELL_KNOWN):
        raise Invalid.of("issuer", f"must be without {WELL_KNOWN}.")
    try:
        checked = msgspec.convert(settings, ProviderSettings)
    except msgspec.ValidationError as error:
        raise Invalid.of("settings", str(error)) from None
    _check_settings(checked)
    return SsoProvider(name, issuer, client_id, None, checked)


def _check_settings(settings: ProviderSettings) -> None:
    """Raise Invalid."""
    read_label("title", settings.title)
    if not settings.domains:
        raise Invalid.of("domain", "must be given at least once.")
    for domain in settings.domains:
        if not _DOMAIN.fullmatch(domain):
            raise Invalid.of("domain", f"{domain!r} is not a domain name in lower case.")
    for word in (*settings.scopes, settings.groups_claim, settings.verified_claim, *settings.required):
        if not _WORD.fullmatch(word):
            raise Invalid.of("scope", f"or claim {word!r} must be a word of up to 200 characters.")


def seal_secret(provider: SsoProvider, sealing_key: bytes, secret: str) -> SsoProvider:
    return msgspec.structs.replace(provider, sealed_secret=seal(sealing_key, secret, _row(provider.name)))


async def list_password_users(connection: AsyncConnection) -> Sequence[tuple[int, str]]:
    """Return the only users who may use a password, by id and address; empty if all may."""
    return await fetch_all(connection, queries["password_users"])


async def require_sso(connection: AsyncConnection, user_id: int) -> None:
    """Let only this user keep a password. Ends the others' sessions that began with one."""
    await connection.execute(queries["allow_all_passwords"])
    await connection.execute(queries["keep_password"], {"user_id": user_id})
    await close_password_sessions(connection, user_id)


async def allow_passwords(connection: AsyncConnection) -> None:
    await connection.execute(queries["allow_all_passwords"])


def _values(provider: SsoProvider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "client_secret": provider.sealed_secret,
        "settings": Jsonb(msgspec.to_builtins(provider.settings)),
    }


def _read(row: dict[str, Any]) -> SsoProvider:
    settings = msgspec.convert(row["settings"], ProviderSettings)
    return SsoProvider(row["name"], row["issuer"], row["client_id"], row["client_secret"], settings)


def _row(name: str) -> bytes:
    return f"sso provider {name}".encode()


SEALED = SealedColumn("sso_providers", "client_secret", ("name",), _row)
