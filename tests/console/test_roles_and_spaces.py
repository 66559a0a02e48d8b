"""Every page and every action in a Space as each role, as a stranger, and with another Space's id.
The routes come from the console itself: one that is in no table here fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest

from headwater.accounts.roles import Permission, Role
from headwater.console.forms import TOKEN, form_token, once_token
from headwater.console.routes import PAGES
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.factories import Stage

IN_SPACE = "/console/spaces/{space_id}"
ONCE = "once"
# Of each action, the form that it reads, whether that is good once, and the permission it needs.
ACTIONS: dict[str, tuple[str, str, Permission]] = {
    "/contacts/{contact_id}/erase": ("erase contact", "", Permission.WRITE_DATA),
    "/contacts/{contact_id}/unmerge": ("unmerge contact", "", Permission.WRITE_DATA),
    "/keys/create": ("create key", ONCE, Permission.MANAGE_KEYS),
    "/keys/revoke": ("revoke key", "", Permission.MANAGE_KEYS),
    "/mcp/create": ("create token", ONCE, Permission.MAKE_TOKENS),
    "/mcp/revoke": ("revoke token", "", Permission.READ),
    "/members/invite": ("invite", "", Permission.MANAGE_MEMBERS),
    "/members/role": ("role", "", Permission.MANAGE_MEMBERS),
    "/members/remove": ("remove", "", Permission.READ),
    "/members/uninvite": ("uninvite", "", Permission.MANAGE_MEMBERS),
    "/settings": ("settings", "", Permission.CHANGE_SETTINGS),
    "/views/save": ("save view", "", Permission.READ),
    "/views/remove": ("remove view", "", Permission.READ),
    "/data-quality/resume": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/replay": ("data-quality", "", Permission.WRITE_DATA),
    "/data-quality/name": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/unname": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/own": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/exclude": ("data-quality", "", Permission.CHANGE_SETTINGS),
}
ENDS = sorted(
    (route.path.removeprefix(IN_SPACE), method)
    for route in PAGES
    if route.path.startswith(IN_SPACE)
    for method in (route.methods or set()) - {"HEAD"}
)
READ = [end for end, method in ENDS if method == "GET"]
POSTED = [end for end, method in ENDS if method == "POST"]


@pytest.fixture
def filled(connection: psycopg.Connection, space_id: int) -> Callable[[str], str]:
    """Fills the ids of things of the Space into the end of an address."""
    stage = Stage(connection, space_id, "")
    contact, company = stage.contact(), stage.company()
    ids = {"contact_id": contact, "company_id": company, "event_id": stage.event(contact)}
    return lambda end: re.sub(r"{(\w+)}", lambda name: str(ids[name[1]]), end)


def test_it_works() -> None:
    assert set(ACTIONS) == set(POSTED)
    assert {"", "/models", "/keys", "/members", "/settings", "/mcp"} <= set(READ)


@pytest.mark.parametrize("end", READ)
@pytest.mark.parametrize("role", list(Role))
def test_everybody_in_a_space_sees_everything(
    person: Callable[..., Person], filled: Callable[[str], str], space_id: int, role: Role, end: str
) -> None:
    person(Role.OWNER)
    answer = person(role).browser.get(f"/console/spaces/{space_id}{filled(end)}")
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("end", READ)
def test_nobody_else_sees_anything(
    person: Callable[..., Person], make_space: Callable[..., int],
    filled: Callable[[str], str], space_id: int, end: str,
) -> None:  # fmt: skip
    """A stranger's own Space has none of it, either: not even with the ids of this one."""
    elsewhere = make_space(name="Elsewhere")
    stranger = person(Role.OWNER, elsewhere)
    theirs = stranger.browser.get(f"/console/spaces/{space_id}{filled(end)}")
    nobodys = stranger.browser.get(f"/console/spaces/999999999{filled(end)}")
    assert (theirs.status_code, nobodys.status_code) == (404, 404)
    assert theirs.text == nobodys.text
    if "{" in end.replace("{space_id}", ""):
        own = stranger.browser.get(f"/console/spaces/{elsewhere}{filled(end)}")
        assert own.status_code == 404


@pytest.mark.parametrize("end", READ)
def test_guests_are_led_to_the_login(
    browser: Browser, filled: Callable[[str], str], space_id: int, end: str
) -> None:
    answer = browser.get(f"/console/spaces/{space_id}{filled(end)}", follow=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=")


def send(person: Person, space_id: int, end: str, action: str) -> int:
    """Send an action's form with a good token and nothing in it."""
    form, once, _ = ACTIONS[end]
    make = once_token if once else form_token
    data = {TOKEN: make(person.form_key, form)}
    return person.browser.client.post(f"/console/spaces/{space_id}{action}", data=data).status_code


@pytest.mark.parametrize("end", POSTED)
def test_actions(
    person: Callable[..., Person], make_space: Callable[..., int],
    filled: Callable[[str], str], space_id: int, end: str,
) -> None:  # fmt: skip
    """A role that may not is refused, a stranger learns nothing, a form without token does
    nothing.
    """
    permission = ACTIONS[end][2]
    person(Role.OWNER)
    for role in Role:
        member = person(role)
        status = send(member, space_id, end, filled(end))
        if role.may(permission):
            assert status not in {401, 404, 500}, (role, status)
        else:
            assert status == 403, (role, status)
        naked = member.browser.client.post(f"/console/spaces/{space_id}{filled(end)}")
        assert naked.status_code in {403, 415}
    stranger = person(Role.OWNER, make_space(name="Elsewhere"))
    assert send(stranger, space_id, end, filled(end)) == 404
    assert send(stranger, 999_999_999, end, filled(end)) == 404
