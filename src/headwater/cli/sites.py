"""`headwater site …`: whose pages may report visits."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction
from headwater.cli.encryption_key import sealing_key
from headwater.cli.failure import Failure
from headwater.cli.output import show
from headwater.database.installation import with_service_addresses
from headwater.settings import Settings
from headwater.sites import sites
from headwater.sites.signatures import MAX_AGE
from headwater.sites.sites import NewSite, Site
from headwater.spaces.encryption import Unsealable

_MAKE_ONE = "make a new one with --rotate at-once"


def create(settings: Settings, arguments: Namespace) -> int:
    new = NewSite(arguments.name, arguments.origin, arguments.amounts != "refuse")
    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        made, secret = await sites.create_site(connection, arguments.space, new, key)
        service = await with_service_addresses(connection, settings)
        return {**_shown(service, made), "signing_secret": secret}

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_all(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[dict[str, Any]]:
        service = await with_service_addresses(connection, settings)
        listed = await sites.list_sites(connection, arguments.space)
        return [_shown(service, site) for site in listed]

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def change(settings: Settings, arguments: Namespace) -> int:
    if arguments.origin is None and arguments.amounts is None:
        raise Failure("nothing to change: give --origin or --amounts")
    amounts = None if arguments.amounts is None else arguments.amounts == "accept"

    async def act(connection: AsyncConnection) -> dict[str, Any]:
        changed = await sites.change_site(
            connection, arguments.space, arguments.site_id,
            origins=arguments.origin, accepts_amounts=amounts,
        )  # fmt: skip
        return _shown(await with_service_addresses(connection, settings), changed)

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def secret(settings: Settings, arguments: Namespace) -> int:
    """Show what the site's signatures are made with, or replace it."""
    space_id, site_id = arguments.space, arguments.site_id
    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> str | None:
        if arguments.rotate is None:
            return await sites.fetch_secret(connection, space_id, site_id, key)
        overlap = MAX_AGE if arguments.rotate == "in-a-day" else 0
        return await sites.rotate_secret(connection, space_id, site_id, key, overlap=overlap)

    try:
        value = in_transaction(settings, act)
    except Unsealable:
        raise Failure(f"HEADWATER_SECRET_KEY is another one by now; {_MAKE_ONE}") from None
    if value is None:
        raise Failure(f"the site has no signing secret yet; {_MAKE_ONE}")
    show({"site_id": site_id, "signing_secret": value}, as_json=arguments.json)
    return 0


def revoke(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        revoked = await sites.revoke_site(connection, arguments.space, arguments.site_id)
        return _shown(await with_service_addresses(connection, settings), revoked)

    show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def _shown(service: Settings, site: Site) -> dict[str, Any]:
    url = f"{service.base_url}{service.tracker_script}"
    snippet = f'<script async src="{url}" data-site="{site.site_key}"></script>'
    return {"site_key": site.site_key, **asdict(site), "snippet": snippet}
