"""`headwater network …`: a Space's own paid networks."""

from __future__ import annotations

from argparse import Namespace

from msgspec.structs import asdict

from headwater.base.settings import Settings
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output
from headwater.spaces.networks import (
    describe_network,
    fetch_sources,
    put_network,
    read_network,
    remove_network,
)
from headwater.spaces.reclassifications import list_reclassified_networks
from headwater.spaces.spaces import fetch_space

group = CommandGroup()

NETWORK = Option("name", metavar="NAME", help="its source in reports, such as taboola_ads")


@group.command("list", "list a Space's own paid networks", SPACE, JSON)
@prints
async def list_all(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        networks = (await fetch_sources(connection, arguments.space)).networks
        reclassifications = await list_reclassified_networks(connection, arguments.space)
    return [
        {
            **asdict(describe_network(network)),
            "reclassified": reclassifications[network.name].percentage
            if network.name in reclassifications
            else "all",
        }
        for network in sorted(networks, key=lambda network: network.name)
    ]


@group.command(
    "put",
    "add a paid network, or change one",
    NETWORK,
    Option(
        "--spelling",
        action="append",
        default=[],
        metavar="S",
        help="a utm_source value of the network; repeatable",
    ),
    Option("--platform", metavar="P", help="its name in spend (the name without _ads)"),
    SPACE,
    JSON,
)
@prints
async def put(settings: Settings, arguments: Namespace) -> Output:
    network = read_network(
        {"name": arguments.name, "spellings": arguments.spelling, "platform": arguments.platform}
    )
    async with change(settings, arguments, "paid_network") as connection:
        await put_network(connection, arguments.space, network)
    return {"name": network.name, "spellings": network.spellings, "platform": network.platform}


@group.command("remove", "remove a paid network", NETWORK, SPACE, JSON)
@prints
async def remove(settings: Settings, arguments: Namespace) -> Output:
    async with change(settings, arguments, "paid_network") as connection:
        await remove_network(connection, arguments.space, arguments.name)
    return {"removed": arguments.name}
