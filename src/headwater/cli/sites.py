"""`headwater site …`: whose pages may report visits."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction
from headwater.cli.output import show
from headwater.cli.webhooks import LOCAL
from headwater.settings import Settings
from headwater.tracker import sites
from headwater.tracker.sites import Site


def create(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> Site:
        return await sites.create_site(
            connection, arguments.space, arguments.name, arguments.origin
        )

    show(_site(settings, in_transaction(settings, act)), as_json=arguments.json)
    return 0


def list_all(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[Site]:
        return await sites.list_sites(connection, arguments.space)

    listed = [_site(settings, site) for site in in_transaction(settings, act)]
    show(listed, as_json=arguments.json)
    return 0


def change(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> Site:
        return await sites.change_site(
            connection, arguments.space, arguments.site_id, arguments.origin
        )

    show(_site(settings, in_transaction(settings, act)), as_json=arguments.json)
    return 0


def revoke(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> Site:
        return await sites.revoke_site(connection, arguments.space, arguments.site_id)

    show(_site(settings, in_transaction(settings, act)), as_json=arguments.json)
    return 0


def _site(settings: Settings, site: Site) -> dict[str, Any]:
    url = (settings.base_url or LOCAL) + settings.tracker_script
    snippet = f'<script async src="{url}" data-site="{site.site_key}"></script>'
    return {"site_key": site.site_key, **asdict(site), "snippet": snippet}
