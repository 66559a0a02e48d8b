"""GET /contacts/by-email/{email} and GET /contacts/by-email?email=."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.factories import Stage
from tests.support.people import merge, person
from tests.support.reading_fixtures import Api

FORMS = ["/contacts/by-email/{}", "/contacts/by-email?email={}"]
both_forms = pytest.mark.parametrize("form", FORMS, ids=["path", "query"])


def find(api: Api, form: str, email: str) -> httpx.Response:
    return api.get(form.format(quote(email, safe="")))


def errors(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 422, response.text
    return response.json()["errors"]


@both_forms
def test_it_works(api: Api, stage: Stage, form: str) -> None:
    ada = person(stage, "ada@example.com", "ada@work.example", profile_field_1="gold")
    person(stage, "bob@example.com")
    response = find(api, form, "ada@example.com")
    assert response.status_code == 200
    assert response.content == api.get(f"/contacts/{ada}").content
    assert response.json()["emails"] == ["ada@example.com", "ada@work.example"]


@pytest.mark.parametrize(
    "path",
    [
        "/contacts/by-email/ada@example.com",
        "/contacts/by-email/ada%40example.com",
        "/contacts/by-email/%20ADA%40Example.com",
        "/contacts/by-email?email=ada@example.com",
        "/contacts/by-email?email=ada%40example.com",
        "/contacts/by-email?email=%20ADA@Example.com+",
        "/contacts/by-email/?email=ada@example.com",
        "/contacts/by-email/ada@example.com?email=",
    ],
)
def test_the_forms_of_an_address(api: Api, stage: Stage, path: str) -> None:
    ada = person(stage, "ada@example.com")
    assert api.get(path).json()["id"] == ada


@both_forms
@pytest.mark.parametrize(
    "email",
    ["a/b@example.com", "a+b@example.com", "a%40b@example.com", "company@example.com",
     "pii@x.example", "a?b#c@example.com", '"a b,c"@example.com', "a&b=c@example.com",
     "ü@exämple.com"],
)  # fmt: skip
def test_odd_addresses(api: Api, stage: Stage, form: str, email: str) -> None:
    contact_id = person(stage, email)
    assert find(api, form, email).json()["id"] == contact_id


@both_forms
def test_it_matches_every_address_of_a_contact(api: Api, stage: Stage, form: str) -> None:
    ada = person(stage, "ada@example.com", "ada@work.example")
    old = person(stage, "old@example.com", "ada@example.com")
    merge(stage, old, ada)
    for email in ("ada@example.com", "ada@work.example", "old@example.com"):
        assert find(api, form, email).json()["id"] == ada


@both_forms
def test_an_unknown_address_is_404(api: Api, form: str) -> None:
    response = find(api, form, "nobody@example.com")
    assert response.status_code == 404
    assert response.json() == {"message": "Contact not found."}


@both_forms
def test_an_address_of_several_contacts_is_409(api: Api, stage: Stage, form: str) -> None:
    contact_ids = [person(stage, f"{n}@example.com", "info@example.com") for n in range(3)]
    merge(stage, contact_ids[2], contact_ids[0])
    response = find(api, form, "info@example.com")
    assert response.status_code == 409
    assert response.json() == {
        "message": "Several contacts have this e-mail address.",
        "contact_ids": [contact_ids[0], contact_ids[1]],
    }


@both_forms
@pytest.mark.parametrize(
    "email", ["ada", "@example.com", "a b@example.com", "a@example.com,b@example.com", "a@b\0.com",
              "a@example\n.com", "\n", "a@example.com/"]
)  # fmt: skip
def test_a_malformed_address_is_refused(api: Api, form: str, email: str) -> None:
    assert list(errors(find(api, form, email))) == ["email"]


@pytest.mark.parametrize(
    "path",
    ["/contacts/by-email", "/contacts/by-email?email=", "/contacts/by-email/",
     "/contacts/by-email/%20", "/contacts/by-email?email=%20"],
)  # fmt: skip
def test_a_missing_address_is_refused(api: Api, path: str) -> None:
    assert errors(api.get(path)) == {"email": ["The email is required."]}


def test_both_forms_at_once_are_refused(api: Api, stage: Stage) -> None:
    person(stage, "ada@example.com")
    rule = "must be given in the path or in the query, not in both."
    for name in ("email", "email[]"):
        response = api.get("/contacts/by-email/ada@example.com", params={name: "ada@example.com"})
        assert errors(response) == {"email": [f"The email {rule}"]}


@pytest.mark.parametrize("query", ["email=a@x.example&email=b@x.example", "email[]=a@x.example"])
def test_several_addresses_are_refused(api: Api, query: str) -> None:
    messages = errors(api.get(f"/contacts/by-email?{query}"))
    assert messages == {"email": ["The email must be a single value."]}


def test_every_broken_rule_is_told(api: Api) -> None:
    response = api.get("/contacts/by-email/ada?include_events=yes")
    assert set(errors(response)) == {"email", "include_events"}


@both_forms
def test_it_takes_the_options_of_get_contact(api: Api, stage: Stage, form: str) -> None:
    stage.label_field("profile_field_1", "Plan")
    ada = person(stage, "ada@example.com", profile_field_1="gold")
    stage.identifier(ada, "trk_token", "t")
    stage.touchpoint(ada, "direct")
    stage.hit(ada, stage.visit(ada))
    options = {
        "include_trk_tokens": 1, "include_events": 1, "hide_direct_touchpoints": 0,
        "use_custom_field_labels": 1, "include_browsing_session_data": 1,
    }  # fmt: skip
    url = httpx.URL(form.format("ada@example.com")).copy_merge_params(options)
    contact = api.get(str(url)).json()
    assert contact == api.get(f"/contacts/{ada}", params=options).json()
    assert contact["custom_fields"] == {"Plan": "gold"}
    assert contact["trk_tokens"] == ["t"]
    assert (len(contact["events"]), len(contact["browsing_session_hits"])) == (1, 1)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_it_is_not_taken_for_an_id(api: Api, method: str) -> None:
    response = api.send(method, "/contacts/by-email")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"
