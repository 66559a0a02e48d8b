"""Every command and option, as an argparse tree; the documentation's test reads it too.

`run` names the function of `headwater.cli.<module>` that does the work, by text: building the
tree imports nothing.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from headwater import __version__
from headwater.terminal.values import port, row_count, seconds, worker_count

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 # it has no public name


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(prog="headwater", description="Conversion tracking.")
    parser.add_argument("--version", action="version", version=f"headwater {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_processes(commands)
    _add_space(commands)
    _add_key(commands)
    _add_contact(commands)
    _add_queue(commands)
    _add_export(commands)
    _add_source(commands)
    _add_webhook(commands)
    _add_site(commands)
    _add_user(commands)
    _add_token(commands)
    _add_import(commands)
    _add_destination(commands)
    _add_delivery(commands)
    return parser


def _add(
    commands: Commands, name: str, run: tuple[str, str], about: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    command.add_argument(
        "--data-dir", metavar="D", help="where Headwater keeps its data (headwater-data)"
    )
    command.set_defaults(run=run)
    return command


def _group(commands: Commands, name: str, about: str) -> Commands:
    group = commands.add_parser(name, help=about, description=about)
    return group.add_subparsers(required=True, metavar="COMMAND")


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _space(command: argparse.ArgumentParser) -> None:
    command.add_argument("--space", type=int, required=True, metavar="ID", help="the Space's id")


def _listen(command: argparse.ArgumentParser) -> None:
    command.add_argument("--host", default="127.0.0.1", metavar="H", help="address (127.0.0.1)")
    command.add_argument(
        "--port", type=port, default=8080, metavar="P", help="port; 0 takes a free one (8080)"
    )


def _leash(command: argparse.ArgumentParser) -> None:
    # Held by the process that started this one: when it ends, so does standard input.
    command.add_argument("--leash", action="store_true", help=argparse.SUPPRESS)


def _add_processes(commands: Commands) -> None:
    serve = _add(commands, "serve", ("serve", "serve"), "run everything")
    demo = _add(commands, "demo", ("demo", "demo"), "run everything, with sample data")
    for command in (serve, demo):
        _listen(command)
        command.add_argument(
            "--workers", type=worker_count, default=1, metavar="N", help="API processes (1)"
        )
    api = _add(commands, "api", ("api", "api"), "run one API process")
    _listen(api)
    api.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    api.add_argument("--number", type=int, help=argparse.SUPPRESS)  # among those of a supervisor
    worker = _add(commands, "worker", ("worker", "worker"), "run one worker")
    about = "send events to ad platforms while there are some"
    forwarder = _add(commands, "forwarder", ("forwarder", "forwarder"), about)
    for command in (serve, api, worker, forwarder):
        _leash(command)
    # The demonstration makes a login of its own.
    serve.add_argument("--no-set-up-link", action="store_true", help=argparse.SUPPRESS)
    migrate = _add(
        commands, "migrate", ("migrate", "migrate"), "bring the database to this version"
    )
    _json(migrate)


def _add_space(commands: Commands) -> None:
    space = _group(commands, "space", "create and change Spaces")
    create = _add(space, "create", ("spaces", "create_space"), "create a Space")
    create.add_argument("--name", required=True, metavar="N")
    create.add_argument("--timezone", metavar="Z", help="an IANA time zone (UTC)")
    create.add_argument("--currency", metavar="C", help="a currency code (USD)")
    create.add_argument("--company-identity-mode", metavar="M", help="auto or external_id (auto)")
    change = _add(space, "set", ("spaces", "set_space"), "change a Space's settings")
    _space(change)
    change.add_argument("changes", nargs="+", metavar="KEY=VALUE")
    show = _add(space, "show", ("spaces", "show_space"), "show a Space")
    _space(show)
    listed = _add(space, "list", ("spaces", "list_spaces"), "list Spaces")
    for command in (create, change, show, listed):
        _json(command)


def _add_key(commands: Commands) -> None:
    key = _group(commands, "key", "create and revoke API keys")
    create = _add(key, "create", ("spaces", "create_key"), "create an API key, shown this once")
    create.add_argument("--name", required=True, metavar="N")
    create.add_argument(
        "--scope", action="append", metavar="S", help="give this scope only; repeatable (all)"
    )
    listed = _add(key, "list", ("spaces", "list_keys"), "list a Space's keys")
    revoke = _add(key, "revoke", ("spaces", "revoke_key"), "revoke a key at once")
    revoke.add_argument("key_id", type=int, metavar="KEY_ID")
    for command in (create, listed, revoke):
        _space(command)
        _json(command)


def _add_contact(commands: Commands) -> None:
    contact = _group(commands, "contact", "manage contacts")
    merges = _add(contact, "merges", ("contacts", "list_merges"), "list merges, newest first")
    merges.add_argument(
        "contact_id", type=int, nargs="?", metavar="CONTACT_ID", help="only this contact's"
    )
    merges.add_argument(
        "--limit", type=row_count, default=100, metavar="N", help="how many at most (100)"
    )
    unmerge = _add(contact, "unmerge", ("contacts", "unmerge"), "undo the merge of a contact")
    unmerge.add_argument("contact_id", type=int, metavar="CONTACT_ID", help="the merged contact")
    erasures = _add(contact, "erasures", ("erasures", "erasures"), "list a Space's erasures")
    for command in (merges, unmerge, erasures):
        _space(command)
        _json(command)


def _add_queue(commands: Commands) -> None:
    queue = _group(commands, "queue", "manage accepted requests")
    wait = _add(queue, "wait", ("queue", "wait"), "wait until everything accepted is processed")
    wait.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="S", help="seconds to wait (60)"
    )
    rejected = _add(queue, "rejected", ("queue", "rejected"), "list what could not be processed")
    replay = _add(queue, "replay", ("queue", "replay"), "process the rejected once more")
    for command in (rejected, replay):
        _json(command)


def _add_export(commands: Commands) -> None:
    export = _group(commands, "export", "write events, contacts or companies to a file")
    events = _add(export, "events", ("exports", "export"), "the events of a day, or of some days")
    events.add_argument("--date", metavar="D", help="a day: YYYY-MM-DD, by the Space's clock")
    for end, about in (("start", "the first day of several"), ("end", "the last one, included")):
        events.add_argument(f"--{end}-date", metavar="D", help=about)
    events.add_argument("--query-mode", metavar="M", help="profile or company (profile)")
    for option, member in (
        ("event-name", "event_names"),
        ("source", "sources"),
        ("field", "fields"),
    ):
        events.add_argument(
            f"--{option}", dest=member, action="append", metavar="N", help="repeatable"
        )
    events.add_argument("--attribution-model", metavar="M", help="required with --source")
    events.add_argument("--attribution-window", metavar="DAYS", help="required with --source")
    contacts = _add(export, "contacts", ("exports", "export"), "contacts by creation time")
    companies = _add(export, "companies", ("exports", "export"), "companies by creation time")
    for command in (contacts, companies):
        for end in ("start", "end"):
            command.add_argument(
                f"--{end}-date", required=True, metavar="T", help="YYYY-MM-DD HH:MM:SS"
            )
    contacts.add_argument(
        "--include-trk-tokens", action="store_true", default=None, help="the last five of each"
    )
    for kind, command in (("events", events), ("contacts", contacts), ("companies", companies)):
        _space(command)
        command.add_argument(
            "--output", required=True, metavar="FILE",
            help="CSV when it ends in .csv; compressed when it ends in .gz",
        )  # fmt: skip
        command.add_argument("--format", choices=("ndjson", "csv"), help="if FILE's name says none")
        command.set_defaults(kind=kind)
        _json(command)
    exporter = _add(commands, "exporter", ("exports", "exporter"), "work on exports of the API")
    _leash(exporter)


def _add_source(commands: Commands) -> None:
    source = _group(commands, "source", "see where visits come from")
    explain = _add(source, "explain", ("source", "explain"), "tell where a visit comes from")
    explain.add_argument("url", metavar="URL", help="the page that was opened")
    explain.add_argument("referrer", nargs="?", metavar="REFERRER", help="what led to it")
    _json(explain)


def _add_webhook(commands: Commands) -> None:
    webhook = _group(commands, "webhook", "manage webhooks that other services call")
    create = _add(webhook, "create", ("webhooks", "create"), "create a webhook")
    create.add_argument("--name", required=True, metavar="N")
    create.add_argument("--secret-stdin", action="store_true", help="read the signing secret")
    change = _add(webhook, "set", ("webhooks", "change"), "change how its deliveries are read")
    change.add_argument("webhook_id", type=int, metavar="WEBHOOK_ID")
    change.add_argument("changes", nargs="+", metavar="KEY=VALUE")
    listed = _add(webhook, "list", ("webhooks", "list_all"), "list a Space's webhooks")
    revoke = _add(webhook, "revoke", ("webhooks", "revoke"), "end a webhook at once")
    revoke.add_argument("webhook_id", type=int, metavar="WEBHOOK_ID")
    deliveries = _add(webhook, "deliveries", ("webhooks", "deliveries"), "list deliveries")
    deliveries.add_argument("webhook_id", type=int, nargs="?", metavar="WEBHOOK_ID")
    deliveries.add_argument("--limit", type=row_count, default=20, metavar="N", help="at most (20)")
    deliveries.add_argument("--bodies", action="store_true", help="show what came, too")
    replay = _add(webhook, "replay", ("webhooks", "replay"), "read a delivery once more")
    replay.add_argument("delivery_id", type=int, metavar="DELIVERY_ID")
    test = _add(webhook, "test", ("webhooks", "test"), "show what a body would become")
    test.add_argument("file", metavar="FILE", help="a file with the body; - is standard input")
    test.add_argument("--header", action="append", default=[], metavar="NAME=VALUE")
    test.add_argument("--currency", default="USD", metavar="C", help="the Space's (USD)")
    for command in (create, test):
        command.add_argument("--type", required=True, metavar="T", help="generic, stripe, …")
        command.add_argument(
            "--set", dest="changes", action="append", default=[], metavar="KEY=VALUE"
        )
    for command in (create, change, listed, revoke, deliveries, replay):
        _space(command)
    for command in (create, change, listed, revoke, deliveries, replay, test):
        _json(command)


def _add_site(commands: Commands) -> None:
    site = _group(commands, "site", "manage sites whose pages report visits")
    create = _add(site, "create", ("sites", "create"), "create a site")
    create.add_argument("--name", required=True, metavar="N")
    listed = _add(site, "list", ("sites", "list_all"), "list a Space's sites")
    change = _add(site, "set", ("sites", "change"), "change a site's origins or amounts")
    secret = _add(site, "secret", ("sites", "secret"), "show what identities are signed with")
    secret.add_argument("--rotate", choices=("in-a-day", "at-once"), help="replace it")
    revoke = _add(site, "revoke", ("sites", "revoke"), "end a site at once")
    for each in (change, secret, revoke):
        each.add_argument("site_id", type=int, metavar="SITE_ID")
    for command in (create, change):
        command.add_argument("--origin", action="append", required=command is create, metavar="URL")
        command.add_argument("--amounts", choices=("accept", "refuse"), help="of pages' events")
    for command in (create, listed, change, secret, revoke):
        _space(command)
        _json(command)


def _add_user(commands: Commands) -> None:
    user = _group(commands, "user", "manage people who may log in to the console")
    create = _add(user, "create", ("accounts", "create"), "create an account, or give it a Space")
    create.add_argument("--name", metavar="N", help="what others see instead of the address")
    create.add_argument(
        "--password-stdin", action="store_true", help="read the password of a new account"
    )
    listed = _add(user, "list", ("accounts", "list_all"), "list a Space's members")
    invite = _add(user, "invite", ("accounts", "invite"), "make a link that lets somebody in")
    remove = _add(user, "remove", ("accounts", "remove"), "take a member out of a Space")
    reset = _add(user, "reset-link", ("accounts", "reset_link"), "make a link for a new password")
    for command in (create, invite):
        command.add_argument("--role", required=True, choices=("owner", "admin", "viewer"))
    for command in (create, invite, remove, reset):
        command.add_argument("--email", required=True, metavar="E")
    for command in (create, listed, invite, remove):
        _space(command)
    for command in (create, listed, invite, remove, reset):
        _json(command)


def _add_token(commands: Commands) -> None:
    token = _group(commands, "pat", "manage the tokens of assistants and scripts")
    create = _add(token, "create", ("accounts", "create_token"), "create a token, shown this once")
    create.add_argument("--user", required=True, metavar="E", help="whose it is, by e-mail address")
    create.add_argument("--name", required=True, metavar="N")
    listed = _add(token, "list", ("accounts", "list_tokens"), "list a Space's tokens")
    revoke = _add(token, "revoke", ("accounts", "revoke_token"), "revoke a token at once")
    revoke.add_argument("token_id", type=int, metavar="TOKEN_ID")
    for command in (create, listed, revoke):
        _space(command)
        _json(command)


def _add_import(commands: Commands) -> None:
    group = _group(commands, "import", "bring in what happened before, from a file")
    for kind, about in (
        ("events", "events"),
        ("touchpoints", "touchpoints that no event carries"),
        ("contacts", "contacts, or more about those there are"),
        ("ads", "names for the ids of ad platforms"),
    ):
        command = _add(group, kind, ("imports", "import_file"), about)
        _space(command)
        command.add_argument("file", metavar="FILE", help="NDJSON or CSV, or - for standard input")
        command.add_argument("--format", choices=("ndjson", "csv"), help="if FILE's name says none")
        command.add_argument(
            "--map", action="append", default=[], metavar="COLUMN=FIELD", help="repeatable"
        )
        command.add_argument(
            "--timezone", default="UTC", metavar="Z", help="of times without an offset (UTC)"
        )
        command.add_argument("--dry-run", action="store_true", help="check all and store nothing")
        command.add_argument("--again", action="store_true", help="also if it was imported before")
        command.set_defaults(kind=kind)
        _json(command)


def _add_destination(commands: Commands) -> None:
    group = _group(commands, "destination", "manage where events are forwarded to")
    create = _add(group, "create", ("destinations", "create"), "forward events to an account")
    create.add_argument("--platform", required=True, metavar="P", help="meta, google, …")
    change = _add(group, "set", ("destinations", "change"), "change a destination")
    change.add_argument(
        "--default-event", action="append", default=[], metavar="NAME",
        help="give an event the platform's default name again; repeatable",
    )  # fmt: skip
    for command, action in ((create, "store_true"), (change, argparse.BooleanOptionalAction)):
        command.add_argument("--name", metavar="N")
        for option, member, value, about in (
            ("--set", "changes", "KEY=VALUE", "a setting; repeatable"),
            ("--secret", "secret", "KEY=@FILE", "a token, from a file or KEY=@-; repeatable"),
            ("--event", "event", "NAME=VALUE", "the platform's name or id; repeatable"),
        ):
            command.add_argument(
                option, dest=member, action="append", default=[], metavar=value, help=about
            )
        command.add_argument(
            "--all-events", action=action, help="also events that no ad of the platform led to"
        )
    listed = _add(group, "list", ("destinations", "list_all"), "list a Space's destinations")
    acting = [
        _add(group, name, ("destinations", function), about)
        for name, function, about in (
            ("show", "show_one", "show a destination"),
            ("test", "test", "send a made-up event that does not count"),
            ("pause", "pause", "send nothing any more"),
            ("resume", "resume", "send again"),
            ("remove", "remove", "end a destination"),
        )
    ]
    for command in (change, *acting):
        command.add_argument("--destination", type=int, required=True, metavar="ID")
    for command in (create, change, listed, *acting):
        _space(command)
        _json(command)


def _add_delivery(commands: Commands) -> None:
    group = _group(commands, "delivery", "see what became of forwarded events")
    listed = _add(group, "list", ("deliveries", "list_all"), "list deliveries, the latest first")
    for option, kind in (("destination", int), ("event", int), ("status", str), ("reason", str)):
        listed.add_argument(f"--{option}", type=kind, metavar="ID" if kind is int else "S")
    listed.add_argument("--limit", type=row_count, default=100, metavar="N", help="at most (100)")
    one = _add(group, "show", ("deliveries", "show_one"), "show a delivery with its attempts")
    one.add_argument("delivery_id", type=int, metavar="DELIVERY_ID")
    replay = _add(group, "replay", ("deliveries", "replay"), "queue finished deliveries once more")
    replay.add_argument("--destination", type=int, required=True, metavar="ID")
    for option in ("status", "reason"):
        replay.add_argument(f"--{option}", action="append", metavar="S", help="repeatable")
    replay.add_argument("delivery_id", type=int, nargs="*", metavar="DELIVERY_ID")
    wait = _add(group, "wait", ("deliveries", "wait"), "wait until nothing is queued or due")
    wait.add_argument("--timeout", type=seconds, default=60.0, metavar="S", help="seconds (60)")
    for command in (listed, one, replay, wait):
        _space(command)
    for command in (listed, one, replay):
        _json(command)
