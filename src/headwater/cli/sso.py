"""`headwater sso …`: single sign-on through identity providers."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.base.egress.client import Egress
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.cli.users import EMAIL, fetch_user
from headwater.database.installation import fetch_base_url
from headwater.operations.terminal.account_options import SECRET, read_secrets
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.operations.terminal.values import read_pairs
from headwater.spaces.accounts.members import list_joined
from headwater.spaces.accounts.roles import Role
from headwater.spaces.spaces import fetch_space
from headwater.spaces.sso.documents import ProviderDocuments
from headwater.spaces.sso.identities import unlink
from headwater.spaces.sso.providers import (
    RoleRule,
    SsoProvider,
    add_provider,
    allow_passwords,
    change_provider,
    fetch_provider,
    list_password_users,
    list_providers,
    read_provider,
    remove_provider,
    require_sso,
    seal_secret,
)
from headwater.spaces.sso.refusals import SsoRefused

group = CommandGroup()

NAME = Option("name", metavar="NAME", help="part of the provider's addresses here, such as google")
CLIENT_ID = "client id of the application that you registered at the provider"
SETTINGS = (
    SECRET,
    Option("--title", metavar="T", help="the provider's name on the login page (NAME)"),
    Option("--domain", action="append", metavar="D", help="an admitted e-mail domain; repeatable"),
    Option(
        "--role",
        action="append",
        metavar="SPACE:ROLE[:GROUP]",
        help="what new users, or a group's members, get; repeatable",
    ),
    Option("--scope", action="append", metavar="S", help="a scope to request, such as groups; repeatable"),
    Option("--groups-claim", metavar="C", help="the claim with a user's groups (groups)"),
    Option("--verified-claim", metavar="C", help="must be true for an address to count (email_verified)"),
    Option("--require", action="append", metavar="C=V", help="a value that a claim must have; repeatable"),
)


@group.command(
    "add",
    "let people log in through a provider",
    NAME,
    Option("--issuer", required=True, metavar="URL", help="the provider's issuer identifier"),
    Option("--client-id", required=True, metavar="ID", help=CLIENT_ID),
    *SETTINGS,
    JSON,
)
@prints
async def add(settings: Settings, arguments: Namespace) -> Noted:
    setting_values: dict[str, Any] = {"title": arguments.name, "domains": []}
    setting_values |= _read_settings(arguments)
    provider = read_provider(arguments.name, arguments.issuer, arguments.client_id, setting_values)
    provider = _with_secret(settings, arguments, provider)
    async with change(settings, arguments, "sso_provider") as connection:
        await _check_spaces(connection, provider)
        await add_provider(connection, provider)
        url = await fetch_base_url(connection, settings)
    return Noted(_describe(provider), f"Its redirect URI is {url}{provider.path}/callback.")


@group.command(
    "set", "change a provider", NAME, Option("--client-id", metavar="ID", help=CLIENT_ID), *SETTINGS, JSON
)
@prints
async def change_settings(settings: Settings, arguments: Namespace) -> Row:
    """Replace the given options; others stay."""
    async with change(settings, arguments, "sso_provider") as connection:
        before = await fetch_provider(connection, arguments.name)
        setting_values = msgspec.to_builtins(before.settings) | _read_settings(arguments)
        client_id = arguments.client_id or before.client_id
        provider = read_provider(before.name, before.issuer, client_id, setting_values)
        provider = msgspec.structs.replace(provider, sealed_secret=before.sealed_secret)
        provider = _with_secret(settings, arguments, provider)
        await _check_spaces(connection, provider)
        await change_provider(connection, provider)
    return _describe(provider)


@group.command("list", "list providers, and who may use a password", JSON)
@prints
async def list_all(settings: Settings, arguments: Namespace) -> Output:
    del arguments
    async with transaction(settings) as connection:
        providers = await list_providers(connection)
        emails = [email for _, email in await list_password_users(connection)]
    return [_describe(provider) | {"passwords": ", ".join(emails) or "all"} for provider in providers]


@group.command("remove", "remove a provider, its links and its sessions", NAME, JSON)
@prints
async def remove(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "sso_provider", "password_user") as connection:
        providers = await list_providers(connection)
        await remove_provider(connection, arguments.name)
        if len(providers) == 1:
            await allow_passwords(connection)
    return {"removed": arguments.name}


@group.command("test", "fetch a provider's settings and keys", NAME, JSON)
@prints
async def test(settings: Settings, arguments: Namespace) -> Row:
    """Check what can be checked without a person."""
    key = load_encryption_key(settings)
    async with transaction(settings) as connection:
        provider = await fetch_provider(connection, arguments.name)
    async with Egress(settings.sso_hosts) as egress:
        documents = ProviderDocuments(egress)
        try:
            provider.secret(key)
            metadata = await documents.find_metadata(provider.issuer)
            keys = await documents.verify(metadata, lambda keys: len(keys.keys))
        except SsoRefused as refusal:
            raise Failure(f"{refusal.reason}: {refusal.text} {refusal.cause}".rstrip()) from None
    return {"name": provider.name, "token_endpoint": metadata.token_endpoint, "keys": keys}


@group.command("unlink", "forget a user's account at a provider", NAME, EMAIL, JSON)
@prints
async def forget(settings: Settings, arguments: Namespace) -> Row:
    """The user's next login links the account that they use then."""
    async with change(settings, arguments, "sso_account") as connection:
        user = await fetch_user(connection, arguments.email)
        if not await unlink(connection, arguments.name, user.id):
            raise Failure(f"{user.email} has no account linked of {arguments.name}")
    return {"provider": arguments.name, "email": user.email}


