"""`headwater destination …` and `headwater delivery …`."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from headwater.forwarding.destinations.credentials import open_secrets
from headwater.spaces.encryption import derive_key
from tests.support.destinations import NAME, PIXEL, TOKEN, Forwarder
from tests.support.factories import make_stage
from tests.support.fake_platform import Answer, FakePlatform

CREATE = ["--platform", NAME, "--set", f"pixel_id={PIXEL}"]
VISIBLE = "is visible to all users of this machine"
GIVEN = [*CREATE, "--secret", f"token={TOKEN}"]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


class Terminal:
    """Run commands of a Space, and check that their output never shows the token."""

    def __init__(self, capsys: pytest.CaptureFixture[str], forwarder: Forwarder) -> None:
        self.capsys, self.forwarder = capsys, forwarder
        self.space_id = forwarder.stage.space_id

    def run(self, group: str, command: str, *arguments: str) -> tuple[int, str, str]:
        code = main([group, command, *arguments, "--space", str(self.space_id)])
        out, err = self.capsys.readouterr()
        assert TOKEN not in out + err
        return code, out, err

    def json(self, group: str, command: str, *arguments: str, code: int = 0) -> Any:
        exit_code, out, err = self.run(group, command, *arguments, "--json")
        warnings = [line for line in err.splitlines() if VISIBLE not in line]
        assert (exit_code, warnings) == (code, []), out + err
        return json.loads(out)

    def fails(self, group: str, command: str, *arguments: str) -> str:
        code, out, err = self.run(group, command, *arguments)
        assert (code, out) == (2, "")
        return err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], forwarder: Forwarder, _no_service: None) -> Terminal:
    return Terminal(capsys, forwarder)


def destination_option(destination: dict[str, Any]) -> list[str]:
    return ["--destination", str(destination["id"])]


def test_it_works(terminal: Terminal) -> None:
    destination = terminal.json(
        "destination", "create", *GIVEN, "--name", "Shop", "--set", "strict=true",
        "--event", "contact=Contact", "--event", "purchase=", "--all-events",
    )  # fmt: skip
    assert (
        destination["name"], destination["status"], destination["all_events"], destination["secrets"],
    ) == (
        "Shop", "active", True, ["token"],
    )  # fmt: skip
    assert destination["settings"] == {"pixel_id": PIXEL, "test_code": None, "strict": True}
    assert destination["event_names"] == {"contact": "Contact", "purchase": None}
    assert terminal.json("destination", "list") == [destination]
    assert terminal.json("destination", "show", *destination_option(destination)) == destination
    assert terminal.json("destination", "pause", *destination_option(destination))["status"] == "paused"
    assert terminal.json("destination", "resume", *destination_option(destination))["status"] == "active"
    removal = terminal.json("destination", "remove", *destination_option(destination))
    assert removal == {"id": destination["id"], "status": "removed"}
    assert terminal.json("destination", "list") == []
    assert "Destination not found" in terminal.fails("destination", "pause", *destination_option(destination))


def test_a_destination_is_changed(terminal: Terminal) -> None:
    destination = terminal.json(
        "destination", "create", *GIVEN, "--set", "test_code=T1",
        "--event", "contact=C", "--event", "schedule=S", "--all-events",
    )  # fmt: skip
    new_version = terminal.json(
        "destination", "set", *destination_option(destination), "--name", "New", "--set", "strict=1",
        "--event", "purchase=", "--default-event", "contact", "--no-all-events", "--secret", "backup=b",
    )  # fmt: skip
    assert (new_version["name"], new_version["all_events"], new_version["secrets"]) == (
        "New", False, ["backup", "token"],
    )  # fmt: skip
    assert new_version["settings"] == {"pixel_id": PIXEL, "test_code": "T1", "strict": True}
    assert new_version["event_names"] == {"schedule": "S", "purchase": None}
    second_change = terminal.json("destination", "set", *destination_option(destination), "--set",
                                  "test_code=", "--secret", "backup=")  # fmt: skip
    assert (second_change["settings"]["test_code"], second_change["secrets"]) == (None, ["token"])
    assert (second_change["event_names"], second_change["name"]) == (new_version["event_names"], "New")
    assert "secrets.token is required" in terminal.fails(
        "destination", "set", *destination_option(destination), "--secret", "token="
    )


def test_a_delivery_is_previewed(terminal: Terminal) -> None:
    destination = terminal.json("destination", "create", *GIVEN, "--all-events")
    assert "Event not found" in terminal.fails("destination", "preview", *destination_option(destination))
    stage = terminal.forwarder.stage
    event_id = stage.event(stage.contact(email="anna@example.com"), event_time="now")
    preview = terminal.json("destination", "preview", *destination_option(destination))
    assert (preview["event_id"], preview["outcome"]) == (event_id, "sent")
    assert {"path": "em", "value": "[masked]", "origin": "email"} in preview["fields"]
    bare = stage.event(stage.contact(), event_time="now")
    code, out, _ = terminal.run(
        "destination", "preview", *destination_option(destination), "--event", str(bare)
    )
    assert code == 0
    assert re.search(rf"event_id +{bare}\n", out)
    assert re.search(r"Fields\n  name +purchase\n", out)
    assert re.search(r"Missing for a better match\n  email +Send email with the event", out)
    assert "anna@example.com" not in out
    assert "Event not found" in terminal.fails(
        "destination", "preview", *destination_option(destination), "--event", str(10**12)
    )


def test_secrets_are_read_from_files_and_input(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    terminal.json("destination", "create", *CREATE, "--secret", f"token=@{file}")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{TOKEN}\n"))
    terminal.json("destination", "create", *CREATE, "--secret", "token=@-")
    (key,) = terminal.forwarder.stage.connection.execute(
        "SELECT secret_key FROM installation"
    ).fetchone() or ("",)
    for destination_id, sealed_secrets in terminal.forwarder.stage.connection.execute(
        "SELECT id, secrets FROM destinations WHERE space_id = %s", (terminal.space_id,)
    ).fetchall():
        opened_secrets = open_secrets(derive_key(key), terminal.space_id, destination_id, sealed_secrets)
        assert opened_secrets == {"token": TOKEN}


@pytest.mark.parametrize(
    ("secret", "is_warned"), [(f"token={TOKEN}", True), ("token=@-", False), ("token=@FILE", False)]
)
def test_a_secret_in_the_command_is_warned_of(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, *,
    is_warned: bool,
) -> None:  # fmt: skip
    (tmp_path / "FILE").write_text(TOKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(TOKEN))
    code, _, err = terminal.run("destination", "create", *CREATE, "--secret", secret)
    assert (code, VISIBLE in err) == (0, is_warned)
    if not is_warned:
        assert err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--platform", "myspace"], "The platform must be one of meta"),
        (["--platform", NAME], "The settings.pixel_id is required. The secrets.token is"),
        ([*GIVEN, "--set", "pixle=1"], "settings.pixle is not one of pixel_id, test_code, strict"),
        ([*GIVEN, "--set", "strict=perhaps"], "settings.strict must be true or false."),
        ([*GIVEN, "--event", "purchse=P"], "event_names.purchse is not one of our event names"),
        ([*GIVEN, "--name", " "], "name must be a text"),
        ([*CREATE, "--secret", TOKEN], "--secret: must be KEY=VALUE"),
        ([*GIVEN, "--secret", f"token={TOKEN}2"], "token: given twice"),
        ([*CREATE, "--secret", "token=@/nowhere"], "token: /nowhere: No such file"),
        ([*CREATE, "--secret", "token=@-", "--secret", "backup=@-"], "only one can be read"),
    ],
)
def test_create_refuses_bad_options(terminal: Terminal, arguments: list[str], message: str) -> None:
    assert message in terminal.fails("destination", "create", *arguments)


def test_set_without_options_is_refused(terminal: Terminal) -> None:
    destination = terminal.json("destination", "create", *GIVEN)
    assert "at least one of name" in terminal.fails("destination", "set", *destination_option(destination))
    error = terminal.fails(
        "destination", "set", *destination_option(destination), "--default-event", "contact"
    )
    assert "contact: has no custom name" in error


def test_an_unknown_space(terminal: Terminal) -> None:
    terminal.space_id = 10**12
    assert "Space not found" in terminal.fails("destination", "create", *GIVEN)
    for group in ("destination", "delivery"):
        assert "Space not found" in terminal.fails(group, "list")


def test_another_space(terminal: Terminal) -> None:
    destination = terminal.json("destination", "create", *GIVEN)
    delivery_id = terminal.forwarder.delivery(destination["id"], status="failed")
    terminal.space_id = make_stage(terminal.forwarder.stage.connection).space_id
    for command in ("show", "pause", "resume", "remove", "test", "set"):
        words = ["--name", "x"] if command == "set" else []
        error = terminal.fails("destination", command, *destination_option(destination), *words)
        assert "Destination not found" in error
    assert "Delivery not found" in terminal.fails("delivery", "show", str(delivery_id))
    assert "Destination not found" in terminal.fails("delivery", "replay", *destination_option(destination))
    assert terminal.json("delivery", "list") == []


def test_a_destination_is_tested(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    destination = terminal.json("destination", "create", *GIVEN)
    with FakePlatform(Answer(200), Answer(401)) as platform:
        monkeypatch.setenv("HEADWATER_META_URL", platform.url)
        result = terminal.json("destination", "test", *destination_option(destination))
        assert result == {"ok": True, "http_status": 200, "message": "Probe accepted the test event.",
                          "remedy": None}  # fmt: skip
        result = terminal.json("destination", "test", *destination_option(destination), code=1)
        assert (result["ok"], result["http_status"]) == (False, 401)
        assert platform.bodies[0]["token"] == TOKEN
    assert terminal.json("destination", "show", *destination_option(destination))["test_ok"] is False
    for command, words in (("show", destination_option(destination)), ("list", [])):
        assert ", failed" in terminal.run("destination", command, *words)[1]


def test_deliveries(terminal: Terminal) -> None:
    forwarder = terminal.forwarder
    first_destination, second_destination = forwarder.make(), forwarder.make()
    failed_id = forwarder.delivery(first_destination, status="failed", error="No.")
    skipped_id = forwarder.delivery(second_destination, status="skipped", reason="paused")
    rows = terminal.json("delivery", "list")
    assert [row["id"] for row in rows] == [skipped_id, failed_id]
    events = {row["id"]: str(row["event_id"]) for row in rows}
    for words, delivery_ids in (
        (["--destination", str(first_destination)], [failed_id]), (["--status", "skipped"], [skipped_id]),
        (["--reason", "paused"], [skipped_id]), (["--event", events[failed_id]], [failed_id]),
        (["--limit", "1"], [skipped_id]),
    ):  # fmt: skip
        assert [row["id"] for row in terminal.json("delivery", "list", *words)] == delivery_ids
    assert terminal.json("delivery", "show", str(failed_id))["error"] == "No."
    assert "paused" in terminal.run("delivery", "list")[1]
    result = terminal.json("delivery", "replay", "--destination", str(first_destination))
    assert result == {"queued": 1, "too_old": 0, "more": False}
    result = terminal.json("delivery", "replay", "--destination", str(second_destination),
                           "--status", "skipped", "--reason", "paused", str(skipped_id))  # fmt: skip
    assert result["queued"] == 1
    error = terminal.fails("delivery", "replay", "--destination", str(first_destination), "--status", "sent")
    assert "The status must be one of failed, refused, expired, skipped." in error
    with pytest.raises(SystemExit):
        terminal.run("delivery", "list", "--status", "sent")


def test_waiting(terminal: Terminal) -> None:
    forwarder = terminal.forwarder

    def wait() -> int:
        return terminal.run("delivery", "wait", "--timeout", "0")[0]

    assert wait() == 0
    destination_id = forwarder.make()
    forwarder.delivery(destination_id, status="delivered")
    forwarder.delivery(destination_id, status="retrying", due_at="infinity")
    assert wait() == 0
    delivery_id = forwarder.delivery(destination_id, status="queued")
    assert wait() == 1
    forwarder.execute(
        "UPDATE deliveries SET status = 'retrying' WHERE space_id = %(space_id)s AND id = %(id)s",
        id=delivery_id,
    )
    assert wait() == 1
    terminal.json("destination", "pause", "--destination", str(destination_id))
    assert wait() == 0


def test_people_read_sections_no_wider_than_a_terminal(terminal: Terminal) -> None:
    destination = terminal.json(
        "destination", "create", *GIVEN, "--name", "Shop", "--event", "contact=Contact",
        "--event", "purchase=",
    )  # fmt: skip
    _, out, _ = terminal.run("destination", "show", *destination_option(destination))
    lines = out.splitlines()
    assert "“Shop”, destination" in lines[0]
    assert max(map(len, lines)) <= 100
    assert [line for line in lines if line and not line.startswith(" ")][1:] == [
        "Settings", "Deliveries", "Sent as", "Not sent", "Warnings",
    ]  # fmt: skip
    assert re.search(r"^  contact +Contact \(own\)$", out, re.MULTILINE)
    assert "purchase" in out.partition("Not sent")[2]
    assert "token (stored encrypted, never shown)" in out
