"""The consent page: its text, who may answer, and that only one answer counts."""

from __future__ import annotations

import httpx
import pytest

from headwater.spaces.accounts.members import add_member, change_role
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.tokens import MAX_OF_A_VIEWER
from tests.oauth.pages import read_form_to, read_text
from tests.oauth.staging import AUTHORIZE, LOOPBACK, Assistant, Installation, Person, make_query


def check_denial(installation: Installation, answer: httpx.Response) -> None:
    assert answer.status_code == 303, answer.text
    parameters = make_query(answer.headers["location"])
    description = parameters.pop("error_description")
    assert description
    assert parameters == {"error": "access_denied", "state": "st", "iss": installation.base_url}


def codes(installation: Installation, space_id: int) -> int:
    row = installation.connection.execute(
        "SELECT count(*) FROM oauth_codes WHERE space_id = %s", (space_id,)
    ).fetchone()
    assert row is not None
    return row[0]


def test_it_works(installation: Installation, space_id: int) -> None:
    installation.connection.execute("UPDATE spaces SET name = 'Acme' WHERE id = %s", (space_id,))
    person = installation.person(space_id)
    assistant = installation.assistant(name="A <b>bold</b> one")
    page = person.open_authorization(assistant.request())
    text = read_text(page.text)
    for words in (
        "A <b>bold</b> one", "registered itself", "its name is not verified", "127.0.0.1", "this device",
        person.user.email, "Acme", "Any program on your device", "see the reports",
        "erase a contact's personal data",
    ):  # fmt: skip
        assert words in text
    assert "<b>bold" not in page.text
    check_denial(installation, person.submit(page, AUTHORIZE, decision="deny"))
    assert codes(installation, space_id) == 0


def test_reading_only_is_offered_to_who_may_change(
    installation: Installation, assistant: Assistant, space_id: int
) -> None:
    writes, choice = "record, change and delete events", 'name="read_only"'
    for role, scope, may_choose, may_write in (
        (Role.OWNER, "mcp:use", True, True),
        (Role.OWNER, "mcp:read", False, False),
        (Role.VIEWER, "mcp:use", False, False),
    ):
        text = (
            installation.person(space_id, role=role).open_authorization(assistant.request(scope=scope)).text
        )
        assert ((choice in text), (writes in text)) == (may_choose, may_write), (role, scope)
        assert "see the reports" in text


def test_the_page_keeps_to_itself(person: Person, assistant: Assistant) -> None:
    headers = person.open_authorization(assistant.request()).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:33418;" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_names_that_mislead_are_shown_plainly(installation: Installation, person: Person) -> None:
    assistant = installation.assistant(name="Nice\u202eelgooG\u2066\u200b")
    page = person.open_authorization(assistant.request())
    assert "NiceelgooG" in read_text(page.text)
    assert not set("\u202e\u2066\u200b") & set(page.text)
    token = installation.token(person, assistant)
    row = installation.connection.execute(
        "SELECT name FROM mcp_tokens WHERE hint = %s AND user_id = %s", (token[-4:], person.user.id)
    ).fetchone()
    assert row == ("NiceelgooG",)


@pytest.mark.parametrize(
    ("uri", "host", "loopback_only"),
    [
        ("http://localhost/cb", "localhost", True), ("http://[::1]/cb", "[::1]", True),
        ("https://claude.ai/cb", "claude.ai", False), ("cursor://x/cb", "cursor:", False),
    ],
)  # fmt: skip
def test_where_the_answer_goes(
    installation: Installation, person: Person, uri: str, host: str, *, loopback_only: bool
) -> None:
    text = read_text(person.open_authorization(installation.assistant(uri).request()).text)
    assert f"Your answer goes to {host}" in text
    assert ("Any program on your device" in text) == loopback_only


def test_a_viewer_lets_an_assistant_only_look(installation: Installation, space_id: int) -> None:
    person = installation.person(space_id, role=Role.VIEWER)
    assistant = installation.assistant()
    text = read_text(person.open_authorization(assistant.request()).text)
    assert "see the reports" in text
    assert "change" not in text.partition("will be able to")[2].partition("It acts")[0]
    assert installation.knock(space_id, installation.token(person, assistant)).status_code == 200


def test_roles_that_allow_the_same_are_told_together(
    installation: Installation, assistant: Assistant
) -> None:
    person = installation.person(installation.make_space(name="A"))
    roles = (("B", Role.ADMIN), ("C", Role.VIEWER), ("D", Role.OWNER))
    for name, role in roles:
        installation.connection.execute(
            "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, %s)",
            (installation.make_space(name=name), person.user.id, role),
        )
    text = read_text(person.open_authorization(assistant.request()).text)
    assert "Where you are owner or admin, it will be able to" in text
    assert "Where you are viewer, it will be able to" in text


