"""`headwater webhook …`: create, change, list and revoke webhooks; show, replay and test deliveries."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from headwater.database.installation import DEFAULT_BASE_URL
from tests.support.factories import Stage, make_stage
from tests.support.webhook_samples.shopify import ORDER, REFUND
from tests.support.webhook_samples.stripe import SESSION, stripe
from tests.support.webhooks import SECRET, Hook, Hooks


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


class Terminal:
    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self.capsys, self.space = capsys, ["--space", str(space_id)]

    def json(self, command: str, *arguments: str, space: bool = True) -> Any:
        code = main(["webhook", command, *arguments, *(self.space if space else []), "--json"])
        out, err = self.capsys.readouterr()
        assert (code, err) == (0, ""), err
        return json.loads(out)

    def fails(self, command: str, *arguments: str, space: bool = True) -> str:
        assert main(["webhook", command, *arguments, *(self.space if space else [])]) == 2
        return self.capsys.readouterr().err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], stage: Stage, _no_service: None) -> Terminal:
    return Terminal(capsys, stage.space_id)


def test_it_works(terminal: Terminal, webhooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    webhook = terminal.json("create", "--type", "stripe", "--name", "Pay", "--secret-stdin",
                            "--set", "event.customer.created=contact")  # fmt: skip
    assert webhook.keys() == {"url", "id", "type", "name"}
    base, _, token = webhook["url"].rpartition("/")
    assert base == f"{DEFAULT_BASE_URL}/webhooks"
    assert len(token) == 43
    server = webhooks.server.base_url
    hook = Hook(webhooks.stage, server, "stripe", webhook["id"], token, SECRET)
    body = stripe("customer.created", {"email": "ada@example.com"})
    assert hook.deliver(body).json()["status"] == "accepted"
    (row,) = terminal.json("list")
    assert (row["hint"], row["signed"], row["events"], row["revoked_at"]) == (
        token[-4:], True, {"customer.created": "contact"}, None,
    )  # fmt: skip
    assert token not in json.dumps(row)
    (delivery,) = terminal.json("deliveries", str(webhook["id"]))
    assert (delivery["status"], delivery["dedup_key"]) == ("accepted", "stripe:evt_1")
    assert delivery.keys().isdisjoint({"body", "headers"})
    (full_delivery,) = terminal.json("deliveries", "--bodies", "--limit", "1")
    assert json.loads(full_delivery["body"]) == body
    assert terminal.json("revoke", str(webhook["id"]))["revoked_at"]
    assert hook.deliver(body).status_code == 404


def test_the_url_begins_with_the_base_url(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_BASE_URL", "https://t.example.com")
    webhook = terminal.json("create", "--type", "generic", "--name", "n", "--set", "event=contact")
    assert webhook["url"].startswith("https://t.example.com/webhooks/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--type", "paypal", "--name", "n"], "type: paypal is not one of calendly, generic"),
        (["--type", "stripe", "--name", "n"], "secret: stripe signs its deliveries"),
        (["--type", "generic", "--name", "n"], "needs event=NAME"),
        (["--type", "generic", "--name", " ", "--set", "event=contact"], "name"),
        (["--type", "generic", "--name", "n", "--set", "event"], "must be KEY=VALUE"),
        (["--type", "generic", "--name", "n", "--set", "event=contact",
          "--set", "signature_header=X-Sig"], "--secret-stdin"),
        (["--type", "generic", "--name", "n", "--set", "event=contact",
          "--set", "map.email=mail)"], "map.email: cannot be read at character 5, “)”."),
    ],
)  # fmt: skip
def test_create_refuses_bad_options(terminal: Terminal, arguments: list[str], message: str) -> None:
    assert message in terminal.fails("create", *arguments)


def test_ids_of_another_space(terminal: Terminal, webhooks: Hooks) -> None:
    twin = make_stage(webhooks.stage.connection)
    other_hook = webhooks.make("shopify", stage=twin)
    other_hook.deliver(ORDER)
    (delivery,) = other_hook.deliveries("id")
    for command, words in (
        ("set", [str(other_hook.id), "event.x=contact"]), ("revoke", [str(other_hook.id)]),
        ("deliveries", [str(other_hook.id)]),
    ):  # fmt: skip
        assert "Webhook not found" in terminal.fails(command, *words)
    assert "Delivery not found" in terminal.fails("replay", str(delivery))
    assert terminal.json("deliveries") == terminal.json("list") == []


def test_a_mapping_is_corrected_and_the_delivery_replayed(terminal: Terminal, webhooks: Hooks) -> None:
    hook = webhooks.generic()
    hook.deliver({"mail": "ada@example.com", "amount": 5})
    (refusal,) = terminal.json("deliveries")
    assert refusal["status"] == "refused"
    assert "email is required" in refusal["detail"]
    assert terminal.json("replay", str(refusal["id"]))["status"] == "refused"
    new_version = terminal.json("set", str(hook.id), "map.email=mail")
    assert new_version["mapping"] == {"email": "mail", "amount": "amount"}
    replay = terminal.json("replay", str(refusal["id"]))
    assert (replay["status"], type(replay["receipt_id"])) == ("accepted", int)
    assert hook.deliveries("status", "receipt_id") == [("accepted", replay["receipt_id"])]
    result = terminal.json("replay", str(refusal["id"]))
    hook.queue().process()
    assert hook.queue().values("events", "id") == [replay["receipt_id"]]
    assert hook.queue().values("duplicates", "id") == [result["receipt_id"]]


def test_a_replay_happened_when_it_was_delivered(terminal: Terminal, webhooks: Hooks) -> None:
    hook = webhooks.generic()
    hook.deliver({"email": "ada@example.com"})
    connection, space_id = hook.stage.connection, hook.stage.space_id
    connection.execute(
        "UPDATE webhook_deliveries SET received_at = '2026-01-02T03:04:05Z' WHERE space_id = %s", (space_id,)
    )
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
    terminal.json("replay", str(hook.deliveries("id")[0]))
    hook.queue().process()
    (moment,) = hook.queue().values("events", "event_time")
    assert moment.isoformat().startswith("2026-01-02T03:04:05")


def test_what_nobody_signed_cannot_be_replayed(terminal: Terminal, webhooks: Hooks) -> None:
    hook = webhooks.make("shopify")
    hook.post(b"{}", {})
    assert "its body was not stored" in terminal.fails("replay", str(hook.deliveries("id")[0]))


def test_a_body_is_tried(terminal: Terminal, tmp_path: Path, stage: Stage) -> None:
    file = tmp_path / "body.json"
    file.write_text(json.dumps(stripe("checkout.session.completed", SESSION)))
    outcome = terminal.json("test", str(file), "--type", "stripe", space=False)
    assert outcome["status"] == "accepted"
    assert (outcome["event"]["event_name"], outcome["event"]["amount"]) == ("purchase", "49")
    options = ["--set", "map.amount=subtract(number('99.90'), from_minor_units(`1990`))"]
    outcome = terminal.json("test", str(file), "--type", "stripe", *options, space=False)
    assert outcome["event"]["amount"] == "80"
    file.write_text(json.dumps(REFUND))
    header = ["--header", "X-Shopify-Topic=refunds/create"]
    outcome = terminal.json("test", str(file), "--type", "shopify", *header, space=False)
    assert [statement["amount"] for statement in outcome["refund"]["statements"]] == ["10", "5.5"]
    outcome = terminal.json("test", str(file), "--type", "shopify", space=False)
    assert (outcome["status"], outcome["event"]) == ("ignored", None)
    assert "No such file" in terminal.fails("test", str(tmp_path / "none"), "--type", "stripe",
                                            space=False)  # fmt: skip
    count = stage.connection.execute(
        "SELECT count(*) FROM webhook_deliveries WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert count == (0,)
