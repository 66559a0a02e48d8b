"""GET /contacts: which contacts it includes, what a row contains, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from headwater.people.contacts.parameters import MAX_EMAILS
from tests.support.factories import NOON, Stage, make_stage
from tests.support.people import errors, ids, merge, person, rows
from tests.support.reading_fixtures import RANGE, Api


def test_it_works(api: Api, stage: Stage) -> None:
    ada = person(stage, "ada@example.com", name="Ada", phone="+44 1", location="London")
    anonymous = stage.contact()
    response = api.get("/contacts", params=RANGE)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "data": [
            {"id": anonymous, "email": None, "name": None, "phone": None, "location": None},
            {"id": ada, "email": "ada@example.com", "name": "Ada", "phone": "+44 1",
             "location": "London"},
        ],
        "path": "http://headwater.test/public-api/v1/contacts",
        "per_page": 200,
        "next_cursor": None,
        "next_page_url": None,
        "prev_cursor": None,
        "prev_page_url": None,
    }  # fmt: skip


def test_the_highest_id_comes_first_and_merged_contacts_are_no_rows(api: Api, stage: Stage) -> None:
    contact_ids = [stage.contact(created_at=NOON + timedelta(days=day)) for day in range(4)]
    merge(stage, contact_ids[2], contact_ids[0])
    assert ids(api, **RANGE) == [contact_ids[3], contact_ids[1], contact_ids[0]]


def test_dates_are_those_of_creation_on_the_space_s_clock(
    client: httpx.Client, connection: psycopg.Connection
) -> None:
    stage = make_stage(connection, "America/New_York")
    api = Api(client, stage.key)
    midnight = datetime(2026, 5, 13, 4, tzinfo=UTC)
    around = [
        stage.contact(created_at=midnight + timedelta(milliseconds=step))
        for step in (-1, 0, 86_399_999, 86_400_000)
    ]
    day = {"start_date": "2026-05-13 00:00:00", "end_date": "2026-05-13 23:59:59"}
    assert ids(api, **day) == [around[2], around[1]]


def test_email_matches_every_address_of_a_contact(api: Api, stage: Stage) -> None:
    ada = person(stage, "ada@example.com", "ada@work.example")
    old = person(stage, "old@example.com", "older@example.com")
    person(stage, "bob@example.com")
    merge(stage, old, ada)
    for email in ("ada@example.com", "ada@work.example", "old@example.com", "older@example.com"):
        assert rows(api, email=email) == [
            {"id": ada, "email": "ada@example.com", "name": None, "phone": None,
             "location": None}
        ]  # fmt: skip


def test_case_and_blanks_around_an_address_do_not_count(api: Api, stage: Stage) -> None:
    ada = person(stage, "ada@example.com")
    assert ids(api, email="  ADA@Example.COM ") == [ada]


def test_an_address_is_matched_exactly(api: Api, stage: Stage) -> None:
    person(stage, "ada@example.com")
    for email in ("ad_@example.com", "da@example.com", "ada@example.co", "a%@example.com"):
        assert ids(api, email=email) == []


def test_other_identifiers_are_no_addresses(api: Api, stage: Stage) -> None:
    stage.identifier(stage.contact(), "tracking_id", "ada@example.com")
    assert ids(api, email="ada@example.com") == []


def test_all_contacts_that_share_an_address_are_listed(api: Api, stage: Stage) -> None:
    contact_ids = [person(stage, f"{n}@example.com", "info@example.com") for n in range(3)]
    assert ids(api, email="info@example.com") == contact_ids[::-1]


@pytest.mark.parametrize(
    "query",
    [
        "email=a@example.com,b@example.com",
        "email=%20A@example.com%20,%20b@example.com,",
        "email=a@example.com&email=b@example.com",
        "email[]=a@example.com&email[]=b@example.com",
        "email%5B%5D=a%40example.com&email%5B%5D=b%40example.com",
        "email[0]=a@example.com&email[1]=b@example.com",
        "email[]=a@example.com,b@example.com&email[]=a@example.com&email[]=",
    ],
)
def test_every_form_of_a_list_of_addresses(api: Api, stage: Stage, query: str) -> None:
    a, b = person(stage, "a@example.com"), person(stage, "b@example.com")
    person(stage, "c@example.com")
    rows = api.get(f"/contacts?{query}").json()["data"]
    assert [row["id"] for row in rows] == [b, a]


def test_a_contact_with_several_of_the_addresses_is_one_row(api: Api, stage: Stage) -> None:
    ada = person(stage, "a@example.com", "b@example.com")
    assert ids(api, email="a@example.com,b@example.com,a@example.com") == [ada]


def test_an_odd_address_is_found_as_it_is_stored(api: Api, stage: Stage) -> None:
    for email in ('"a,b"@example.com', "a+b@example.com", "a/b'c@example.com", "ü@exämple.com"):
        contact_id = person(stage, email)
        assert ids(api, email=email) == [contact_id]
    assert len(ids(api, email='"a,b"@example.com,a+b@example.com')) == 2


def test_nothing_found_is_an_empty_page(api: Api) -> None:
    response = api.get("/contacts", params={"email": "nobody@example.com"})
    assert response.status_code == 200
    assert response.json()["data"] == []
    assert response.json()["next_cursor"] is response.json()["prev_cursor"] is None


def test_addresses_dates_and_filters_must_all_hold(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_1")
    late = NOON + timedelta(days=300)
    gold = person(stage, "a@example.com", profile_field_1="gold")
    plain = person(stage, "a@example.com")
    other_contact = person(stage, "b@example.com", profile_field_1="gold")
    future = person(stage, "a@example.com", profile_field_1="gold", created_at=late)
    is_gold = {
        "custom_field_filters[0][field]": "profile_field_1",
        "custom_field_filters[0][operator]": "equal_to",
        "custom_field_filters[0][value]": "gold",
    }
    assert ids(api, email="a@example.com") == [future, plain, gold]
    assert ids(api, email="a@example.com", **RANGE) == [plain, gold]
    assert ids(api, email="a@example.com", **is_gold) == [future, gold]
    assert ids(api, **RANGE, **is_gold) == [other_contact, gold]
    assert ids(api, email="a@example.com", **RANGE, **is_gold) == [gold]


def test_at_most_a_hundred_addresses(api: Api, stage: Stage) -> None:
    ada = person(stage, "0@example.com")
    addresses = [f"{n}@example.com" for n in range(MAX_EMAILS)]
    assert MAX_EMAILS == 100
    assert ids(api, email=",".join(addresses)) == [ada]
    assert ids(api, **{"email[]": addresses}) == [ada]
    too_many = "must not have more than 100 addresses."
    assert errors(api, email=",".join([*addresses, "x@example.com"])) == {"email": [f"The email {too_many}"]}
    assert list(errors(api, **{"email[]": [*addresses[:60], ",".join(addresses[:41])]})) == ["email"]


@pytest.mark.parametrize(
    "email", ["ada", "ada@", "@example.com", "a b@example.com", ",", "a@example.com,nobody"]
)
def test_a_malformed_address_is_refused(api: Api, email: str) -> None:
    for form in ("email", "email[]"):
        assert list(errors(api, **{form: email})) == ["email"]


def test_an_object_is_no_address(api: Api) -> None:
    assert list(errors(api, **{"email[a][b]": "a@example.com"}, **RANGE)) == ["email"]


def test_both_dates_are_required_without_an_address(api: Api) -> None:
    assert errors(api) == {
        "start_date": ["The start_date is required unless email is given."],
        "end_date": ["The end_date is required unless email is given."],
    }


@pytest.mark.parametrize("email", [{}, {"email": "ada@example.com"}])
@pytest.mark.parametrize(
    ("date_parameter", "missing"), [("start_date", "end_date"), ("end_date", "start_date")]
)
def test_one_date_alone_is_refused(
    api: Api, email: dict[str, str], date_parameter: str, missing: str
) -> None:
    assert errors(api, **email, **{date_parameter: RANGE[date_parameter]}) == {
        missing: [f"The {missing} is required with {date_parameter}."]
    }


@pytest.mark.parametrize("end_date", ["2026-01-01 00:00:00", "2025-12-31 23:59:59"])
def test_the_end_is_later_than_the_start(api: Api, end_date: str) -> None:
    assert errors(api, start_date="2026-01-01 00:00:00", end_date=end_date) == {
        "end_date": ["The end_date must be after start_date."]
    }


@pytest.mark.parametrize("text", ["2026-01-01", "2026-02-30 00:00:00", "01/02/2026", "٢"])
def test_other_forms_of_dates_are_refused(api: Api, text: str) -> None:
    assert list(errors(api, **{**RANGE, "start_date": text})) == ["start_date"]


@pytest.mark.parametrize("per_page", ["0", "5001", "-1", "ten", "1.5"])
def test_a_page_has_1_to_5000_rows(api: Api, per_page: str) -> None:
    assert list(errors(api, **RANGE, per_page=per_page)) == ["per_page"]
    assert api.get("/contacts", params={**RANGE, "per_page": 5000}).json()["per_page"] == 5000


def test_filters_are_those_of_events(api: Api, stage: Stage) -> None:
    condition = {
        "custom_field_filters[0][field]": "profile_field_16",
        "custom_field_filters[0][operator]": "greater_than",
        "custom_field_filters[0][value]": "10",
    }
    assert list(errors(api, **RANGE, **condition)) == ["custom_field_filters.0.field"]
    stage.label_field("profile_field_16")
    contact_ids = [stage.contact(profile_field_16=value) for value in (5, 10, 11, None)]
    assert ids(api, **RANGE, **condition) == [contact_ids[2]]
    eleven = {f"custom_field_filters[{n}][{k.split('[')[2]}": v
              for n in range(11) for k, v in condition.items()}  # fmt: skip
    assert list(errors(api, **RANGE, **eleven)) == ["custom_field_filters"]


def test_every_broken_rule_is_told(api: Api) -> None:
    messages = errors(api, email="x", start_date="x", per_page=0, include_trk_tokens=2, cursor="x")
    assert set(messages) == {
        "email", "start_date", "end_date", "per_page", "include_trk_tokens", "cursor",
    }  # fmt: skip


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("contacts:write", "events:read"))
    response = Api(client, writer.key).get("/contacts", params=RANGE)
    assert response.status_code == 403
    assert "contacts:read" in response.json()["message"]
    assert Api(client, "trk_sk_unknown").get("/contacts", params=RANGE).status_code == 401


def test_another_space_s_contacts_are_not_found(
    api: Api, stage: Stage, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    person(other_stage, "ada@example.com")
    own_contact = person(stage, "ada@example.com")
    assert ids(api, **RANGE) == ids(api, email="ada@example.com") == [own_contact]


@pytest.mark.parametrize("blank", ["email=", "email[]=", "email=%20", "email[]=&email[]="])
def test_a_blank_address_is_refused(api: Api, blank: str) -> None:
    """A caller with an empty variable should not get all contacts."""
    dates = "start_date=2026-01-01%2000:00:00&end_date=2026-12-31%2000:00:00"
    response = api.get(f"/contacts?{blank}&{dates}")
    assert response.status_code == 422
    assert response.json()["errors"] == {"email": ["The email must not be blank."]}


@pytest.mark.parametrize("path", ["/contacts?email=a@b.org", "/companies?per_page=5", "/events?"])
@pytest.mark.parametrize("blank", ["cursor=", "cursor=%20"])
def test_a_blank_cursor_is_refused(api: Api, path: str, blank: str) -> None:
    dates = "start_date=2026-01-01%2000:00:00&end_date=2026-12-31%2000:00:00"
    response = api.get(f"{path}&{dates}&{blank}")
    assert response.status_code == 422
    rule = "The cursor must not be blank; leave it out for the first page."
    assert response.json()["errors"] == {"cursor": [rule]}
