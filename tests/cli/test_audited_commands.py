"""Every command that changes something adds one entry to the audit log, with the operator and the command's
words, and without secrets or contact data. A command that is in neither table fails the test.
"""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.attribution.trained_models import store
from headwater.cli.commands import build_parser
from headwater.database.migrator import migrate
from headwater.spaces.factors.factors import add_authenticator
from tests.conftest import NOWHERE
from tests.support.accounts import PASSWORD, Accounts
from tests.support.audited import CANARY, EMAIL, Desk, last_entry, list_entries
from tests.support.commands import run_command
from tests.support.factories import Stage, make_stage
from tests.support.trained_models import plant_trained_model

OPERATOR = "grace"
READS = "only reads"
RUNS = "runs the service or a part of it, which changes nothing by itself"
INSTALLS = "changes the installation, and no setting, access or record in it"
PULLS = "does what is due later anyway"
"""Reasons why commands are not recorded."""
NOT_RECORDED = {
    **dict.fromkeys(
        ["serve", "demo", "reload", "api", "worker", "forwarder", "puller", "exporter", "importer",
         "watcher"],
        RUNS,
    ),
    **dict.fromkeys(
        ["migrate", "distribute", "backup", "restore", "upgrade", "reports rebuild", "space move",
         "space isolate"],
        INSTALLS,
    ),
    **dict.fromkeys(
        ["check", "space show", "space list", "key list", "contact merges", "contact erasures",
         "contact data", "queue rejected", "reports check", "model list", "model show", "model check",
         "export events",
         "export contacts", "export companies", "alerts list", "alerts rules", "alerts channels",
         "source explain", "source names", "network list", "webhook list", "webhook deliveries",
         "webhook test", "site list", "user list", "sso list", "audit list", "audit export", "pat list",
         "order compare", "spend list", "spend show", "watch list", "watch show", "destination list",
         "destination show", "destination preview", "delivery list", "delivery show", "completion"],
        READS,
    ),
    **dict.fromkeys(["queue wait", "delivery wait"], "waits"),
    **dict.fromkeys(["alerts test", "destination test", "sso test", "spend check"], "asks another server"),
    **dict.fromkeys(["spend pull", "watch fetch", "rates fetch"], PULLS),
}  # fmt: skip


@dataclass
class Shell(Desk):
    """A Space, and what is needed to run commands that change it."""

    folder: Path
    variables: dict[str, str]

    @property
    def accounts(self) -> Accounts:
        return Accounts(self.variables["HEADWATER_DATABASE_URL"])

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def secret(self, name: str = "access_token") -> list[str]:
        return ["--secret", f"{name}=@{self.file('secret', f'{CANARY}-secret')}"]

    def email(self) -> str:
        """Return a member's address."""
        row = self.stage.connection.execute(
            "SELECT email FROM users WHERE id = %s", [self.member()]
        ).fetchone()
        assert row is not None
        return row[0]

    def provider(self) -> str:
        """Return the name of the only identity provider."""
        self.stage.connection.execute(
            "INSERT INTO sso_providers (name, issuer, client_id, settings) VALUES"
            """ ('corp', 'https://id.example', 'abc', '{"title": "Corp", "domains": ["people.example"]}')"""
        )
        return "corp"

    def run(self, arguments: Sequence[str], stdin: str = "") -> list[dict[str, Any]]:
        """Run a command and return the entries it adds to the log."""
        before = last_entry(self.stage.connection)
        process = run_command(*arguments, stdin=stdin, **self.variables)
        assert process.returncode == 0, process.stderr
        return list_entries(self.stage.connection, before)


Arguments = Callable[[Shell], list[str]]


def make_arguments(*arguments: str) -> Arguments:
    return lambda _: list(arguments)


def about(option: str, row: str, *arguments: str) -> Arguments:
    """Return arguments that contain the id of a row made by a method of Shell."""
    return lambda shell: [*([option] if option else []), str(getattr(shell, row)()), *arguments]


def row_arguments(option: str, row: str, *arguments: str, **columns: Any) -> Arguments:
    """Return arguments that contain the id of a row made by the stage."""
    return lambda shell: [option, str(getattr(shell.stage, row)(**columns)), *arguments]


def train(shell: Shell) -> list[str]:
    shell.orders()
    today = datetime.now(UTC).date()
    first, last = (f"{today - timedelta(days=days)}" for days in (7, 1))
    return ["--name", "May", "--event", "purchase", "--start-date", first, "--end-date", last]


