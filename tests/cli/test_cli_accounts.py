"""`headwater user …` and `headwater pat …`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from headwater.cli import main
from headwater.spaces.accounts import invitations, links, members, tokens, users
from headwater.spaces.accounts.roles import Role
from headwater.spaces.factors.factors import add_authenticator
from tests.support.accounts import PASSWORD, Accounts, unique_email


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


class Terminal:
    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def type(self, text: str) -> None:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(text))

    def json(self, *words: object) -> Any:
        code = main([*map(str, words), "--json"])
        out, err = self.capsys.readouterr()
        assert (code, err) == (0, ""), err
        return json.loads(out)

    def fails(self, *words: object) -> str:
        assert main([*map(str, words)]) == 2
        return self.capsys.readouterr().err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def test_it_works(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    email, space = unique_email(), ("--space", space_id)
    terminal.type(f"{PASSWORD}\n")
    made = terminal.json("user", "create", "--email", email.upper(), "--password-stdin", *space,
                         "--role", "owner", "--name", "Ada")  # fmt: skip
    assert made == {"id": made["id"], "email": email, "space_id": space_id, "role": "owner",
                    "created": True}  # fmt: skip
    user = accounts.run(lambda c: users.find_user(c, email))
    assert user is not None
    assert (user.password_hash or "").startswith("$argon2id$")
    (listed,) = terminal.json("user", "list", *space)
    assert (listed["email"], listed["role"], listed["name"]) == (email, "owner", "Ada")
    pat = terminal.json("pat", "create", *space, "--user", email, "--name", "agent")
    token = pat["token"]
    assert token.startswith("trk_mcp_")
    assert accounts.run(lambda c: tokens.find_token(c, token)) is not None
    (shown,) = terminal.json("pat", "list", *space)
    assert (shown["user"], shown["name"], shown["hint"]) == (email, "agent", token[-4:])
    assert token not in json.dumps(shown)
    terminal.json("pat", "revoke", *space, pat["id"])
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None
    assert terminal.json("pat", "list", *space) == []


def test_who_has_an_account_gets_the_space(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    accounts.member(space_id)
    user = accounts.user()
    words = ("user", "create", "--email", user.email, "--space", space_id, "--role")
    assert terminal.json(*words, "viewer")["created"] is False
    assert terminal.json(*words, "admin")["role"] == "admin"
    terminal.type("another password\n")
    terminal.json(*words, "admin", "--password-stdin")
    after = accounts.run(lambda c: users.fetch_user(c, user.id))
    assert after.password_hash == user.password_hash, "their password is theirs"
    terminal.json("user", "remove", "--email", user.email, "--space", space_id)
    member = accounts.run(lambda c: members.fetch_member(c, space_id, user.id))
    assert member is None


def test_links(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    email = unique_email()
    made = terminal.json("user", "invite", "--email", email, "--space", space_id, "--role", "admin")
    base, _, token = made["url"].rpartition("/")
    assert base.endswith(invitations.INVITATION_PATH)
    offer = accounts.run(lambda c: invitations.find_offer(c, token))
    assert offer is not None
    assert (offer.email, offer.role) == (email, Role.ADMIN)
    user = accounts.user()
    reset = terminal.json("user", "reset-link", "--email", user.email)["url"].rpartition("/")
    assert reset[0].endswith(links.RESET_PATH)
    assert accounts.run(lambda c: links.find_reset_link(c, reset[2])) == user.id


def test_second_factors(terminal: Terminal, accounts: Accounts) -> None:
    user = accounts.user()
    accounts.run(lambda c: add_authenticator(c, bytes(32), user.id, "A" * 32, 1))
    reset = ("user", "reset-factors", "--email", user.email)
    assert terminal.json(*reset) == {"email": user.email, "had_factor": True}
    assert terminal.json(*reset) == {"email": user.email, "had_factor": False}
    assert "no such user" in terminal.fails("user", "reset-factors", "--email", unique_email())


def test_what_cannot_be_done(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    owner, email = accounts.member(space_id), unique_email()
    create = ("user", "create", "--email", email, "--role", "owner", "--space")
    assert "--password-stdin" in terminal.fails(*create, space_id)
    terminal.type("short\n")
    assert "at least 10" in terminal.fails(*create, space_id, "--password-stdin")
    terminal.type(f"{PASSWORD}\n")
    assert "Space not found" in terminal.fails(*create, 0, "--password-stdin")
    assert accounts.run(lambda c: users.find_user(c, email)) is None
    remove = ("user", "remove", "--space", space_id, "--email")
    assert "needs an owner" in terminal.fails(*remove, owner.email)
    assert "no such user" in terminal.fails(*remove, email)
    pat = ("pat", "create", "--space", space_id, "--user")
    assert "no such user" in terminal.fails(*pat, email, "--name", "x")
    stranger = accounts.user().email
    assert "Member not found" in terminal.fails(*pat, stranger, "--name", "x")
    assert "The name must" in terminal.fails(*pat, owner.email, "--name", "x" * 121)
    assert "Token not found" in terminal.fails("pat", "revoke", "--space", space_id, 0)
