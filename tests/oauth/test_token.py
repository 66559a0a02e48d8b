"""POST /mcp/oauth/token: exchange a code and its verifier for a token, once."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spaces.accounts.authorization_codes import AuthorizationGrant
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.tokens import find_token, list_tokens
from tests.oauth.staging import LOOPBACK, TOKEN, Assistant, Installation, Person, make_challenge


@pytest.fixture
def code(installation: Installation, person: Person, assistant: Assistant) -> str:
    """An authorization code for `assistant`."""
    return installation.code(person, assistant)


NEVER = datetime.max.replace(tzinfo=UTC)


def check_refusal(answer: httpx.Response, error: str, status: int = 400) -> str:
    assert (answer.status_code, answer.json()["error"]) == (status, error), answer.text
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()["error_description"]


def test_it_works(installation: Installation, assistant: Assistant, code: str, space_id: int) -> None:
    answer = installation.exchange(assistant, code)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    token = body.pop("access_token")
    assert body == {"token_type": "Bearer", "expires_in": 31_536_000, "scope": "mcp:use"}
    assert token.startswith("trk_mcp_")
    assert len(token) == len("trk_mcp_") + 43
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert installation.knock(space_id, token).status_code == 200


@pytest.mark.parametrize(("scope", "fields"), [("mcp:read", {}), ("mcp:use", {"read_only": "yes"})])
def test_a_token_that_reads_only(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    scope: str, fields: dict[str, str],
) -> None:  # fmt: skip
    """Either the assistant requested only this or the person chose it, although the person is an owner."""
    answer = person.answer(assistant.request(scope=scope), **fields)
    code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
    body = installation.exchange(assistant, code).json()
    assert body["scope"] == "mcp:read"
    bearer = installation.accounts.run(lambda c: find_token(c, body["access_token"]))
    assert bearer is not None
    assert (bearer.user_id, bearer.role) == (person.user.id, Role.VIEWER)
    (listed_token,) = installation.accounts.run(lambda c: list_tokens(c, space_id))
    assert listed_token.read_only
    full = installation.token(person, assistant)
    bearer = installation.accounts.run(lambda c: find_token(c, full))
    assert bearer is not None
    assert bearer.role is Role.OWNER


def test_the_token_opens_its_space_alone(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    other_space = installation.make_space()
    token = installation.token(person, assistant)
    assert installation.knock(other_space, token).status_code == 403
    assert installation.knock(other_space + 10_000, token).status_code == 403
    assert installation.knock(space_id, token).status_code == 200
    api = installation.http.get("/public-api/v1/contacts", headers={"Authorization": f"Bearer {token}"})
    assert api.status_code == 401


def test_it_ends_with_the_membership(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    token = installation.token(person, assistant)
    installation.connection.execute(
        "DELETE FROM memberships WHERE space_id = %s AND user_id = %s", (space_id, person.user.id)
    )
    assert installation.knock(space_id, token).status_code == 401


def test_a_code_works_once(
    installation: Installation, assistant: Assistant, code: str, space_id: int
) -> None:
    token = installation.exchange(assistant, code).json()["access_token"]
    check_refusal(installation.exchange(assistant, code), "invalid_grant")
    assert installation.knock(space_id, token).status_code == 401


def test_a_removed_member_gets_no_token(
    installation: Installation, person: Person, assistant: Assistant, code: str, space_id: int
) -> None:
    installation.connection.execute(
        "DELETE FROM memberships WHERE space_id = %s AND user_id = %s", (space_id, person.user.id)
    )
    description = check_refusal(installation.exchange(assistant, code), "invalid_grant")
    assert description == "The user is no longer a member of the Space."


def test_a_code_lives_a_minute(
    installation: Installation, assistant: Assistant, code: str, space_id: int
) -> None:
    row = installation.connection.execute(
        "SELECT extract(epoch FROM expires_at - created_at)::int FROM oauth_codes"
        " WHERE space_id = %s", (space_id,)
    ).fetchone()  # fmt: skip
    assert row == (60,)
    installation.connection.execute(
        "UPDATE oauth_codes SET expires_at = now() - interval '1 second' WHERE space_id = %s", (space_id,)
    )
    assert check_refusal(installation.exchange(assistant, code), "invalid_grant") == ("The code has expired.")


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "a" * 43},
        {"redirect_uri": LOOPBACK + "/"},
        {"redirect_uri": LOOPBACK.replace("33418", "33419")},
        {"redirect_uri": LOOPBACK.replace("127.0.0.1", "localhost")},
        {"code_verifier": "a" * 42},
        {"code_verifier": "a" * 129},
        {"code_verifier": "a" * 42 + "!"},
        {"code_verifier": "a" * 42 + "ä"},
    ],
)
def test_what_does_not_fit_uses_the_code_up(
    installation: Installation, assistant: Assistant, code: str, changes: dict[str, str]
) -> None:
    check_refusal(installation.exchange(assistant, code, **changes), "invalid_grant")
    assert check_refusal(installation.exchange(assistant, code), "invalid_grant") == (
        "The code is unknown, or was used before."
    )


def test_another_client_gets_nothing(installation: Installation, assistant: Assistant, code: str) -> None:
    other_assistant = installation.assistant()
    description = check_refusal(
        installation.exchange(assistant, code, client_id=other_assistant.id), "invalid_grant"
    )
    assert description == "The code was given to another client."
    check_refusal(installation.exchange(assistant, code), "invalid_grant")


@pytest.mark.parametrize("client_id", ["trk_client_unknown", "x", "https:", "trk_client_" + "x" * 500])
def test_an_unknown_client(
    installation: Installation, assistant: Assistant, code: str, client_id: str
) -> None:
    check_refusal(installation.exchange(assistant, code, client_id=client_id), "invalid_client", 401)
    assert installation.exchange(assistant, code).status_code == 200


@pytest.mark.parametrize(
    "secret",
    [
        {"client_secret": "x"}, {"client_secret": ""}, {"client_assertion": "x"},
        {"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
    ],
)  # fmt: skip
def test_clients_have_no_secret(
    installation: Installation, assistant: Assistant, code: str, secret: dict[str, str]
) -> None:
    check_refusal(installation.exchange(assistant, code, **secret), "invalid_client", 401)


def test_nor_one_in_a_header(installation: Installation, assistant: Assistant, code: str) -> None:
    answer = installation.http.post(TOKEN, data=assistant.form(code), auth=(assistant.id, "x"))
    check_refusal(answer, "invalid_client", 401)
    assert answer.headers["www-authenticate"].startswith("Basic realm=")


@pytest.mark.parametrize(
    "grant", ["refresh_token", "password", "client_credentials", "implicit", "AUTHORIZATION_CODE",
              "urn:ietf:params:oauth:grant-type:device_code"],
)  # fmt: skip
def test_there_is_one_grant(installation: Installation, assistant: Assistant, grant: str) -> None:
    check_refusal(installation.exchange(assistant, "x", grant_type=grant), "unsupported_grant_type")


@pytest.mark.parametrize("name", ["grant_type", "client_id", "code", "redirect_uri", "code_verifier"])
@pytest.mark.parametrize("value", [None, ""])
def test_missing_parameters_are_refused(
    installation: Installation, assistant: Assistant, name: str, value: str | None
) -> None:
    description = check_refusal(installation.exchange(assistant, "x", **{name: value}), "invalid_request")
    assert description == f"{name} is required."


@pytest.mark.parametrize("name", ["code", "client_id", "grant_type", "anything", "resource"])
def test_nothing_is_given_twice(
    installation: Installation, assistant: Assistant, code: str, name: str
) -> None:
    form: dict[str, Any] = assistant.form(code)
    answer = installation.http.post(TOKEN, data=form | {name: [form.get(name, "x"), "x"]})
    check_refusal(answer, "invalid_target" if name == "resource" else "invalid_request")
    assert installation.exchange(assistant, code).status_code == 200


@pytest.mark.parametrize("name", ["code", "redirect_uri", "code_verifier"])
def test_long_parameters_are_refused(installation: Installation, assistant: Assistant, name: str) -> None:
    check_refusal(installation.exchange(assistant, "x", **{name: "x" * 5000}), "invalid_request")


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"grant_type":"authorization_code"}', "application/json", 400),
        (b"grant_type=authorization_code", "text/plain", 400),
        (b"grant_type=%ff", "application/x-www-form-urlencoded", 400),
        (b"grant_type=\xff", "application/x-www-form-urlencoded", 400),
        (b"grant_type=a%00", "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 400),
        (b"a=b&" * 60, "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
    ],
)
def test_other_bodies_are_refused(installation: Installation, content: bytes, kind: str, status: int) -> None:
    answer = installation.http.post(TOKEN, content=content, headers={"Content-Type": kind})
    check_refusal(answer, "invalid_request", status)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_only_post(installation: Installation, method: str) -> None:
    answer = installation.http.request(method, TOKEN)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "message" in answer.json()


def test_a_resource_must_be_the_granted_one(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    own_resource = f"{installation.base_url}/mcp/{space_id}/public-api"
    code = installation.code(person, assistant, resource=own_resource)
    assert installation.exchange(assistant, code, resource=own_resource).status_code == 200
    for other_resource in (
        f"{installation.base_url}/mcp/{space_id + 1}/public-api", "https://other.example/",
        own_resource + "#x", own_resource + "/", installation.base_url, own_resource.upper(),
    ):  # fmt: skip
        code = installation.code(person, assistant, resource=own_resource)
        check_refusal(installation.exchange(assistant, code, resource=other_resource), "invalid_target")
    code = installation.code(person, assistant)
    assert installation.exchange(assistant, code, resource=own_resource).status_code == 200


def test_one_of_many_at_once_gets_a_token(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    code = installation.code(person, assistant)
    answers = installation.run_together([lambda: installation.exchange(assistant, code)] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    (token,) = [answer.json()["access_token"] for answer in answers if answer.is_success]
    assert installation.knock(space_id, token).status_code == 401  # the other exchanges were replays


def test_no_more_than_a_space_may_have(
    installation: Installation, person: Person, assistant: Assistant, space_id: int
) -> None:
    """The codes are granted before the Space is full, and exchanged when it is."""
    installation.fill(space_id, person, leaving=2)
    codes = [installation.code(person, assistant) for _ in range(6)]
    answers = installation.run_together(
        [lambda code=code: installation.exchange(assistant, code) for code in codes]
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [400] * 4
    refusals = [answer.json() for answer in answers if answer.status_code == 400]
    assert {refusal["error"] for refusal in refusals} == {"invalid_grant"}
    assert "25 tokens" in refusals[0]["error_description"]
    row = installation.connection.execute(
        "SELECT count(*) FROM mcp_tokens WHERE space_id = %s", (space_id,)
    ).fetchone()
    assert row == (25,)


def test_ending_a_membership_and_using_its_code_do_not_wait_for_each_other(
    installation: Installation, person: Person, assistant: Assistant, space_id: int,
    database_url: str,
) -> None:  # fmt: skip
    """Removing a member locks the memberships first and then deletes the codes."""
    code = installation.code(person, assistant)
    with psycopg.connect(database_url) as removal:
        removal.execute("SELECT FROM memberships WHERE space_id = %s FOR UPDATE", (space_id,))

        def end() -> None:
            installation.wait_for_a_lock(removal)
            removal.execute("DELETE FROM memberships WHERE space_id = %s", (space_id,))
            removal.execute("UPDATE oauth_codes SET used_at = now() WHERE space_id = %s", (space_id,))
            removal.commit()

        answer, _ = installation.run_together([lambda: installation.exchange(assistant, code), end])
    assert check_refusal(answer, "invalid_grant") == "The code is unknown, or was used before."


def test_nothing_stored_can_be_used(installation: Installation, person: Person, assistant: Assistant) -> None:
    code = installation.code(person, assistant)
    token = installation.exchange(assistant, code).json()["access_token"]
    session = person.browser.cookies["headwater_session"]
    dump = installation.dump("oauth_codes", "mcp_tokens", "sessions", "oauth_clients")
    assert assistant.id in dump
    for secret in (code, token, session, assistant.verifier):
        assert secret not in dump
        assert secret.encode().hex() not in dump


@given(st.text(string.ascii_letters + string.digits + "-._~", min_size=43, max_size=128))
def test_any_verifier_of_the_standard_verifies_its_challenge(verifier: str) -> None:
    grant = AuthorizationGrant(1, 1, 1, "c", "n", "r", make_challenge(verifier), None, False, NEVER)
    assert grant.is_verified_by(verifier)
    assert not grant.is_verified_by(verifier[:-1] + ("a" if verifier[-1] != "a" else "b"))


@given(st.text(max_size=200))
def test_any_text_may_be_sent_as_a_verifier(verifier: str) -> None:
    grant = AuthorizationGrant(1, 1, 1, "c", "n", "r", make_challenge("x" * 43), None, False, NEVER)
    assert grant.is_verified_by(verifier) == (verifier == "x" * 43)