def model(shell: Shell) -> list[str]:
    connection, space_id = shell.stage.connection, shell.stage.space_id
    plant_trained_model(connection, space_id, "April")
    plant_trained_model(connection, space_id, "May", current=False)
    return ["--name", "May"]


def network(shell: Shell) -> list[str]:
    shell.stage.network("taboola_ads")
    return ["taboola_ads"]


def site(shell: Shell) -> str:
    return shell.insert("sites", name="Shop", site_key=secrets.token_hex(8), origins=["https://shop.example"])


def factor(shell: Shell) -> list[str]:
    """Return arguments for a member with an authenticator and a browser."""
    email = shell.email()
    user = shell.stage.connection.execute("SELECT id FROM users WHERE email = %s", [email]).fetchone()
    assert user is not None
    shell.accounts.run(lambda c: add_authenticator(c, bytes(32), user[0], "A" * 32, 1))
    return ["--email", email]


def disabled_user(shell: Shell) -> list[str]:
    email = shell.email()
    shell.stage.connection.execute("UPDATE users SET disabled_at = now() WHERE email = %s", [email])
    return ["--email", email]


def leaver(shell: Shell) -> list[str]:
    """Return arguments for a member with a token."""
    email = shell.email()
    row = shell.stage.connection.execute("SELECT id FROM users WHERE email = %s", [email]).fetchone()
    assert row is not None
    shell.user_id = row[0]
    shell.token()
    return ["--email", email]


def linked_user(shell: Shell) -> list[str]:
    name, email = shell.provider(), shell.email()
    shell.stage.connection.execute(
        "INSERT INTO sso_identities (provider, subject, user_id)"
        " SELECT %s, 'subject', id FROM users WHERE email = %s", [name, email],
    )  # fmt: skip
    return [name, "--email", email]


def emergency(shell: Shell) -> list[str]:
    shell.provider()
    return ["--email", shell.accounts.member(shell.stage.space_id).email]


def optional(shell: Shell) -> list[str]:
    shell.stage.connection.execute("INSERT INTO sso_password_users (user_id) VALUES (%s)", [shell.user_id])
    return []


def rejected(shell: Shell) -> list[str]:
    shell.rejected()
    return []


def failed_delivery(shell: Shell) -> list[str]:
    stage, now = shell.stage, datetime.now(UTC)
    destination_id = stage.destination()
    delivery_id = stage.add_delivery(
        destination_id, stage.event(shell.contact(), event_time=now, received_at=now)
    )
    return ["--destination", str(destination_id), str(delivery_id)]


def rows(kind: str, text: str, *arguments: str) -> Arguments:
    return lambda shell: [shell.file(f"{CANARY}-{kind}.csv", text), *arguments]