def test_a_person_chooses_among_their_own_spaces(installation: Installation, assistant: Assistant) -> None:
    own_space, second_space, closed_space, full_space, foreign_space = (
        installation.make_space() for _ in range(5)
    )
    installation.connection.execute(
        "UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (closed_space,)
    )
    person = installation.person(own_space, second_space, closed_space, full_space)
    installation.fill(full_space, person)
    page = person.open_authorization(assistant.request())
    form = read_form_to(page.text, AUTHORIZE)
    assert sorted(form.options["space_id"]) == sorted(map(str, (own_space, second_space)))
    assert f'href="/console/spaces/{full_space}/mcp"' in page.text
    assert "all 25 tokens are in use" in read_text(page.text)
    assert "its subscription is inactive" in read_text(page.text)
    for space_id in (foreign_space, closed_space, full_space, 987_654, "x", ""):
        answer = person.answer(assistant.request(), space_id=str(space_id))
        assert answer.status_code == 422
        assert "Choose a Space." in read_text(answer.text)
    assert person.answer(assistant.request()).status_code == 422
    answer = person.answer(assistant.request(), space_id=str(second_space))
    code = make_query(answer.headers["location"])["code"]
    token = installation.exchange(assistant, code).json()["access_token"]
    assert installation.knock(second_space, token).status_code == 200
    assert [codes(installation, space) for space in (own_space, closed_space, full_space, foreign_space)] == [
        0
    ] * 4


def test_a_resource_names_the_space(installation: Installation, assistant: Assistant) -> None:
    first_space, second_space = installation.make_space(), installation.make_space()
    person = installation.person(first_space, second_space)
    resource = f"{installation.base_url}/mcp/{first_space}/public-api"
    form = person.form(assistant.request(resource=resource))
    assert (form.fields["space_id"], "space_id" in form.options) == (str(first_space), False)
    answer = person.answer(assistant.request(resource=resource), space_id=str(second_space))
    assert answer.status_code == 422
    assert codes(installation, second_space) == 0


def test_of_a_space_that_is_not_theirs_nothing_is_told(
    installation: Installation, person: Person, assistant: Assistant
) -> None:
    foreign = installation.make_space(name="Secret")
    texts: list[str] = []
    for number in (foreign, 987_654_321):
        resource = f"{installation.base_url}/mcp/{number}/public-api"
        page = person.open_authorization(assistant.request(resource=resource))
        assert page.status_code == 200
        form = read_form_to(page.text, AUTHORIZE)
        assert form.options["decision"] == ["deny", "switch"]
        texts.append(read_text(page.text))
        answer = person.submit(page, AUTHORIZE, decision="approve", space_id=str(number))
        assert answer.status_code == 422
        check_denial(installation, person.submit(page, AUTHORIZE, decision="deny"))
    assert texts[0] == texts[1]
    assert "you are not a member of" in texts[0]
    assert "Secret" not in texts[0]


@pytest.mark.parametrize("message", ["full", "inactive", "no Space", "several"])
def test_when_there_is_nothing_to_choose(
    installation: Installation, assistant: Assistant, space_id: int, message: str
) -> None:
    spaces = {"no Space": (), "several": (space_id, installation.make_space())}.get(message, (space_id,))
    person = installation.person(*spaces)
    if message == "full":
        installation.fill(space_id, person)
    if message in ("inactive", "several"):
        installation.connection.execute(
            "UPDATE spaces SET subscription = 'inactive' WHERE id = ANY(%s)", (list(spaces),)
        )
    page = person.open_authorization(assistant.request())
    words = {
        "full": "25 tokens",
        "inactive": "subscription is inactive",
        "no Space": "not a member of any Space",
        "several": "None of your Spaces can connect an assistant now.",
    }
    assert words[message] in read_text(page.text)
    assert (f'href="/console/spaces/{space_id}/mcp"' in page.text) == (message == "full")
    assert "approve" not in read_form_to(page.text, AUTHORIZE).options["decision"]
    answer = person.submit(page, AUTHORIZE, decision="approve", space_id=str(space_id))
    assert (answer.status_code, codes(installation, space_id)) == (422, 0)


def test_a_viewer_with_all_their_tokens_is_told_before_agreeing(
    installation: Installation, assistant: Assistant, space_id: int
) -> None:
    """The exchange would refuse the code, which only the assistant would see."""
    other_space = installation.make_space()
    person = installation.person(space_id, role=Role.VIEWER)
    installation.fill(space_id, person, leaving=25 - MAX_OF_A_VIEWER)
    page = person.open_authorization(assistant.request())
    assert "approve" not in read_form_to(page.text, AUTHORIZE).options["decision"]
    assert f'href="/console/spaces/{space_id}/mcp"' in page.text
    installation.accounts.run(lambda c: add_member(c, other_space, person.user.id, Role.VIEWER))
    form = person.form(assistant.request())
    assert form.options["space_id"] == [str(other_space)]
    answer = person.answer(assistant.request(), space_id=str(space_id))
    assert (answer.status_code, codes(installation, space_id)) == (422, 0)
    installation.accounts.run(lambda c: change_role(c, space_id, person.user.id, Role.ADMIN))
    assert len(person.form(assistant.request()).options["space_id"]) == 2


def test_an_answer_is_for_one_redirect_address(installation: Installation, person: Person) -> None:
    answer = installation.register(redirect_uris=[LOOPBACK, "https://claude.ai/api/mcp/auth_callback"])
    assistant = Assistant(answer.json()["client_id"])
    form = person.form(assistant.request())
    other_request = assistant.request(redirect_uri="https://claude.ai/api/mcp/auth_callback")
    submission = person.browser.post(
        AUTHORIZE, params=other_request, data=form.fields | {"decision": "approve"}
    )
    assert submission.status_code == 403
