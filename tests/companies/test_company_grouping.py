"""Companies by business domain and by external id, and their ids on stored rows."""

from __future__ import annotations

import psycopg
import pytest

from headwater.people.companies.domains import business_domain
from tests.support.pipeline import Stage, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def external_id_stage(connection: psycopg.Connection) -> Stage:
    return new_stage(connection, company_identity_mode="external_id")


@pytest.mark.parametrize(
    ("email", "domain"),
    [
        ("a@acme.com", "acme.com"),
        ("a@mail.eu.acme.co.uk", "acme.co.uk"),
        ("a@gmail.com", None),
        ("a@mailinator.com", None),
        ("a@yahoo.co.uk", None),
        ("a@co.uk", None),
        ("a@münchen.de", "xn--mnchen-3ya.de"),
        ("a@post.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    ],
)
def test_business_domain(email: str, domain: str | None) -> None:
    assert business_domain(email) == domain


def test_it_works(stage: Stage) -> None:
    stage.run(event(email="a@acme.com"), event(email="b@eu.acme.com"), event(email="c@gmail.com"))
    [(company, domain, name)] = stage.rows("companies", "id", "domain", "name")
    assert (domain, name) == ("acme.com", "acme.com")
    assert sorted(stage.values("contacts", "company_id"), key=str) == [company, company, None]
    assert stage.values("events", "company_id").count(company) == 2


def test_both_ways_to_write_an_international_domain_are_one_company(stage: Stage) -> None:
    stage.run(event(email="a@münchen-firma.de"), event(email="b@xn--mnchen-firma-dlb.de"))
    assert stage.rows("companies", "domain", "name") == [("xn--mnchen-firma-dlb.de", "münchen-firma.de")]
    stage.run(event(email="c@xn--bcher-firma-thb.de"))
    assert "bücher-firma.de" in stage.values("companies", "name")


def test_joining_a_company_restamps_earlier_events_and_touchpoints(stage: Stage) -> None:
    stage.run(event(trk_token="t1", trk_source="google_ads"))
    stage.run(event(trk_token="t1", email="a@acme.com"))
    [company] = stage.values("companies", "id")
    assert set(stage.values("events", "company_id")) == {company}
    assert set(stage.values("touchpoints", "company_id")) == {company}


def test_a_contact_with_a_company_keeps_it(stage: Stage) -> None:
    stage.run(event(tracking_id="u1", email="a@acme.com"))
    stage.run(event(tracking_id="u1", email="a@other.com"))
    assert stage.values("companies", "domain") == ["acme.com"]


def test_the_next_event_undoes_a_detach(stage: Stage) -> None:
    stage.run(event(email="a@acme.com"))
    stage.connection.execute("UPDATE contacts SET company_id = NULL WHERE space_id = %s", (stage.space_id,))
    stage.run(event(email="a@acme.com"))
    assert stage.values("contacts", "company_id") == stage.values("companies", "id")


def test_a_survivor_takes_the_company_it_lacks(stage: Stage) -> None:
    stage.run(event(tracking_id="u1", trk_source="sms"), event(email="a@acme.com"))
    stage.run(event(tracking_id="u1", email="a@acme.com"))
    [company] = stage.values("companies", "id")
    assert set(stage.values("events", "company_id")) == {company}
    assert set(stage.values("touchpoints", "company_id")) == {company}
    assert sorted(stage.values("contacts", "company_id"), key=str) == [company, None]


def test_auto_mode_stores_the_external_id_and_ignores_it(stage: Stage) -> None:
    stage.run(event(email="a@gmail.com", company_external_id="X", company_name="Ex"))
    assert stage.rows("companies", "id") == []
    assert stage.values("events", "company_external_id") == ["X"]


def test_external_mode_points_the_contact_at_the_latest(external_id_stage: Stage) -> None:
    external_id_stage.run(event(email="a@acme.com", company_external_id="X"))
    external_id_stage.run(event(email="a@acme.com", company_external_id="Y", company_name="Why"))
    companies = {row[0]: row[1:] for row in external_id_stage.rows("companies", "external_id", "id", "name")}
    assert companies["X"][1] == "X"
    assert companies["Y"][1] == "Why"
    assert set(external_id_stage.values("events", "company_id")) == {companies["Y"][0]}
    external_id_stage.run(event(email="a@acme.com"))
    assert external_id_stage.values("contacts", "company_id") == [companies["Y"][0]]


def test_external_mode_names_by_the_last_write(external_id_stage: Stage) -> None:
    external_id_stage.run(
        event(email="a@b.org", company_external_id="X", company_name="One"),
        event(email="b@b.org", company_external_id="X", company_name="Two"),
        event(email="c@b.org", company_external_id="X"),
        event(email="c@b.org", company_name="None"),
    )
    assert external_id_stage.values("companies", "name") == ["Two"]
    external_id_stage.run(event(email="a@b.org", company_external_id="X", company_name="Three"))
    assert external_id_stage.values("companies", "name") == ["Three"]
