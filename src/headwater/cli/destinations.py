"""`headwater destination …`: ad platform accounts that receive events."""

from __future__ import annotations

import asyncio
from argparse import BooleanOptionalAction, Namespace
from functools import partial
from typing import Any

import msgspec

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.installation import with_service_addresses
from headwater.forwarding.deliveries.changes import remove_destination
from headwater.forwarding.deliveries.preview import load_preview
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.answers import describe_destination
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms import registry
from headwater.operations.terminal.account_options import SECRET, SETTING, read_secrets
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import acts_on_row, prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row, print_output, print_text
from headwater.operations.terminal.tables import join_sections, list_values, plain_text, section, wrap
from headwater.operations.terminal.values import read_pairs, row_id
from headwater.spaces.spaces import fetch_space

_COLUMNS = ("id", "platform", "name", "status", "status_reason", "all_events", "deliveries")

DESTINATION = Option("--destination", type=row_id, required=True, metavar="ID")
PLATFORM = Option("--platform", required=True, metavar="P", help="meta, google, …")
DEFAULT_EVENT = Option(
    "--default-event",
    action="append",
    default=[],
    metavar="NAME",
    help="reset an event to the platform's default name; repeatable",
)
SETTINGS = (
    Option("--name", metavar="N"),
    SETTING,
    SECRET,
    Option(
        "--event",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the platform's name or id; repeatable",
    ),
)
EXISTING = (DESTINATION, SPACE, JSON)
_ALL_EVENTS = "include events not attributed to this platform"

group = CommandGroup()


@group.command(
    "create",
    "forward events to an account",
    PLATFORM,
    *SETTINGS,
    Option("--all-events", action="store_true", help=_ALL_EVENTS),
    SPACE,
    JSON,
)
@prints
async def create_destination(settings: Settings, arguments: Namespace) -> Output:
    body: dict[str, Any] = {
        "platform": arguments.platform,
        "settings": read_pairs(arguments.changes),
        "secrets": read_secrets(arguments.secret),
        "event_names": read_pairs(arguments.event),
        "all_events": arguments.all_events,
    }
    if arguments.name is not None:
        body["name"] = arguments.name
    new = read_new(body, as_text=True)
    key = load_encryption_key(settings)
    async with change(settings, arguments, "destination") as connection:
        row = await destinations.create_destination(connection, arguments.space, new, key)
    return _describe(row, arguments)


@group.command(
    "set",
    "change a destination",
    DEFAULT_EVENT,
    *SETTINGS,
    Option("--all-events", action=BooleanOptionalAction, help=_ALL_EVENTS),
    *EXISTING,
)
@prints
async def change_destination(settings: Settings, arguments: Namespace) -> Output:
    """Change the given options; other settings and event names stay."""
    changes = read_pairs(arguments.changes)
    secrets = read_secrets(arguments.secret)
    key = load_encryption_key(settings)
    space_id, destination_id = arguments.space, arguments.destination
    async with change(settings, arguments, "destination") as connection:
        before = await destinations.fetch_destination(connection, space_id, destination_id)
        names = _change_names(before.event_names, read_pairs(arguments.event), arguments.default_event)
        body: dict[str, Any] = {
            "name": arguments.name,
            "settings": {**before.settings, **changes} if changes else None,
            "secrets": secrets or None,
            "event_names": None if names == before.event_names else names,
            "all_events": arguments.all_events,
        }
        body = {name: value for name, value in body.items() if value is not None}
        row = await destinations.change_destination(
            connection, space_id, destination_id, body, key, as_text=True
        )
    return _describe(row, arguments)