COMMANDS: dict[str, Arguments] = {
    "space create": make_arguments("--name", "Shop"),
    "space set": make_arguments(
        "currency=EUR", "source_name.fb-paid=facebook_ads", f"ignored_identifiers={EMAIL}"
    ),
    "key create": make_arguments("--name", "Shop"),
    "key rotate": about("--key", "key"),
    "key restrict": about("", "key", "--addresses", "192.0.2.0/24"),
    "key revoke": about("", "key"),
    "contact unmerge": lambda shell: [str(shell.merge_contacts()[1])],
    "queue replay": rejected,
    "model train": train,
    "model choose": model,
    "model automatic": make_arguments(),
    "model remove": model,
    "network put": make_arguments("taboola_ads", "--spelling", "tbl"),
    "network remove": network,
    "webhook create": make_arguments("--name", "Shop", "--type", "stripe", "--secret-stdin"),
    "webhook set": lambda shell: [str(shell.webhook()["webhook_id"]), "event=purchase"],
    "webhook revoke": lambda shell: [str(shell.webhook()["webhook_id"])],
    "webhook replay": lambda shell: [str(shell.webhook()["delivery_id"])],
    "site create": make_arguments("--name", "Shop", "--origin", "https://shop.example"),
    "site set": lambda shell: [site(shell), "--amounts", "refuse"],
    "site secret": lambda shell: [site(shell), "--rotate", "at-once"],
    "site revoke": lambda shell: [site(shell)],
    "user create": lambda shell: ["--email", shell.accounts.user().email, "--role", "viewer"],
    "user invite": make_arguments("--email", EMAIL, "--role", "viewer"),
    "user remove": leaver,
    "user reset-link": lambda shell: ["--email", shell.email()],
    "user reset-factors": factor,
    "user disable": lambda shell: ["--email", shell.email()],
    "user enable": disabled_user,
    "user log-out": lambda shell: ["--email", shell.email()],
    "secret-key renew": make_arguments(),
    "sso add": lambda shell: [
        "corp", "--issuer", "https://id.example", "--client-id", "abc", "--domain", "people.example",
        *shell.secret("client_secret"),
    ],
    "sso set": lambda shell: [shell.provider(), "--title", "Company", *shell.secret("client_secret")],
    "sso remove": lambda shell: [shell.provider()],
    "sso unlink": linked_user,
    "sso require": emergency,
    "sso optional": optional,
    "pat create": lambda shell: ["--user", shell.email(), "--name", "Laptop"],
    "pat revoke": about("", "token"),
    "import events": rows("events", f"email,event_time,event_name\n{EMAIL},2026-05-13T08:00:00Z,purchase\n"),
    "import touchpoints": rows("touchpoints", f"email,occurred_at,url\n{EMAIL},2026-05-13T08:00:00Z,https://x.example/\n"),
    "import contacts": rows("contacts", f"email,name\n{EMAIL},{CANARY}\n"),
    "import ads": rows("ads", "kind,id,name\nad,1,Spring\n"),
    "import spend": rows("spend", "date,platform,amount,currency\n2026-05-13,meta,5,USD\n"),
    "spend connect": lambda shell: [
        "--platform", "meta", "--set", "ad_account_id=1234567", *shell.secret()
    ],
    "spend set": lambda shell: ["--connection", str(shell.stage.spend_connection()), "--name", "Other"],
    "spend pause": row_arguments("--connection", "spend_connection"),
    "spend resume": row_arguments("--connection", "spend_connection", status="paused"),
    "spend disconnect": row_arguments("--connection", "spend_connection"),
    "watch create": lambda shell: [
        "--address", f"https://reports.example/x.csv?key={CANARY}", "--set", "currency=EUR",
        *shell.secret("authorization"),
    ],
    "watch set": lambda shell: [
        "--file", str(shell.stage.watched_file()), "--address", f"https://other.example/x.csv?key={CANARY}",
    ],
    "watch pause": row_arguments("--file", "watched_file"),
    "watch resume": row_arguments("--file", "watched_file", status="paused"),
    "watch remove": row_arguments("--file", "watched_file"),
    "rates import": rows("rates", "Date,USD,\n2026-05-13,1.1,\n"),
    "destination create": lambda shell: [
        "--platform", "tiktok", "--set", "pixel_code=PIXEL1", *shell.secret()
    ],
    "destination set": lambda shell: ["--destination", str(shell.stage.destination()), *shell.secret()],
    "destination pause": row_arguments("--destination", "destination"),
    "destination resume": row_arguments("--destination", "destination", status="paused"),
    "destination remove": row_arguments("--destination", "destination"),
    "delivery replay": failed_delivery,
}  # fmt: skip
"""Arguments that make each command change something."""
ELSEWHERE = {
    "import orders": "is `import events` with another reader",
    "import shop": "is `import events` from the interface of a shop",
    "user set-up-link": "works before the first account: test_the_first_account",
}
OF_INSTALLATION = {
    "queue replay", "user reset-link", "user reset-factors", "user disable", "user enable", "user log-out",
    "secret-key renew", "rates import",
}  # fmt: skip
"""Commands without a Space, in addition to those of `sso`."""
COMPLETE = {"space set": {"space", "source_name"}, "user remove": {"member", "assistant_token"}}
TYPED = {"webhook create": f"{CANARY}-secret-of-a-shop\n"}


