"""The members page: who may invite, promote and remove whom, and the access that ends immediately on
removal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from headwater.console.forms import form_token
from headwater.spaces.accounts import invitations, members, tokens
from headwater.spaces.accounts.roles import Role
from headwater.spaces.keys import list_keys
from tests.console.browsing import Browser, Forms
from tests.console.conftest import Person
from tests.support.accounts import PASSWORD, Accounts, unique_email

Make = Callable[..., Person]


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/members"


def roles(accounts: Accounts, space_id: int) -> dict[int, Role]:
    space_members = accounts.run(lambda c: members.list_members(c, space_id))
    return {member.user_id: member.role for member in space_members}


def link_on(html: str) -> str:
    (link,) = re.findall(r"http://[^<\"]*(/console/join/[\w-]{43})<", html)
    return link


def test_it_works(
    owner: Person, accounts: Accounts, space_id: int, new_browser: Callable[[], Browser]
) -> None:
    page, email = make_page(space_id), unique_email()
    answer = owner.browser.fill(page, f"{page}/invite", email=email, role="admin")
    link = link_on(answer.text)
    assert link not in owner.browser.get(page).text
    assert email in owner.browser.get(page).text
    guest = new_browser()
    assert "admin" in guest.get(link).text
    for bad in ("password123", "grace-headwater"):
        assert guest.fill(link, link, name="Grace", password=bad).status_code == 422
    join_page = guest.fill(link, link, name="Grace", password=PASSWORD)
    assert join_page.url.path == f"/console/spaces/{space_id}/setup"
    assert "Welcome" in join_page.text
    assert guest.get(link).status_code == 404
    (user_id,) = [member_id for member_id in roles(accounts, space_id) if member_id != owner.user.id]
    role_page = owner.browser.fill(
        page, f"{page}/role", hidden_values={"member": str(user_id)}, role="viewer"
    )
    assert "The role is changed." in role_page.text
    assert roles(accounts, space_id)[user_id] is Role.VIEWER
    removal_page = owner.browser.fill(page, f"{page}/remove", hidden_values={"member": str(user_id)})
    assert "The member is removed" in removal_page.text
    assert guest.get(f"/console/spaces/{space_id}").status_code == 404


def test_removal_takes_tokens_at_once(owner: Person, person: Make, accounts: Accounts, space_id: int) -> None:
    admin = person(Role.ADMIN)
    new = tokens.NewToken(admin.user.id, "personal", "t")
    token, _ = accounts.run(lambda c: tokens.issue_token(c, space_id, new))
    page = make_page(space_id)
    owner.browser.fill(page, f"{page}/remove", hidden_values={"member": str(admin.user.id)})
    assert accounts.run(lambda c: tokens.find_token(c, token)) is None
    assert admin.browser.get("/console/account").status_code == 200, "the account stays"


def post(person: Person, space_id: int, action: str, **values: str) -> int:
    """Return the status for a form with a valid token, whether or not a page offers it."""
    data = {"form_token": form_token(person.form_key, action), **values}
    answer = person.browser.client.post(f"{make_page(space_id)}/{action}", data=data)
    return answer.status_code


@pytest.mark.parametrize("role", list(Role))
def test_who_may_do_what(person: Make, accounts: Accounts, space_id: int, role: Role) -> None:
    person(Role.OWNER)
    visitor = person(role)
    may = {
        Role.OWNER: {Role.OWNER, Role.ADMIN, Role.VIEWER},
        Role.ADMIN: {Role.ADMIN, Role.VIEWER},
        Role.VIEWER: set[Role](),
    }[role]
    for new_role in Role:
        answer = post(visitor, space_id, "invite", email=unique_email(), role=new_role)
        assert answer == (200 if new_role in may else 403), f"{role} invites {new_role}"
        for before in Role:
            member = accounts.member(space_id, before)
            values = {"member": str(member.id), "role": new_role.value}
            is_allowed = new_role in may and before in may
            answer = post(visitor, space_id, "role", **values)
            assert answer == (303 if is_allowed else 403), f"{role} makes {before} {new_role}"
            assert roles(accounts, space_id)[member.id] is (new_role if is_allowed else before)
    for before in Role:
        member = accounts.member(space_id, before)
        answer = post(visitor, space_id, "remove", member=str(member.id))
        assert answer == (303 if before in may else 403), f"{role} removes {before}"


def test_an_admin_does_not_end_an_invitation_of_an_owner(
    person: Make, accounts: Accounts, space_id: int
) -> None:
    """A new invitation to the same address would end the earlier one."""
    owner, admin, email = person(Role.OWNER), person(Role.ADMIN), unique_email()
    assert post(owner, space_id, "invite", email=email, role=Role.OWNER) == 200
    assert post(admin, space_id, "invite", email=email.upper(), role=Role.VIEWER) == 403
    offers = accounts.run(lambda c: invitations.list_invitations(c, space_id))
    assert [(offer.email, offer.role) for offer in offers] == [(email, Role.OWNER)]
    assert post(owner, space_id, "invite", email=email, role=Role.VIEWER) == 200
    assert post(admin, space_id, "invite", email=email, role=Role.ADMIN) == 200


def test_the_page_offers_what_the_server_allows(person: Make, space_id: int) -> None:
    owner, admin, viewer = person(Role.OWNER), person(Role.ADMIN), person(Role.VIEWER)
    page = make_page(space_id)

    def offered_actions(visitor: Person) -> list[tuple[str, str]]:
        forms = Forms(visitor.browser.get(page).text).forms
        return [
            (form.action.rpartition("/")[2], dict(form.fields).get("member", ""))
            for form in forms if form.action.startswith(page)
        ]  # fmt: skip

    ids = [str(member.user.id) for member in (owner, admin, viewer)]
    assert offered_actions(viewer) == [("remove", ids[2])], "leaving is all"
    assert {member_id for name, member_id in offered_actions(admin) if name == "role"} == set(ids[1:])
    assert {member_id for name, member_id in offered_actions(owner) if name == "role"} == set(ids)
    assert ("invite", "") in offered_actions(admin)


def test_the_last_owner_stays(owner: Person, accounts: Accounts, space_id: int) -> None:
    page, own_member = make_page(space_id), {"member": str(owner.user.id)}
    for answer in (
        owner.browser.fill(page, f"{page}/remove", hidden_values=own_member),
        owner.browser.fill(page, f"{page}/role", hidden_values=own_member, role="viewer"),
    ):
        assert answer.status_code == 409
        assert "A Space needs an owner" in answer.text
    assert roles(accounts, space_id) == {owner.user.id: Role.OWNER}


def test_a_member_can_leave(person: Make, accounts: Accounts, space_id: int) -> None:
    person(Role.OWNER)
    viewer = person(Role.VIEWER)
    page = make_page(space_id)
    answer = viewer.browser.fill(page, f"{page}/remove", hidden_values={"member": str(viewer.user.id)})
    assert answer.url.path == "/console"
    assert "You have left the Space." in answer.text
    assert viewer.user.id not in roles(accounts, space_id)


def test_a_role_lost_counts_at_once(person: Make, accounts: Accounts, space_id: int) -> None:
    person(Role.OWNER)
    admin = person(Role.ADMIN)
    page = make_page(space_id)
    form = admin.browser.form(page, f"{page}/invite")
    accounts.run(partial(members.change_role, space_id=space_id, user_id=admin.user.id,
                         role=Role.VIEWER))  # fmt: skip
    assert admin.browser.send(form, email=unique_email()).status_code == 403
    accounts.run(partial(members.remove_member, space_id=space_id, user_id=admin.user.id))
    assert admin.browser.send(form, email=unique_email()).status_code == 404


def test_an_invitation_for_somebody_with_an_account(
    owner: Person, accounts: Accounts, space_id: int, new_browser: Callable[[], Browser]
) -> None:
    page = make_page(space_id)
    guest = accounts.user(name="Grace")
    answer = owner.browser.fill(page, f"{page}/invite", email=guest.email, role="viewer")
    link, browser = link_on(answer.text), new_browser()
    refusal = browser.fill(link, link, email=guest.email, password="another password")
    assert refusal.status_code == 409
    assert "There is an account with this e-mail address." in refusal.text
    assert browser.session() is None, "an invitation is no way into an account"
    login = browser.form(f"/login?next={link}", "/login")
    back = browser.send(login, email=guest.email, password=PASSWORD)
    assert back.url.path == link
    assert browser.fill(link, link).status_code == 200
    assert roles(accounts, space_id)[guest.id] is Role.VIEWER
    assert owner.browser.get(link).status_code == 404


def test_an_invitation_taken_back(owner: Person, space_id: int, browser: Browser) -> None:
    page = make_page(space_id)
    link = link_on(owner.browser.fill(page, f"{page}/invite", email=unique_email()).text)
    assert "The invitation is revoked" in owner.browser.fill(page, f"{page}/uninvite").text
    assert browser.get(link).status_code == 404


@pytest.mark.parametrize(
    ("values", "message"),
    [({"email": "ada"}, "must be a valid e-mail"), ({"role": "king"}, "must be one of")],
)
def test_what_cannot_be_invited(owner: Person, space_id: int, values: dict[str, str], message: str) -> None:
    page = make_page(space_id)
    form_values = {"email": unique_email(), **values}
    answer = owner.browser.fill(page, f"{page}/invite", **form_values)
    assert answer.status_code == 422
    assert message in answer.text
    assert form_values["email"] in answer.text


def test_a_refused_invitation_keeps_its_role(owner: Person, space_id: int) -> None:
    page = make_page(space_id)
    answer = owner.browser.fill(page, f"{page}/invite", email="", role="admin")
    assert answer.status_code == 422
    invitation = answer.text.partition(f'action="{page}/invite"')[2].partition("</form>")[0]
    assert re.findall(r'value="(\w+)" checked', invitation) == ["admin"]


@pytest.mark.parametrize("member", ["", "x", "-1", "9" * 30, "0"])
def test_no_such_member(owner: Person, space_id: int, member: str) -> None:
    page = make_page(space_id)
    form = owner.browser.form(page, f"{page}/remove")
    answer = owner.browser.send(form, member=member)
    assert answer.status_code == (404 if member == "0" else 422)


@pytest.mark.parametrize("revoke", [True, False])
def test_removal_offers_to_revoke_the_keys_they_made(
    owner: Person, person: Make, accounts: Accounts, space_id: int, revoke: bool
) -> None:
    admin = person(Role.ADMIN)
    keys_page = f"/console/spaces/{space_id}/keys"
    admin.browser.fill(keys_page, f"{keys_page}/create", name="Their shop")
    page = make_page(space_id)
    assert "Their shop (never used)" in owner.browser.get(page).text
    choice = {"revoke_keys": "yes"} if revoke else {}
    owner.browser.fill(page, f"{page}/remove", hidden_values={"member": str(admin.user.id)}, **choice)
    keys = [key for key in accounts.run(lambda c: list_keys(c, space_id)) if key.made_by]
    assert [key.revoked_at is not None for key in keys] == [revoke]
