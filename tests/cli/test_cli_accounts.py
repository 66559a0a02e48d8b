"""`headwater user …` and `headwater pat …`."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import pytest

from headwater.cli import main
from headwater.spaces.accounts import invitations, links, members, sessions, tokens, users
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

    def json(self, *arguments: object) -> Any:
        code = main([*map(str, arguments), "--json"])
        out, err = self.capsys.readouterr()
        assert (code, err) == (0, ""), err
        return json.loads(out)

    def fails(self, *arguments: object) -> str:
        assert main([*map(str, arguments)]) == 2
        return self.capsys.readouterr().err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def test_it_works(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    email, space = unique_email(), ("--space", space_id)
    terminal.type(f"{PASSWORD}\n")
    new_user = terminal.json("user", "create", "--email", email.upper(), "--password-stdin", *space,
                             "--role", "owner", "--name", "Ada")  # fmt: skip
    assert new_user == {"id": new_user["id"], "email": email, "space_id": space_id, "role": "owner",
                        "created": True}  # fmt: skip
    user = accounts.run(lambda c: users.find_user(c, email))
    assert user is not None
    assert (user.password_hash or "").startswith("$argon2id$")
    (listed_user,) = terminal.json("user", "list", *space)
    assert (listed_user["email"], listed_user["role"], listed_user["name"]) == (email, "owner", "Ada")
    pat = terminal.json("pat", "create", *space, "--user", email, "--name", "agent")
    token = pat["token"]
    assert token.startswith("trk_mcp_")
    assert accounts.run(lambda c: tokens.find_token(c, token)) is not None
    (listed_token,) = terminal.json("pat", "list", *space)
    assert (listed_token["user"], listed_token["name"], listed_token["hint"]) == (email, "agent", token[-4:])
    assert token not in json.dumps(listed_token)
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
    invitation = terminal.json("user", "invite", "--email", email, "--space", space_id, "--role", "admin")
    base, _, token = invitation["url"].rpartition("/")
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


def test_a_user_is_disabled(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    user = accounts.member(space_id)
    session, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    words = ("--email", user.email)
    assert terminal.json("user", "disable", *words) == {
        "email": user.email, "sessions": 1, "tokens": 0, "spaces_without_owner": [space_id]
    }  # fmt: skip
    assert accounts.run(lambda c: sessions.fetch_session(c, session)) is None
    assert [row["is_disabled"] for row in terminal.json("user", "list", "--space", space_id)] == [True]
    accounts.member(space_id)
    assert terminal.json("user", "disable", *words)["spaces_without_owner"] == []
    assert terminal.json("user", "enable", *words) == {"email": user.email}
    assert accounts.run(lambda c: users.fetch_user(c, user.id)) == user
    for action in ("disable", "enable", "log-out"):
        assert "no such user" in terminal.fails("user", action, "--email", unique_email())


def test_sessions_are_ended(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    member, colleague = accounts.member(space_id), accounts.member(space_id)

    def log_in() -> list[str]:
        return [
            accounts.run(partial(sessions.open_session, user_id=user.id))[0] for user in (member, colleague)
        ]

    def are_alive(session_tokens: list[str]) -> list[bool]:
        return [
            accounts.run(partial(sessions.fetch_session, token=token)) is not None for token in session_tokens
        ]

    session_tokens = log_in()
    pat = terminal.json("pat", "create", "--space", space_id, "--user", member.email, "--name", "x")["token"]
    words = ("user", "log-out", "--email", member.email)
    assert terminal.json(*words) == {"sessions": 1, "tokens": 0}
    assert are_alive(session_tokens) == [False, True]
    assert accounts.run(lambda c: tokens.find_token(c, pat)) is not None
    assert terminal.json(*words, "--revoke-tokens") == {"sessions": 0, "tokens": 1}
    assert accounts.run(lambda c: tokens.find_token(c, pat)) is None
    session_tokens = log_in()
    assert terminal.json("user", "log-out", "--all")["sessions"] >= 2
    assert are_alive(session_tokens) == [False, False]
    assert "--all" in terminal.fails("user", "log-out")
    assert "--all" in terminal.fails("user", "log-out", "--all", "--email", member.email)


def test_bad_commands_are_refused(terminal: Terminal, accounts: Accounts, space_id: int) -> None:
    owner, email = accounts.member(space_id), unique_email()
    create = ("user", "create", "--email", email, "--role", "owner", "--space")
    assert "--password-stdin" in terminal.fails(*create, space_id)
    terminal.type("short\n")
    assert "at least 10" in terminal.fails(*create, space_id, "--password-stdin")
    terminal.type("password123\n")
    assert "breaches" in terminal.fails(*create, space_id, "--password-stdin")
    terminal.type(f"{email}!\n")
    assert "besides" in terminal.fails(*create, space_id, "--password-stdin")
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
