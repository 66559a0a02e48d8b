"""`headwater destination …`: the accounts of ad platforms that events are forwarded to."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction, told
from headwater.cli.encryption_key import sealing_key
from headwater.cli.failure import Failure
from headwater.cli.output import say, show
from headwater.cli.spaces import pairs
from headwater.cli.tables import destination_text
from headwater.database.installation import with_service_addresses
from headwater.deliveries.removal import remove_destination
from headwater.destinations import destinations
from headwater.destinations.inputs import read_new
from headwater.destinations.schemas import show_destination
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space

_BRIEF = ("id", "platform", "name", "status", "status_reason", "all_events", "deliveries")
_INPUT = "@-"
_VISIBLE = (
    "headwater: --secret KEY=VALUE shows the value to everybody on this machine while the command"
    " runs, and stays in the shell's history; use KEY=@FILE or KEY=@-"
)


def create(settings: Settings, arguments: Namespace) -> int:
    body: dict[str, Any] = {
        "platform": arguments.platform,
        "settings": pairs(arguments.changes),
        "secrets": read_secrets(arguments.secret),
        "event_names": pairs(arguments.event),
        "all_events": arguments.all_events,
    }
    if arguments.name is not None:
        body["name"] = arguments.name
    with told(settings):
        new = read_new(body, as_text=True)
    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> destinations.DestinationRow:
        return await destinations.create_destination(connection, arguments.space, new, key)

    _show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def change(settings: Settings, arguments: Namespace) -> int:
    """Change what is given; other settings and names stay."""
    changes = pairs(arguments.changes)
    secrets = read_secrets(arguments.secret)
    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> destinations.DestinationRow:
        space_id, destination_id = arguments.space, arguments.destination
        before = await destinations.fetch_destination(connection, space_id, destination_id)
        names = _names(before.event_names, pairs(arguments.event), arguments.default_event)
        body: dict[str, Any] = {
            "name": arguments.name,
            "settings": {**before.settings, **changes} if changes else None,
            "secrets": secrets or None,
            "event_names": None if names == before.event_names else names,
            "all_events": arguments.all_events,
        }
        given = {name: value for name, value in body.items() if value is not None}
        return await destinations.change_destination(
            connection, space_id, destination_id, given, key, as_text=True
        )

    _show(in_transaction(settings, act), as_json=arguments.json)
    return 0


def list_all(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[destinations.DestinationRow]:
        await fetch_space(connection, arguments.space)
        return await destinations.list_destinations(connection, arguments.space)

    listed = [show_destination(each) for each in in_transaction(settings, act)]
    if not arguments.json:
        listed = [{name: each[name] for name in _BRIEF} for each in listed]
    show(listed, as_json=arguments.json)
    return 0


def show_one(settings: Settings, arguments: Namespace) -> int:
    return _act(settings, arguments, destinations.fetch_destination)


def pause(settings: Settings, arguments: Namespace) -> int:
    return _act(settings, arguments, destinations.pause_destination)


def resume(settings: Settings, arguments: Namespace) -> int:
    return _act(settings, arguments, destinations.resume_destination)


def remove(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> None:
        await remove_destination(connection, arguments.space, arguments.destination)

    in_transaction(settings, act)
    show({"id": arguments.destination, "status": "removed"}, as_json=arguments.json)
    return 0


def test(settings: Settings, arguments: Namespace) -> int:
    """0 when the platform took the made-up event, 1 when it did not."""
    import asyncio  # noqa: PLC0415 - with the client, only where something is sent

    from headwater.destinations.destination_check import DestinationCheck, try_destination  # noqa: PLC0415
    from headwater.egress.client import Egress  # noqa: PLC0415
    from headwater.platforms.origins import named_hosts  # noqa: PLC0415

    key = sealing_key(settings)

    async def act(connection: AsyncConnection) -> Any:
        service = await with_service_addresses(connection, settings)
        opened = await destinations.open_destination(
            connection, arguments.space, arguments.destination, service, key
        )
        return *opened, named_hosts(service)

    platform, destination, hosts = in_transaction(settings, act)

    async def send() -> DestinationCheck:
        async with Egress(hosts) as egress:
            return await try_destination(egress, destination, platform)

    trial = asyncio.run(send())
    result = {"ok": trial.ok, "http_status": trial.status, "message": trial.words}
    show(result, as_json=arguments.json)
    missing = [] if trial.ok else _codes_missing(destination.settings)
    if missing and not arguments.json:
        where = f"--space {arguments.space} --destination {arguments.destination}"
        say("\nSet it, then test again:")
        say(f"  headwater destination set {where} --set {missing[0]}=CODE")
    return 0 if trial.ok else 1


def _codes_missing(settings: Any) -> list[str]:
    """The settings for trials that a destination is without."""
    values = msgspec.to_builtins(settings)
    return [name for name, value in values.items() if name.startswith("test_") and value is None]


def _show(stored: destinations.DestinationRow, *, as_json: bool) -> None:
    shown = show_destination(stored)
    if as_json:
        show(shown, as_json=True)
    else:
        say(destination_text(shown))


def _names(
    own: dict[str, str | None], changes: dict[str, str], defaults: list[str]
) -> dict[str, str | None]:
    """A destination's own names once some are changed and some are the default again."""
    for name in defaults:
        if name not in own or name in changes:
            raise Failure(f"{name}: has no name of its own to be given up")
    return {name: own[name] for name in own if name not in defaults} | changes


def read_secrets(texts: list[str]) -> dict[str, str]:
    """KEY=VALUE arguments; a VALUE of @FILE or @- is read from there, as an argument would be seen
    by others. Raises Failure, which never repeats a value.
    """
    if any("=" not in text for text in texts):
        raise Failure("--secret: must be KEY=VALUE, KEY=@FILE or KEY=@-")
    given = pairs(texts)
    if any(text and not text.startswith("@") for text in given.values()):
        print(_VISIBLE, file=sys.stderr)  # noqa: T201 # the terminal is the reader
    if list(given.values()).count(_INPUT) > 1:
        raise Failure("--secret: only one can be read from standard input")
    return {name: _read(name, text) for name, text in given.items()}


def _read(name: str, text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        read = sys.stdin.read() if text == _INPUT else Path(text[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise Failure(f"{name}: {text[1:]}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Failure(f"{name}: {text[1:]}: is not text") from None
    return read.strip()


Verb = Callable[[AsyncConnection, int, int], Awaitable[destinations.DestinationRow]]


def _act(settings: Settings, arguments: Namespace, verb: Verb) -> int:
    async def act(connection: AsyncConnection) -> destinations.DestinationRow:
        return await verb(connection, arguments.space, arguments.destination)

    _show(in_transaction(settings, act), as_json=arguments.json)
    return 0