@group.command("require", "turn off passwords, except one owner's", EMAIL, JSON)
@prints
async def require(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "password_user") as connection:
        if not await list_providers(connection):
            raise Failure("add a provider first: otherwise only this user could log in")
        user = await fetch_user(connection, arguments.email)
        memberships = await list_joined(connection, user.id)
        if user.password_hash is None or not any(space.role is Role.OWNER for space in memberships):
            raise Failure(f"{user.email} must be an owner of a Space and have a password, for emergencies")
        await require_sso(connection, user.id)
    return {"password_for": user.email}


@group.command("optional", "allow passwords again", JSON)
@prints
async def make_optional(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "password_user") as connection:
        await allow_passwords(connection)
    return {"password_for": "all"}


def _read_settings(arguments: Namespace) -> dict[str, Any]:
    """Return the given settings. Raise Failure."""
    setting_values: dict[str, Any] = {
        "title": arguments.title,
        "domains": arguments.domain and [text.strip().lower() for text in arguments.domain],
        "rules": arguments.role and [msgspec.to_builtins(_read_rule(text)) for text in arguments.role],
        "scopes": arguments.scope,
        "groups_claim": arguments.groups_claim,
        "verified_claim": arguments.verified_claim,
        "required": arguments.require and read_pairs(arguments.require),
    }
    return {name: value for name, value in setting_values.items() if value is not None}


def _read_rule(text: str) -> RoleRule:
    """Raise Failure."""
    space_id, _, role_text = text.partition(":")
    role, colon, group_name = role_text.partition(":")
    try:
        return RoleRule(int(space_id), Role(role), group_name if colon else None)
    except ValueError:
        raise Failure(f"--role {text}: must be SPACE:ROLE or SPACE:ROLE:GROUP, such as 1:viewer") from None


def _with_secret(settings: Settings, arguments: Namespace, provider: SsoProvider) -> SsoProvider:
    """Seal a given client secret. Raise Failure."""
    secrets = read_secrets(arguments.secret)
    if set(secrets) - {"client_secret"}:
        raise Failure("--secret: must be client_secret=@FILE or client_secret=@-")
    if not secrets:
        return provider
    return seal_secret(provider, load_encryption_key(settings), secrets["client_secret"])


async def _check_spaces(connection: AsyncConnection, provider: SsoProvider) -> None:
    """Raise NotFound for a Space that does not exist."""
    for rule in provider.settings.rules:
        await fetch_space(connection, rule.space_id)


def _describe(provider: SsoProvider) -> dict[str, Any]:
    settings = provider.settings
    rules = [":".join(filter(None, (str(r.space_id), r.role, r.group))) for r in settings.rules]
    return {
        "name": provider.name,
        "title": settings.title,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "has_secret": provider.sealed_secret is not None,
        "domains": ", ".join(settings.domains),
        "roles": ", ".join(rules),
        "require": ", ".join(f"{claim}={value}" for claim, value in settings.required.items()),
    }
