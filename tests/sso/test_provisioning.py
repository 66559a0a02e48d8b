"""The user and roles that each person gets."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from unittest.mock import ANY

import httpx
import psycopg
import pytest

from headwater.spaces.accounts.invitations import invite
from headwater.spaces.accounts.members import add_member, fetch_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import open_session
from headwater.spaces.accounts.tokens import NewToken, issue_token
from headwater.spaces.accounts.users import User, create_user
from headwater.spaces.sso.id_tokens import LOGOUT_EVENT
from headwater.spaces.sso.identities import GrantedRole, find_linked_user, find_roles
from headwater.spaces.sso.providers import RoleRule
from headwater.spaces.sso.refusals import SsoReason
from tests.sso.fake_provider import DOMAIN, Desk, FakeProvider
from tests.sso.test_hostile_provider import check_refusal
from tests.support.accounts import unique_email
from tests.support.audited import last_entry, list_entries


def read_role(connection: psycopg.Connection, space_id: int, fake: FakeProvider) -> str | None:
    row = connection.execute(
        "SELECT m.role FROM memberships m JOIN sso_identities i ON i.user_id = m.user_id"
        " WHERE m.space_id = %s AND i.provider = %s",
        (space_id, fake.name),
    ).fetchone()
    return row[0] if row else None


def test_it_works(desk: Desk, connection: psycopg.Connection, make_space: Callable[..., int]) -> None:
    """A group's role is updated at each login. A role for new users is given once."""
    led_space, viewed_space = make_space(), make_space()
    rules = (
        RoleRule(led_space, Role.ADMIN, "ads"),
        RoleRule(led_space, Role.OWNER, "chiefs"),
        RoleRule(viewed_space, Role.VIEWER),
    )
    fake = desk.make(rules=rules)
    for groups, role in ((["ads"], "admin"), (["ads", "chiefs"], "owner"), ("ads", "owner"), ([], "owner")):
        fake.account["groups"] = groups
        assert desk.sign_in(fake).status_code == 303
        assert read_role(connection, led_space, fake) == role  # the last owner keeps the role
        assert read_role(connection, viewed_space, fake) == "viewer"
    other_user = desk.accounts.member(led_space)
    for groups, role in ((["ads"], "admin"), (None, None), ([7, None, "ads"], "admin"), ({"ads": 1}, None)):
        fake.account["groups"] = groups
        assert desk.sign_in(fake).status_code == 303
        assert read_role(connection, led_space, fake) == role
    connection.execute(
        "DELETE FROM memberships WHERE space_id = %s AND user_id <> %s", (viewed_space, other_user.id)
    )
    desk.sign_in(fake)
    assert read_role(connection, viewed_space, fake) is None  # a user removed by hand is not added again


def test_roles_of_rules() -> None:
    """The highest role that applies, for every combination of rules."""
    for groups, *roles in product(((), ("a",), ("b",), ("a", "b")), Role, Role, (*Role, None)):
        a, b, everybody_role = roles
        assert a is not None
        assert b is not None
        rules = [RoleRule(1, a, "a"), RoleRule(1, b, "b")]
        rules += [RoleRule(1, everybody_role)] if everybody_role else []
        fitting_roles = {role for role, group in ((a, "a"), (b, "b")) if group in groups} | {everybody_role}
        best_role = next((role for role in Role if role in fitting_roles), None)
        assert find_roles(rules, groups) == {1: GrantedRole(best_role, follows_groups=True)}
    assert find_roles([RoleRule(2, Role.VIEWER)], ["x"]) == {
        2: GrantedRole(Role.VIEWER, follows_groups=False)
    }


def test_existing_users_are_linked(desk: Desk, connection: psycopg.Connection, space_id: int) -> None:
    """They are linked once, by verified address. Later logins use the account, even if its address has
    changed.
    """
    user = desk.accounts.user(f"linked-{space_id}@{DOMAIN}", "Grace")
    desk.accounts.run(lambda c: add_member(c, space_id, user.id, Role.VIEWER))
    fake = desk.make(rules=(RoleRule(space_id, Role.ADMIN),))
    fake.account["email"] = user.email.upper()
    browser = log_in_with_password(desk, user)
    assert f'href="/login/sso/{fake.name}?next=/console/account"' in browser.get("/console/account").text
    desk.sign_in(fake, browser)
    page = browser.get("/console/account").text
    assert f'href="/login/sso/{fake.name}?' not in page
    assert "Grace" in page
    assert "Change password" in page  # which still works
    assert read_role(connection, space_id, fake) == "viewer"  # they are not new users
    fake.account["email"] = f"renamed-{space_id}@{DOMAIN}"
    desk.sign_in(fake, browser)
    assert user.email in browser.get("/console/account").text
    console = desk.console()
    assert console.log_in(user).url.path.startswith("/console")


