"""`headwater site …`: whose pages may report visits."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction
from headwater.cli.output import show
from headwater.database.installation import with_service_addresses
from headwater.settings import Settings
from headwater.tracker import sites
from headwater.tracker.sites import Site


def create(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        made = await sites.create_site(
            connection, arguments.space, arguments.name, arguments.origin
        )
        return _shown(await with_service_addresses(connection, settings), made)

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
    async def act(connection: AsyncConnection) -> dict[str, Any]:
        changed = await sites.change_site(
            connection, arguments.space, arguments.site_id, arguments.origin
        )
        return _shown(await with_service_addresses(connection, settings), changed)

    show(in_transaction(settings, act), as_json=arguments.json)
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