@group.command("list", "list a Space's destinations", SPACE, JSON)
@prints
async def list_destinations(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        found_rows = await destinations.list_destinations(connection, arguments.space)
    rows = [msgspec.to_builtins(describe_destination(row)) for row in found_rows]
    if arguments.json:
        return rows
    return [{name: row[name] for name in _COLUMNS} | {"tested": _tested(row)} for row in rows]


def _describe(row: destinations.DestinationRow, arguments: Namespace) -> Output:
    destination = msgspec.to_builtins(describe_destination(row))
    return destination if arguments.json else _as_text(destination)


_act_on = partial(acts_on_row, "destination", "destination", _describe)
group.add("show", "show a destination", _act_on(destinations.fetch_destination), *EXISTING)


@group.command("test", "send a made-up event that does not count", *EXISTING)
def test(settings: Settings, arguments: Namespace) -> int:
    """Return 0 if the platform accepted the test event, 1 otherwise."""
    # The client is slow to import, and only this command sends anything.
    from headwater.base.egress.client import Egress  # noqa: PLC0415
    from headwater.forwarding.destinations.destination_check import DestinationCheck, check_destination  # noqa: PLC0415
    from headwater.forwarding.platforms.origins import list_operator_hosts  # noqa: PLC0415

    key = load_encryption_key(settings)

    async def check() -> tuple[DestinationCheck, Any]:
        async with transaction(settings) as connection:
            service = await with_service_addresses(connection, settings)
        ids = arguments.space, arguments.destination
        async with Egress(list_operator_hosts(service)) as egress:
            return await check_destination(lambda: transaction(settings), egress, ids, service, key)

    trial, destination_settings = asyncio.run(check())
    print_output(msgspec.to_builtins(trial), as_json=arguments.json)
    missing_codes = [] if trial.ok else _missing_test_codes(destination_settings)
    if missing_codes and not arguments.json:
        options = f"--space {arguments.space} --destination {arguments.destination}"
        print_text("\nSet it, then test again:")
        print_text(f"  headwater destination set {options} --set {missing_codes[0]}=CODE")
    return 0 if trial.ok else 1


@group.command(
    "preview",
    "show what would be sent for one event",
    Option("--event", type=row_id, metavar="ID", help="by default the latest that would be sent"),
    *EXISTING,
)
@prints
async def preview(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        delivery_preview = await load_preview(
            connection, arguments.space, arguments.destination, arguments.event
        )
    answer = msgspec.to_builtins(delivery_preview)
    if arguments.json:
        return answer
    facts = [(name, value) for name, value in answer.items() if value is not None]
    fields = [
        (field.path, f"{plain_text(field.value)}{f' ({field.origin})' if field.origin else ''}")
        for field in delivery_preview.fields
    ]
    return join_sections(
        [
            list_values([fact for fact in facts if not isinstance(fact[1], list)]),
            section("Fields", list_values(fields)),
            section(
                "Missing for a better match",
                list_values([(m.name, m.advice) for m in delivery_preview.missing]),
            ),
        ]
    )


group.add("pause", "stop sending", _act_on(destinations.pause_destination), *EXISTING)
group.add("resume", "send again", _act_on(destinations.resume_destination), *EXISTING)


@group.command("remove", "end a destination", *EXISTING)
@prints
async def remove(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "destination") as connection:
        await remove_destination(connection, arguments.space, arguments.destination)
    return {"id": arguments.destination, "status": "removed"}


def _missing_test_codes(settings: Any) -> list[str]:
    values = msgspec.to_builtins(settings)
    return [name for name, value in values.items() if name.startswith("test_") and value is None]


def _change_names(
    new_names: dict[str, str | None], changes: dict[str, str], defaults: list[str]
) -> dict[str, str | None]:
    for name in defaults:
        if name not in new_names or name in changes:
            raise Failure(f"{name}: has no custom name to remove")
    return {name: new_names[name] for name in new_names if name not in defaults} | changes


def _as_text(destination: Row) -> str:
    """Format the object that `--json` prints."""
    platform = registry.PLATFORMS[destination["platform"]]
    mapping = destination["mapping"]
    names = [
        (event["event_name"], event["sent_as"] + (" (own)" if event["own"] else ""))
        for event in mapping
        if event["sent_as"] is not None
    ]
    unsent_names = [event["event_name"] for event in mapping if event["sent_as"] is None]
    name = plain_text(destination["name"])
    return join_sections(
        [
            f"{platform.title} “{name}”, destination {destination['id']}",
            list_values(_facts(destination, sorted(platform.sources))),
            section("Settings", list_values(list(destination["settings"].items()))),
            section("Deliveries", list_values(list(destination["deliveries"].items()))),
            section("Sent as", list_values(names)),
            section("Not sent", wrap(", ".join(unsent_names))),
            section("Warnings", "\n".join(wrap(text) for text in destination["warnings"])),
        ]
    )


def _tested(destination: Row) -> str:
    if destination["tested_at"] is None:
        return "no"
    return f"{destination['tested_at']}, {'ok' if destination['test_ok'] else 'failed'}"


def _facts(destination: Row, sources: list[str]) -> list[tuple[str, Any]]:
    forwards = "all events" if destination["all_events"] else (f"events credited to {', '.join(sources)}")
    facts = [
        ("status", destination["status"]),
        ("API version", destination["api_version"]),
        ("reason", destination["status_reason"]),
        ("waits until", destination["wait_until"]),
        ("tested", _tested(destination)),
        ("test said", None if destination["test_ok"] else destination["test_message"]),
        ("what to do", destination["test_remedy"]),
        ("created", destination["created_at"]),
        ("forwards", forwards),
        ("secrets", ", ".join(destination["secrets"]) + " (stored encrypted, never shown)"),
    ]
    return [(label, value) for label, value in facts if value is not None]
