"""The data about a contact that comes from page views and from identify calls."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.support.pipeline import Stage, event, hit, person

COLUMNS = ("country", "state", "city", "location", "device_type", "os", "browser", "language")
SEEN = {"country": "FR", "state": "Île-de-France", "city": "Paris", "device_type": "mobile",
        "os": "iOS", "browser": "Safari", "language": "fr-FR"}  # fmt: skip


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def make_hit(**values: Any) -> Any:
    return hit(trk_token="t1", **values)


def test_it_works(stage: Stage, client: httpx.Client) -> None:
    stage.run(make_hit(**SEEN))
    assert stage.rows("contacts", *COLUMNS) == [
        ("FR", "Île-de-France", "Paris", "Paris, Île-de-France, FR", "mobile", "iOS", "Safari",
         "fr-FR"),
    ]  # fmt: skip
    [contact] = stage.values("contacts", "id")
    answer = client.get(f"/contacts/{contact}", params={"include_browsing_session_data": 1}).json()
    assert answer["locations"] == ["Paris, Île-de-France, FR"]
    [browsing_hit] = answer["browsing_session_hits"]
    assert (browsing_hit["country"], browsing_hit["os"], browsing_hit["source"]) == ("FR", "iOS", "direct")


def test_known_values_stay(stage: Stage) -> None:
    stage.run(make_hit(country="FR", os="iOS", language="fr"))
    stage.run(make_hit(country="DE", city="Ulm", os="Windows", browser="Edge", language="de"))
    assert stage.rows("contacts", *COLUMNS) == [("FR", None, None, "FR", None, "iOS", None, "fr")]
    places = [value for kind, value in stage.rows("contact_identifiers", "kind", "value")
              if kind == "location"]  # fmt: skip
    assert places == ["FR", "Ulm, DE"]


def test_what_agrees_is_filled_in(stage: Stage) -> None:
    stage.run(make_hit(country="FR", os="iOS"), make_hit(**SEEN), make_hit(city="Lyon"))
    [row] = stage.rows("contacts", "country", "city", "browser", "location")
    assert row == ("FR", "Paris", "Safari", "FR")


def test_people_who_say_who_they_are(stage: Stage) -> None:
    stage.run(
        make_hit(),
        person(trk_token="t1", email="ada@acme.com", tracking_id="u1", first_name="Ada",
               last_name="King", phone="1", profile_fields={1: "x"}),
        event(tracking_id="u1"),
    )  # fmt: skip
    columns = ("email", "name", "phone", "profile_field_1")
    assert stage.rows("contacts", *columns) == [("ada@acme.com", "Ada King", "1", "x")]
    assert stage.values("companies", "domain") == ["acme.com"]
    assert set(stage.values("hits", "contact_id")) == set(stage.values("events", "contact_id"))


def test_they_merge_like_events(stage: Stage) -> None:
    stage.run(event(email="ada@acme.com"), make_hit(city="Ulm"))
    stage.run(person(trk_token="t1", email="ada@acme.com"))
    assert stage.rows("merges", "cause", "filled") == [("trk_token", ["location", "city"])]


def test_junk_values_identify_nobody(stage: Stage) -> None:
    stage.run(hit(trk_token="null"), hit(trk_token="null"), person(email="noreply@acme.com"))
    assert len(stage.values("contacts", "id")) == 3
    assert len(set(stage.values("visits", "device"))) == 2
    assert stage.rows("contact_identifiers", "kind") == []