def log_in_with_password(desk: Desk, user: User) -> httpx.Client:
    token, _ = desk.accounts.run(lambda c: open_session(c, user.id))
    browser = desk.browser()
    browser.cookies.set("headwater_session", token)
    return browser


def test_an_account_that_someone_made_before_its_owner(desk: Desk, space_id: int) -> None:
    """Invitations verify no addresses: who makes a user with another person's address does not get that
    person's role when they come.
    """
    imposter = desk.accounts.user(f"chief-{space_id}@{DOMAIN}")
    desk.accounts.run(lambda c: add_member(c, space_id, imposter.id, Role.VIEWER))
    fake = desk.make(rules=(RoleRule(space_id, Role.OWNER, "chiefs"),))
    fake.account |= {"email": imposter.email, "groups": ["chiefs"]}
    check_refusal(desk.sign_in(fake), SsoReason.PASSWORD_FIRST)
    other_user = log_in_with_password(desk, desk.accounts.user())
    check_refusal(desk.sign_in(fake, other_user), SsoReason.PASSWORD_FIRST)
    member = desk.accounts.run(lambda c: fetch_member(c, space_id, imposter.id))
    assert member is not None
    assert member.role is Role.VIEWER


def test_a_user_without_a_password_is_linked(desk: Desk) -> None:
    """Another provider has verified the address."""
    user = desk.accounts.run(lambda c: create_user(c, unique_email().replace("example.com", DOMAIN), None))
    fake = desk.make()
    fake.account["email"] = user.email
    browser = desk.browser()
    desk.sign_in(fake, browser)
    assert user.email in browser.get("/console/account").text


def test_an_address_that_was_given_to_another_person(desk: Desk) -> None:
    fake = desk.make()
    desk.sign_in(fake)
    fake.account["sub"] = "the successor"
    check_refusal(desk.sign_in(fake), SsoReason.LINKED_TO_ANOTHER)


def test_an_address_of_a_linked_user_with_a_password(desk: Desk) -> None:
    """The advice to log in with the password once would lead to the same refusal."""
    user, fake = desk.accounts.user(f"{secrets.token_hex(6)}@{DOMAIN}"), desk.make()
    fake.account["email"] = user.email
    browser = log_in_with_password(desk, user)
    desk.sign_in(fake, browser)
    fake.account["sub"] = "the successor"
    check_refusal(desk.sign_in(fake), SsoReason.LINKED_TO_ANOTHER)
    check_refusal(desk.sign_in(fake, browser), SsoReason.LINKED_TO_ANOTHER)


def test_a_disabled_user(desk: Desk, connection: psycopg.Connection) -> None:
    fake = desk.make()
    desk.sign_in(fake)
    connection.execute("UPDATE users SET disabled_at = now() WHERE email = %s", (fake.account["email"],))
    check_refusal(desk.sign_in(fake), SsoReason.ACCOUNT_DISABLED)


@pytest.mark.parametrize(
    ("claims", "is_admitted"),
    [
        ({"hd": "acme.example", "tid": ["1", "2"]}, True),
        ({"hd": "acme.example", "tid": "2"}, True),
        ({"hd": "acme.example"}, False),
        ({"hd": ["acme"], "tid": "2"}, False),
        ({"hd": "evil.example", "tid": "2"}, False),
    ],
)
def test_required_claims(desk: Desk, claims: dict[str, object], *, is_admitted: bool) -> None:
    fake = desk.make({"claims": claims}, required={"hd": "acme.example", "tid": "2"})
    answer = desk.sign_in(fake)
    if is_admitted:
        assert answer.status_code == 303
    else:
        check_refusal(answer, SsoReason.REQUIRED_CLAIM)


def test_another_claim_verifies_the_address(desk: Desk) -> None:
    """Like Microsoft Entra ID, which has no `email_verified`."""
    fake = desk.make({"claims": {"email_verified": None, "xms_edov": 1}}, verified_claim="xms_edov")
    assert desk.sign_in(fake).status_code == 303
    fake.claims["xms_edov"] = 0
    fake.claims["email_verified"] = True
    check_refusal(desk.sign_in(fake), SsoReason.EMAIL_NOT_VERIFIED)


def test_a_provider_that_wants_the_secret_in_the_form(desk: Desk) -> None:
    methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert desk.sign_in(desk.make({"metadata": methods})).status_code == 303


def test_a_client_without_a_secret(desk: Desk) -> None:
    assert desk.sign_in(desk.make({"is_public": True})).status_code == 303


def test_two_first_logins_at_once(desk: Desk, connection: psycopg.Connection, space_id: int) -> None:
    fake = desk.make(rules=(RoleRule(space_id, Role.VIEWER),))
    fake.account["name"] = "x" * 500
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: desk.sign_in(fake), range(4)))
    assert [answer.status_code for answer in answers] == [303] * 4
    row = connection.execute(
        "SELECT count(*), max(name) FROM users WHERE email = %s", (fake.account["email"],)
    ).fetchone()
    assert row == (1, "")
    assert read_role(connection, space_id, fake) == "viewer"