@pytest.fixture(scope="module")
def audited_url(database_url: str) -> Iterator[str]:
    """A separate database, because some commands change the whole installation."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE audited")
        url = urlsplit(database_url)._replace(path="/audited").geturl()
        migrate(url)
        yield url
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier("audited")))


@pytest.fixture
def shell(audited_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.setattr(store, "FEWEST_CONVERSIONS", 2)
    monkeypatch.chdir(tmp_path)
    variables = {
        "HEADWATER_DATABASE_URL": audited_url, "HEADWATER_DATA_DIR": str(tmp_path / "data"),
        "HEADWATER_META_URL": NOWHERE, "SUDO_USER": OPERATOR,
    }  # fmt: skip
    with psycopg.connect(audited_url, autocommit=True) as connection:
        stage: Stage = make_stage(connection)
        row = connection.execute(
            "INSERT INTO users (email) VALUES (%s) RETURNING id", [f"{stage.space_id}@people.example"]
        ).fetchone()
        assert row is not None
        stage._insert("memberships", {"user_id": row[0], "role": "owner"}, column="user_id")
        yield Shell(stage, row[0], tmp_path, variables)
        connection.execute("DELETE FROM sso_password_users")
        connection.execute("DELETE FROM sso_providers")


def list_commands(parser: argparse.ArgumentParser, arguments: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every command, and whether it has a Space."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield arguments, "--space" in parser._option_string_actions
    for group in groups:
        for name, command in group.choices.items():
            yield from list_commands(command, f"{arguments} {name}".strip())


ALL = dict(list_commands(build_parser()))


def test_it_works() -> None:
    assert COMMANDS.keys() | NOT_RECORDED.keys() | ELSEWHERE.keys() == ALL.keys()
    assert not COMMANDS.keys() & (NOT_RECORDED.keys() | ELSEWHERE.keys())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_adds_one_entry(shell: Shell, command: str) -> None:
    arguments = COMMANDS[command](shell)
    space = ["--space", str(shell.stage.space_id)] if ALL[command] else []
    (entry,) = shell.run([*command.split(), *arguments, *space], TYPED.get(command, ""))
    if command != "space create":
        installation = command in OF_INSTALLATION or command.startswith("sso ")
        assert entry["space_id"] == (0 if installation else shell.stage.space_id)
    assert (entry["way"], entry["action"], entry["operator"]) == ("command", command, OPERATOR)
    assert (entry["user_id"], entry["key_id"], entry["token_id"], entry["address"]) == (None,) * 4
    kinds = {change["kind"] for change in entry["changes"]}
    assert kinds == COMPLETE.get(command, kinds) != set()
    assert CANARY not in json.dumps(entry).lower()


def test_a_new_user_is_recorded_in_the_installation_too(shell: Shell) -> None:
    words = ["user", "create", "--email", f"new-{EMAIL}", "--name", CANARY, "--password-stdin"]
    space = ["--space", str(shell.stage.space_id)]
    user, member = shell.run([*words, "--role", "viewer", *space], f"{PASSWORD}\n")
    assert (user["space_id"], member["space_id"]) == (0, shell.stage.space_id)
    assert [entry["changes"][0]["kind"] for entry in (user, member)] == ["user", "member"]
    assert CANARY not in json.dumps([user, member]).lower()
    assert PASSWORD not in json.dumps([user, member])


def test_the_first_account(young_url: str) -> None:
    with psycopg.connect(young_url, autocommit=True) as connection:
        variables = {"HEADWATER_DATABASE_URL": young_url, "SUDO_USER": OPERATOR}
        process = run_command("user", "set-up-link", "--json", **variables)
        assert process.returncode == 0, process.stderr
        (entry,) = list_entries(connection)
    assert (entry["space_id"], entry["action"]) == (0, "user set-up-link")
    assert json.loads(process.stdout)["url"].rpartition("/")[2] not in json.dumps(entry)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("destination pause", ["--destination", "999999999"]),
        ("user remove", ["--email", "nobody@people.example"]),
        ("space set", ["currency=money"]),
    ],
)
def test_a_command_that_fails_adds_none(shell: Shell, command: str, arguments: list[str]) -> None:
    before = last_entry(shell.stage.connection)
    space = ["--space", str(shell.stage.space_id)]
    process = run_command(*command.split(), *arguments, *space, **shell.variables)
    assert process.returncode == 2
    assert list_entries(shell.stage.connection, before) == []


@pytest.mark.parametrize("command", ["destination pause", "watch pause", "space set", "site revoke"])
def test_what_is_so_already_is_not_recorded(shell: Shell, command: str) -> None:
    words = [*command.split(), *COMMANDS[command](shell), "--space", str(shell.stage.space_id)]
    assert len(shell.run(words)) == 1
    assert shell.run(words) == []


def test_a_dry_run_adds_none(shell: Shell) -> None:
    words = ["import", "contacts", *COMMANDS["import contacts"](shell), "--dry-run"]
    assert shell.run([*words, "--space", str(shell.stage.space_id)]) == []
