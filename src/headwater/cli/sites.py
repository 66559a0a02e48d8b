"""`headwater site …`: sites whose pages may report visits."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.installation import with_service_addresses
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import row_id
from headwater.spaces.encryption import Unsealable
from headwater.spaces.sites import sites
from headwater.spaces.sites.signatures import MAX_AGE
from headwater.spaces.sites.sites import NewSite, Site, SiteChange
from headwater.spaces.sites.snippets import Installation, Snippet

_MAKE_ONE = "make a new one with --rotate at-once"

SITE_ID = Option("site_id", type=row_id, metavar="SITE_ID")
IDENTIFY = Option(
    "--identify",
    choices=("any", "signed"),
    help="of pages: which ones join a browser's past to a known contact",
)
AMOUNTS = Option("--amounts", choices=("accept", "refuse"), help="of pages' events")

group = CommandGroup()


@group.command(
    "create",
    "create a site",
    NAME,
    Option("--origin", action="append", required=True, metavar="URL"),
    AMOUNTS,
    IDENTIFY,
    SPACE,
    JSON,
)
@prints
async def create_site(settings: Settings, arguments: Namespace) -> Row:
    new = NewSite(
        arguments.name,
        arguments.origin,
        accepts_amounts=arguments.amounts != "refuse",
        signed_only=arguments.identify == "signed",
    )
    key = load_encryption_key(settings)
    async with change(settings, arguments, "site") as connection:
        site, secret = await sites.create_site(connection, arguments.space, new, key)
        service = await with_service_addresses(connection, settings)
    return {**_describe(service, site), "signing_secret": secret}


@group.command("list", "list a Space's sites", SPACE, JSON)
@prints
async def list_sites(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        service = await with_service_addresses(connection, settings)
        rows = await sites.list_sites(connection, arguments.space)
    return [_describe(service, site) for site in rows]


@group.command(
    "set",
    "change a site's name, origins, or what it believes of pages",
    SITE_ID,
    Option("--name", metavar="NAME"),
    Option("--origin", action="append", metavar="URL"),
    AMOUNTS,
    IDENTIFY,
    SPACE,
    JSON,
)
@prints
async def change_site(settings: Settings, arguments: Namespace) -> Row:
    new = SiteChange(
        name=arguments.name,
        origins=arguments.origin,
        accepts_amounts=None if arguments.amounts is None else arguments.amounts == "accept",
        signed_only=None if arguments.identify is None else arguments.identify == "signed",
    )
    if new == SiteChange():
        raise Failure("nothing to change: give --name, --origin, --amounts or --identify")
    async with change(settings, arguments, "site") as connection:
        site = await sites.change_site(connection, arguments.space, arguments.site_id, new)
        return _describe(await with_service_addresses(connection, settings), site)


@group.command(
    "secret",
    "show what identities are signed with",
    SITE_ID,
    Option("--rotate", choices=("in-a-day", "at-once"), help="replace it"),
    SPACE,
    JSON,
)
@prints
async def show_secret(settings: Settings, arguments: Namespace) -> Row:
    space_id, site_id = arguments.space, arguments.site_id
    key = load_encryption_key(settings)
    try:
        async with change(settings, arguments, "site") as connection:
            if arguments.rotate is None:
                secret = await sites.fetch_secret(connection, space_id, site_id, key)
            else:
                overlap = MAX_AGE if arguments.rotate == "in-a-day" else 0
                secret = await sites.rotate_secret(connection, space_id, site_id, key, overlap=overlap)
    except Unsealable:
        raise Failure(f"HEADWATER_SECRET_KEY has changed; {_MAKE_ONE}") from None
    if secret is None:
        raise Failure(f"the site has no signing secret yet; {_MAKE_ONE}")
    return {"site_id": site_id, "signing_secret": secret}


@group.command("revoke", "end a site immediately", SITE_ID, SPACE, JSON)
@prints
async def revoke_site(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "site") as connection:
        site = await sites.revoke_site(connection, arguments.space, arguments.site_id)
        return _describe(await with_service_addresses(connection, settings), site)


def _describe(service: Settings, site: Site) -> dict[str, Any]:
    installation = Installation(str(service.base_url), service.tracker_script)
    snippet = Snippet(installation, site.site_key)
    return {"site_key": site.site_key, **asdict(site), "snippet": snippet.tag}
