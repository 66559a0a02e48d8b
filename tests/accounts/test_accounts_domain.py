"""Accounts: users and passwords, members and roles, sessions, links, invitations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
from argon2 import PasswordHasher

from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts import invitations, links, members, sessions, tokens, users
from headwater.spaces.accounts.members import MemberReason, MemberRefused
from headwater.spaces.accounts.passwords import Passwords, check_password
from headwater.spaces.accounts.roles import Permission, Role, managing
from headwater.spaces.accounts.users import EmailTaken
from tests.support.accounts import CHEAP, HASH, PASSWORD, Accounts, unique_email
from tests.support.waiting import PATIENCE_SECONDS


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


def refusal(accounts: Accounts, work: object) -> MemberReason:
    with pytest.raises(MemberRefused) as error:
        accounts.run(work)  # type: ignore[arg-type]
    assert error.value.extra["reason"] == error.value.reason
    return error.value.reason


def test_it_works(accounts: Accounts, space_id: int) -> None:
    email = unique_email()
    user = accounts.run(lambda c: users.create_user(c, f"  {email.upper()} ", HASH, " Ada "))
    assert (user.email, user.name, user.display_name) == (email, "Ada", "Ada")
    assert accounts.run(lambda c: users.find_user(c, email)) == user
    accounts.run(lambda c: members.add_member(c, space_id, user.id, Role.OWNER))
    (membership,) = accounts.run(lambda c: members.list_joined(c, user.id))
    assert (membership.space_id, membership.role, membership.active) == (space_id, Role.OWNER, True)
    (member,) = accounts.run(lambda c: members.list_members(c, space_id))
    assert (member.user_id, member.email, member.role) == (user.id, email, Role.OWNER)
    token, session = accounts.run(lambda c: sessions.open_session(c, user.id, "Firefox on Linux"))
    assert accounts.run(lambda c: sessions.fetch_session(c, token)) == session
    assert session.user == user


@pytest.mark.parametrize("email", ["", "ada", "ada@", "a b@example.com", "x" * 300 + "@example.com"])
def test_bad_addresses_are_refused(accounts: Accounts, email: str) -> None:
    with pytest.raises(Invalid) as error:
        accounts.run(lambda c: users.create_user(c, email, HASH))
    assert list(error.value.errors) == ["email"]
    assert accounts.run(lambda c: users.find_user(c, email)) is None


@pytest.mark.parametrize("name", ["x" * 121, "a\nb", "a\x00b", "a\x7fb"])
def test_bad_names_are_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(Invalid) as error:
        accounts.run(lambda c: users.create_user(c, unique_email(), HASH, name))
    assert list(error.value.errors) == ["name"]


def test_one_account_an_address(accounts: Accounts) -> None:
    email = unique_email()
    results = accounts.run_together([lambda c: users.create_user(c, email, HASH)] * 5)
    assert sum(isinstance(result, EmailTaken) for result in results) == 4


@pytest.mark.parametrize(
    ("password", "rule"),
    [("short", "at least 10"), ("x" * 257, "at most 256"), ("abcdefghi\0j", "text"),
     ("abcdefghi\ud800", "text")],
)  # fmt: skip
def test_bad_passwords_are_refused(password: str, rule: str) -> None:
    with pytest.raises(Invalid, match=rule):
        check_password(password, ())


def test_passwords() -> None:
    async def act() -> None:
        passwords = Passwords(PasswordHasher(**CHEAP))
        stored_hash = await passwords.hash("Å pass word")
        assert stored_hash.startswith("$argon2id$")
        assert (await passwords.verify(stored_hash, "A\u030a pass word")).matches, "another form of it"
        assert not (await passwords.verify(stored_hash, "å pass word")).matches
        assert not (await passwords.verify(stored_hash, "")).matches
        for bad_hash in (None, "", "no hash"):
            assert not (await passwords.verify(bad_hash, "nobody's password")).matches
        assert not (await passwords.verify(stored_hash, "x" * 10_000)).matches

    asyncio.run(act())


def test_a_hash_of_older_parameters_is_made_anew(accounts: Accounts) -> None:
    user = accounts.user()
    newer = Passwords(PasswordHasher(**{**CHEAP, "time_cost": 2}))
    verdict = asyncio.run(newer.verify(user.password_hash, PASSWORD))
    assert verdict.matches
    new_hash = verdict.rehashed
    assert new_hash is not None
    accounts.run(lambda c: users.renew_hash(c, user, new_hash))
    stored_hash = accounts.run(lambda c: users.fetch_user(c, user.id)).password_hash
    assert stored_hash == new_hash
    assert asyncio.run(newer.verify(stored_hash, PASSWORD)).rehashed is None
    accounts.run(lambda c: users.renew_hash(c, user, "late"))
    assert accounts.run(lambda c: users.fetch_user(c, user.id)).password_hash == new_hash


def test_who_may_do_what() -> None:
    for permission in Permission:
        assert Role.OWNER.may(permission)
        assert Role.ADMIN.may(permission) == (permission is not Permission.MANAGE_OWNERS)
        is_allowed = permission in {Permission.READ, Permission.MAKE_TOKENS}
        assert Role.VIEWER.may(permission) == is_allowed
    assert managing(Role.OWNER) is Permission.MANAGE_OWNERS
    assert managing(Role.VIEWER) is managing(Role.ADMIN) is Permission.MANAGE_MEMBERS


def test_the_last_owner_stays(accounts: Accounts, space_id: int) -> None:
    first, second = accounts.member(space_id), accounts.member(space_id)
    accounts.member(space_id, Role.ADMIN)
    remove = partial(members.remove_member, space_id=space_id)
    accounts.run(partial(members.change_role, space_id=space_id, user_id=first.id, role=Role.VIEWER))
    for act in (
        partial(members.change_role, space_id=space_id, user_id=second.id, role=Role.ADMIN),
        partial(remove, user_id=second.id),
    ):
        assert refusal(accounts, act) is MemberReason.LAST_OWNER
    accounts.run(partial(members.change_role, space_id=space_id, user_id=second.id, role=Role.OWNER))
    accounts.run(partial(remove, user_id=first.id))


def test_of_owners_who_leave_at_once_one_stays(accounts: Accounts, space_id: int) -> None:
    owners = [accounts.member(space_id) for _ in range(4)]
    results = accounts.run_together(
        [partial(members.remove_member, space_id=space_id, user_id=owner.id) for owner in owners]
    )
    assert sum(isinstance(result, MemberRefused) for result in results) == 1
    assert len(accounts.run(lambda c: members.list_members(c, space_id))) == 1


def test_a_member_is_added_once(accounts: Accounts, space_id: int) -> None:
    user = accounts.member(space_id)
    add_again = partial(members.add_member, space_id=space_id, user_id=user.id, role=Role.VIEWER)
    assert refusal(accounts, add_again) is MemberReason.ALREADY_MEMBER
    with pytest.raises(NotFound):
        accounts.run(partial(members.remove_member, space_id=space_id, user_id=0))


def test_removing_takes_tokens_codes_and_invitations(
    accounts: Accounts, make_space: Iterator[int], connection: psycopg.Connection
) -> None:
    space_id, other_space_id = make_space(), make_space()  # type: ignore[operator]
    accounts.member(space_id)
    user = accounts.member(space_id, Role.ADMIN)
    accounts.run(partial(members.add_member, space_id=other_space_id, user_id=user.id, role=Role.OWNER))
    new = tokens.NewToken(user.id, "personal", "mine")
    home_token, _ = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    other_token, _ = accounts.run(lambda c: tokens.issue_token(c, other_space_id, new))
    link, _ = accounts.run(lambda c: invitations.invite(c, space_id, unique_email(), Role.VIEWER, user.id))
    connection.execute(
        "INSERT INTO oauth_codes (space_id, code_hash, consent_hash, user_id, client_id,"
        " client_name, redirect_uri, code_challenge, expires_at)"
        " VALUES (%s, sha256(%s::bytea), sha256('x'), %s, 'c', 'c', 'r', 'h',"
        " now() + interval '1 minute')",
        (space_id, f"{space_id}".encode(), user.id),
    )
    connection.execute("LISTEN headwater_access")
    accounts.run(partial(members.remove_member, space_id=space_id, user_id=user.id))
    payloads = [notice.payload for notice in connection.notifies(timeout=PATIENCE_SECONDS, stop_after=1)]
    assert payloads == [str(space_id)]
    assert accounts.run(lambda c: tokens.find_token(c, home_token)) is None
    assert accounts.run(lambda c: tokens.find_token(c, other_token)) is not None
    assert accounts.run(lambda c: invitations.find_offer(c, link.rpartition("/")[2])) is None
    codes = "SELECT count(*) FROM oauth_codes WHERE space_id = %s AND used_at IS NULL"
    assert connection.execute(codes, (space_id,)).fetchone() == (0,)


def test_sessions_end(accounts: Accounts, connection: psycopg.Connection) -> None:
    user = accounts.user()
    token_sessions = [accounts.run(lambda c: sessions.open_session(c, user.id)) for _ in range(4)]
    assert len({session.csrf_key for _, session in token_sessions}) == 4

    def are_alive() -> list[bool]:
        return [
            accounts.run(partial(sessions.fetch_session, token=token)) is not None
            for token, _ in token_sessions
        ]

    ids = [session.id for _, session in token_sessions]
    accounts.run(lambda c: sessions.close_session(c, user.id + 1, ids[0]))
    assert are_alive() == [True] * 4
    accounts.run(lambda c: sessions.close_session(c, user.id, ids[0]))
    change = "UPDATE sessions SET {} WHERE id = %s"
    connection.execute(change.format("expires_at = now()"), (ids[1],))
    connection.execute(change.format("last_seen_at = now() - interval '7 days'"), (ids[2],))
    assert are_alive() == [False, False, False, True]
    (last_session,) = accounts.run(lambda c: sessions.list_sessions(c, user.id))
    assert last_session.id == ids[3]
    connection.execute("UPDATE users SET disabled_at = now() WHERE id = %s", (user.id,))
    assert are_alive() == [False] * 4
    connection.execute("UPDATE users SET disabled_at = NULL WHERE id = %s", (user.id,))
    accounts.run(lambda c: sessions.close_sessions(c, user.id))
    assert are_alive() == [False] * 4


def test_a_disabled_user(accounts: Accounts, make_space: Iterator[int]) -> None:
    space_id, other_space_id = make_space(), make_space()  # type: ignore[operator]
    owner, user = accounts.member(space_id), accounts.member(space_id)
    accounts.run(partial(members.add_member, space_id=other_space_id, user_id=user.id, role=Role.OWNER))
    new = tokens.NewToken(user.id, "oauth", "theirs", "a client")
    token_list = [
        accounts.run(partial(tokens.issue_token, space_id=target_id, new=new))[0]
        for target_id in (space_id, other_space_id)
    ]
    session, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    reset = accounts.run(lambda c: links.make_reset_link(c, user.id)).rpartition("/")[2]
    sent_link, _ = accounts.run(
        lambda c: invitations.invite(c, space_id, unique_email(), Role.VIEWER, user.id)
    )
    offered_link, _ = accounts.run(
        lambda c: invitations.invite(c, other_space_id, user.email, Role.VIEWER, None)
    )
    owner_link, _ = accounts.run(
        lambda c: invitations.invite(c, space_id, unique_email(), Role.VIEWER, owner.id)
    )

    def is_offered(link: str) -> bool:
        return accounts.run(lambda c: invitations.find_offer(c, link.rpartition("/")[2])) is not None

    def works() -> list[bool]:
        return [
            accounts.run(lambda c: sessions.fetch_session(c, session)) is not None,
            accounts.run(lambda c: links.find_reset_link(c, reset)) is not None,
            *(accounts.run(partial(tokens.find_token, token=token)) is not None for token in token_list),
            *map(is_offered, (sent_link, offered_link)),
        ]

    assert works() == [True] * 6
    end_counts = accounts.run(lambda c: users.disable_user(c, user))
    assert (end_counts.sessions, end_counts.tokens) == (1, 2)
    assert works() == [False] * 6
    assert is_offered(owner_link)
    late, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    assert accounts.run(lambda c: sessions.fetch_session(c, late)) is None
    since = accounts.run(lambda c: users.fetch_user(c, user.id)).disabled_at
    accounts.run(lambda c: users.disable_user(c, user))
    assert accounts.run(lambda c: users.fetch_user(c, user.id)).disabled_at == since
    accounts.run(lambda c: users.enable_user(c, user))
    assert accounts.run(lambda c: users.fetch_user(c, user.id)) == user
    assert works() == [False] * 6
    assert accounts.run(lambda c: sessions.fetch_session(c, late)) is None
    assert accounts.run(lambda c: members.fetch_member(c, space_id, user.id)) is not None


def test_a_disabled_owner_is_no_other_owner(accounts: Accounts, space_id: int) -> None:
    owner, disabled = accounts.member(space_id), accounts.member(space_id)
    accounts.run(lambda c: users.disable_user(c, disabled))
    remove = partial(members.remove_member, space_id=space_id)
    assert refusal(accounts, partial(remove, user_id=owner.id)) is MemberReason.LAST_OWNER
    accounts.run(partial(remove, user_id=disabled.id))
    (last_member,) = accounts.run(lambda c: members.list_members(c, space_id))
    assert last_member.user_id == owner.id


def test_logins_end_with_tokens_or_without(accounts: Accounts, space_id: int) -> None:
    user, other_user = accounts.member(space_id), accounts.member(space_id)
    new = tokens.NewToken(user.id, "personal", "mine")
    token, _ = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    own_session, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    other_session, _ = accounts.run(lambda c: sessions.open_session(c, other_user.id))
    end_counts = accounts.run(lambda c: users.end_logins(c, user.id))
    assert (end_counts.sessions, end_counts.tokens) == (1, 0)
    assert accounts.run(lambda c: sessions.fetch_session(c, own_session)) is None
    assert accounts.run(lambda c: sessions.fetch_session(c, other_session)) is not None
    assert accounts.run(lambda c: tokens.find_token(c, token)) is not None
    end_counts = accounts.run(lambda c: users.end_logins(c, user.id, revoke_tokens=True))
    assert (end_counts.sessions, end_counts.tokens) == (0, 1)
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None


def test_use_prolongs_a_session_and_not_for_ever(accounts: Accounts, connection: psycopg.Connection) -> None:
    user = accounts.user()
    token, session = accounts.run(partial(sessions.open_session, user_id=user.id))
    connection.execute(
        "UPDATE sessions SET last_seen_at = now() - interval '6 days',"
        " created_at = now() - interval '29 days' WHERE id = %s", (session.id,)
    )  # fmt: skip
    accounts.run(lambda c: sessions.fetch_session(c, token))
    row = connection.execute(
        "SELECT now() - last_seen_at < interval '1 minute',"
        " expires_at <= now() + interval '30 days' FROM sessions WHERE id = %s", (session.id,)
    ).fetchone()  # fmt: skip
    assert row == (True, True)
    for nonsense in ("", "x" * 1000, "ü\ud800", token[:-1]):
        assert accounts.run(partial(sessions.fetch_session, token=nonsense)) is None


def test_only_hashes_are_stored(accounts: Accounts, connection: psycopg.Connection) -> None:
    user = accounts.user()
    token, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    link = accounts.run(lambda c: links.make_reset_link(c, user.id))
    secrets = [token, link.rpartition("/")[2], PASSWORD]
    for table in ("users", "sessions", "one_time_links"):
        text = str(connection.execute(f"SELECT to_jsonb(t) FROM {table} t").fetchall())  # type: ignore[call-overload]
        assert [secret for secret in secrets if secret in text] == []


def test_a_password_chosen_by_link(accounts: Accounts, connection: psycopg.Connection) -> None:
    user = accounts.user()
    token, _ = accounts.run(lambda c: sessions.open_session(c, user.id))
    older = accounts.run(lambda c: links.make_reset_link(c, user.id)).rpartition("/")[2]
    link = accounts.run(lambda c: links.make_reset_link(c, user.id)).rpartition("/")[2]
    assert accounts.run(lambda c: links.use_reset_link(c, older)) is None
    assert accounts.run(lambda c: links.find_reset_link(c, link)) == user.id
    results = accounts.run_together([lambda c: links.use_reset_link(c, link)] * 4)
    assert sorted(results, key=str) == [user.id, None, None, None]
    accounts.run(lambda c: users.change_password(c, user.id, "new"))
    assert accounts.run(lambda c: sessions.fetch_session(c, token)) is None
    late = accounts.run(lambda c: links.make_reset_link(c, user.id)).rpartition("/")[2]
    connection.execute("UPDATE one_time_links SET expires_at = now() WHERE used_at IS NULL")
    assert accounts.run(lambda c: links.find_reset_link(c, late)) is None
    assert accounts.run(lambda c: links.use_set_up_link(c, late)) is False


def test_an_invitation(accounts: Accounts, space_id: int) -> None:
    owner, guest, third = accounts.member(space_id), accounts.user(), accounts.user()
    older, _ = accounts.run(lambda c: invitations.invite(c, space_id, guest.email, Role.OWNER, owner.id))
    path, email = accounts.run(
        lambda c: invitations.invite(c, space_id, f" {guest.email.upper()}", Role.ADMIN, owner.id)
    )
    assert email == guest.email
    token = path.removeprefix(invitations.INVITATION_PATH + "/")
    (invitation,) = accounts.run(lambda c: invitations.list_invitations(c, space_id))
    assert (invitation.email, invitation.role) == (guest.email, Role.ADMIN)
    offer = accounts.run(lambda c: invitations.find_offer(c, token))
    assert offer is not None
    assert (offer.space_id, offer.role, offer.email) == (space_id, Role.ADMIN, guest.email)
    accept_as_owner = partial(invitations.accept, token=token, user_id=owner.id)
    assert refusal(accounts, accept_as_owner) is MemberReason.ALREADY_MEMBER
    results = accounts.run_together(
        [partial(invitations.accept, token=token, user_id=user.id) for user in (guest, third)]
    )
    assert sum(isinstance(result, NotFound) for result in results) == 1
    assert accounts.run(lambda c: invitations.find_offer(c, older.rpartition("/")[2])) is None
    assert accounts.run(lambda c: invitations.list_invitations(c, space_id)) == []


def test_an_invitation_taken_back(accounts: Accounts, make_space: Iterator[int]) -> None:
    space_id, other_space_id = make_space(), make_space()  # type: ignore[operator]
    path, _ = accounts.run(lambda c: invitations.invite(c, space_id, unique_email(), Role.VIEWER, None))
    token = path.rpartition("/")[2]
    (invitation,) = accounts.run(lambda c: invitations.list_invitations(c, space_id))
    accounts.run(lambda c: invitations.revoke_invitation(c, other_space_id, invitation.id))
    assert accounts.run(lambda c: invitations.find_offer(c, token)) is not None
    accounts.run(lambda c: invitations.revoke_invitation(c, space_id, invitation.id))
    user = accounts.user()
    with pytest.raises(NotFound):
        accounts.run(lambda c: invitations.accept(c, token, user.id))
