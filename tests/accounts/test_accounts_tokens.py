"""MCP tokens: at most 25 a Space even under concurrent requests, found, expired, revoked."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import psycopg
import pytest

from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts import members, tokens
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.tokens import MAX_TOKENS, NewToken, TooManyTokens
from tests.support.accounts import Accounts


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


def issue(accounts: Accounts, space_id: int, new_token: NewToken) -> tuple[str, int]:
    return accounts.run(lambda c: tokens.issue_token(c, space_id, new_token))


def test_it_works(accounts: Accounts, space_id: int) -> None:
    user = accounts.member(space_id, Role.VIEWER, name="Ada")
    token, token_id = issue(accounts, space_id, NewToken(user.id, "personal", " Laptop "))
    assert token.startswith("trk_mcp_")
    assert len(token) == len("trk_mcp_") + 43
    bearer = accounts.run(lambda c: tokens.find_token(c, token))
    assert bearer == tokens.Bearer(space_id, user.id, Role.VIEWER, True, token_id, "personal", None, "Laptop")
    (stored_token,) = accounts.run(lambda c: tokens.list_tokens(c, space_id))
    assert (stored_token.hint, stored_token.owner.display_name, stored_token.expires_at) == (
        token[-4:],
        "Ada",
        None,
    )
    assert stored_token.last_used_at is not None
    accounts.run(lambda c: tokens.revoke_token(c, space_id, token_id))
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None
    assert accounts.run(lambda c: tokens.list_tokens(c, space_id)) == []
    accounts.run(lambda c: tokens.revoke_token(c, space_id, token_id))


def test_of_forty_at_once_twenty_five(accounts: Accounts, space_id: int) -> None:
    user = accounts.member(space_id)
    accounts.member(space_id)
    new = [NewToken(user.id, kind, "t") for kind in ("oauth", "personal")] * 20
    results = accounts.run_together(
        [partial(tokens.issue_token, space_id=space_id, new=new_token) for new_token in new]
    )
    assert sum(isinstance(result, TooManyTokens) for result in results) == 40 - MAX_TOKENS
    token_list = accounts.run(lambda c: tokens.list_tokens(c, space_id))
    assert len(token_list) == MAX_TOKENS
    accounts.run(lambda c: tokens.revoke_token(c, space_id, token_list[0].id))
    issue(accounts, space_id, new[0])
    with pytest.raises(TooManyTokens):
        issue(accounts, space_id, new[0])


def test_an_expired_one_counts_no_more(
    accounts: Accounts, space_id: int, connection: psycopg.Connection
) -> None:
    user = accounts.member(space_id)
    new = NewToken(user.id, "oauth", "Assistant", "client", timedelta(days=365))
    token_pairs = [issue(accounts, space_id, new) for _ in range(MAX_TOKENS)]
    expire = "UPDATE mcp_tokens SET expires_at = now() WHERE id = %s"
    connection.execute(expire, (token_pairs[0][1],))
    assert accounts.run(lambda c: tokens.find_token(c, token_pairs[0][0])) is None
    bearer = accounts.run(lambda c: tokens.find_token(c, token_pairs[1][0]))
    assert bearer is not None
    assert (bearer.client_id, bearer.kind) == ("client", "oauth")
    issue(accounts, space_id, new)


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "a\x00b", "a\x1fb", "a\x7fb"])
def test_a_name_is_a_label(accounts: Accounts, space_id: int, name: str) -> None:
    user = accounts.member(space_id)
    with pytest.raises(Invalid) as error:
        issue(accounts, space_id, NewToken(user.id, "personal", name))
    assert list(error.value.errors) == ["name"]


def test_only_members_get_tokens(accounts: Accounts, space_id: int) -> None:
    accounts.member(space_id)
    with pytest.raises(NotFound):
        issue(accounts, space_id, NewToken(accounts.user().id, "personal", "t"))


def test_membership_and_role_are_of_the_moment(
    accounts: Accounts, space_id: int, connection: psycopg.Connection
) -> None:
    user = accounts.member(space_id)
    accounts.member(space_id)
    token, _ = issue(accounts, space_id, NewToken(user.id, "personal", "t"))
    accounts.run(lambda c: members.change_role(c, space_id, user.id, Role.VIEWER))
    connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (space_id,))
    bearer = accounts.run(lambda c: tokens.find_token(c, token))
    assert bearer is not None
    assert (bearer.role, bearer.active) == (Role.VIEWER, False)
    # The token stops working even if the membership ends in some other way.
    connection.execute("DELETE FROM memberships WHERE user_id = %s", (user.id,))
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None


def test_use_is_noted_once_a_minute(
    accounts: Accounts, space_id: int, connection: psycopg.Connection
) -> None:
    user = accounts.member(space_id)
    token, token_id = issue(accounts, space_id, NewToken(user.id, "personal", "t"))
    query = "SELECT last_used_at, xmin::text FROM mcp_tokens WHERE id = %s"
    accounts.run(lambda c: tokens.find_token(c, token))
    first = connection.execute(query, (token_id,)).fetchone()
    accounts.run(lambda c: tokens.find_token(c, token))
    assert connection.execute(query, (token_id,)).fetchone() == first
    earlier = "UPDATE mcp_tokens SET last_used_at = now() - interval '61 seconds' WHERE id = %s"
    connection.execute(earlier, (token_id,))
    accounts.run(lambda c: tokens.find_token(c, token))
    assert connection.execute(query, (token_id,)).fetchone() > first  # type: ignore[operator]


@pytest.mark.parametrize("text", ["", "trk_mcp_", "trk_sk_x", "trk_mcp_" + "x" * 10_000, "trk_mcp_ü"])
def test_bad_tokens_are_refused(accounts: Accounts, text: str) -> None:
    assert accounts.run(lambda c: tokens.find_token(c, text)) is None


def test_another_space_cannot_revoke(accounts: Accounts, space_id: int, make_space: object) -> None:
    user = accounts.member(space_id)
    token, token_id = issue(accounts, space_id, NewToken(user.id, "personal", "t"))
    other_space_id: int = make_space()  # type: ignore[operator]
    with pytest.raises(NotFound):
        accounts.run(lambda c: tokens.revoke_token(c, other_space_id, token_id))
    assert accounts.run(lambda c: tokens.find_token(c, token)) is not None


def test_a_viewer_cannot_take_all_of_them(accounts: Accounts, space_id: int) -> None:
    viewer = accounts.member(space_id, Role.VIEWER)
    new = NewToken(viewer.id, "personal", "t")
    for _ in range(tokens.MAX_OF_A_VIEWER):
        issue(accounts, space_id, new)
    with pytest.raises(tokens.TooManyTokens) as error:
        issue(accounts, space_id, new)
    assert error.value.message.startswith("A viewer has 5 tokens")
    issue(accounts, space_id, NewToken(accounts.member(space_id).id, "personal", "t"))