def test_a_login_takes_the_place_of_the_earlier_one(desk: Desk) -> None:
    fake, browser = desk.make(), desk.browser()
    desk.sign_in(fake, browser)
    before = browser.cookies["headwater_session"]
    desk.sign_in(fake, browser)
    thief = desk.browser()
    thief.cookies.set("headwater_session", before)
    assert thief.get("/console/account").status_code == 303


def test_owners_see_the_providers(desk: Desk, space_id: int) -> None:
    rules = (RoleRule(space_id, Role.OWNER, "<chiefs>"), RoleRule(space_id, Role.VIEWER))
    fake, browser = desk.make(rules=rules, title=f"Seen {space_id}"), desk.browser()
    fake.account["groups"] = ["<chiefs>"]
    desk.sign_in(fake, browser)
    page = browser.get(f"/console/spaces/{space_id}/members").text
    assert f"Seen {space_id}" in page
    assert "owner for the group <bdi>&lt;chiefs&gt;</bdi>" in page
    desk.accounts.member(space_id)
    fake.account["groups"] = []
    desk.sign_in(fake, browser)
    assert f"Seen {space_id}" not in browser.get(f"/console/spaces/{space_id}/members").text


def test_a_new_user_and_a_link_are_recorded(
    desk: Desk, connection: psycopg.Connection, space_id: int
) -> None:
    """One entry of the installation for each login, and one of the Space for a new role."""
    fake = desk.make(rules=(RoleRule(space_id, Role.VIEWER),))
    fake.account["email"] = f"new-{space_id}@{DOMAIN}"
    user = desk.accounts.run(lambda c: create_user(c, f"old-{space_id}@{DOMAIN}", None))
    expected = [
        (fake.account["email"], "sub-new", {space_id: ["member"], 0: ["user", "sso_account", "session"]}),
        (fake.account["email"], "sub-new", {0: ["session"]}),
        (user.email, "sub-old", {0: ["sso_account", "session"]}),
    ]
    for email, subject, kinds in expected:
        fake.account |= {"email": email, "sub": subject}
        before = last_entry(connection)
        assert desk.sign_in(fake).status_code == 303
        entries = list_entries(connection, before)
        change_kinds = {
            entry["space_id"]: [change["kind"] for change in entry["changes"]] for entry in entries
        }
        assert change_kinds == kinds
        assert len(entries) == len(kinds)
        assert email not in json.dumps(entries)


def test_what_a_login_ends_with_a_role_is_recorded(
    desk: Desk, connection: psycopg.Connection, space_id: int
) -> None:
    """The previous role, and the tokens and invitations that end with the membership."""
    desk.accounts.member(space_id)
    fake = desk.make(rules=(RoleRule(space_id, Role.ADMIN, "ads"), RoleRule(space_id, Role.VIEWER, "staff")))
    fake.account["groups"] = ["ads"]
    desk.sign_in(fake)
    user_id = desk.accounts.run(lambda c: find_linked_user(c, fake.name, fake.account["sub"]))
    assert user_id is not None
    desk.accounts.run(lambda c: invite(c, space_id, f"guest@{DOMAIN}", Role.VIEWER, user_id))
    desk.accounts.run(lambda c: issue_token(c, space_id, NewToken(user_id, "personal", "laptop")))
    ends = [
        ("staff", [("member", {"role": "admin"}, {"role": "viewer"}), ("invitation", ANY, ANY)]),
        (None, [("member", {"role": "viewer"}, None), ("assistant_token", ANY, ANY)]),
    ]
    for group, expected in ends:
        fake.account["groups"] = [group]
        before = last_entry(connection)
        assert desk.sign_in(fake).status_code == 303
        (entry,) = [entry for entry in list_entries(connection, before) if entry["space_id"] == space_id]
        assert entry["user_id"] == user_id
        changes = [(change["kind"], change.get("before"), change.get("after")) for change in entry["changes"]]
        assert changes == expected


def test_a_reported_logout_is_recorded(desk: Desk, connection: psycopg.Connection) -> None:
    """Once: a second report ends no session."""
    fake = desk.make({"claims": {"sid": "s1"}})
    desk.sign_in(fake)
    before = last_entry(connection)
    for number in range(2):
        claims = fake.make_claims("n") | {"events": {LOGOUT_EVENT: {}}, "sid": "s1", "jti": str(number)}
        del claims["nonce"]
        form = {"logout_token": fake.sign(claims)}
        assert desk.browser().post(f"/login/sso/{fake.name}/logout", data=form).status_code == 200
    (entry,) = list_entries(connection, before)
    assert entry["action"] == "login/sso/{provider}/logout"
    assert entry["changes"] == [{"kind": "session", "after": {"ended_by": fake.name}}]
