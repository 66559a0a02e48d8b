"""How a change of a company's claims affects later events, in both modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from headwater.events.accepted import AcceptedEvent
from tests.support.factories import make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api


@dataclass
class ModeCompany:
    """A Space in one of the modes: its API, its pipeline, and the claim that the mode uses."""

    api: Api
    pipeline: Pipeline
    mode: str

    @property
    def claim(self) -> str:
        return "domain" if self.mode == "auto" else "external_id"

    def make_event(self, person: str, company: str) -> AcceptedEvent:
        """Return an event of a person at the company with the claim `company`."""
        if self.mode == "auto":
            return event(email=f"{person}@{company}", trk_source="sms")
        return event(email=f"{person}@gmail.com", company_external_id=company, trk_source="sms")

    def run(self, person: str, company: str) -> int:
        """Process an event of a person, and return the id of the person's company."""
        (receipt,) = self.pipeline.run(self.make_event(person, company))
        return dict(self.pipeline.rows("events", "id", "company_id"))[receipt]

    def put(self, company_id: int, **body: Any) -> httpx.Response:
        return self.api.send("PUT", f"/companies/{company_id}", json=body)

    def set_claim(self, company_id: int, value: str | None) -> None:
        response = self.put(company_id, **{self.claim: value})
        assert response.status_code == 200, response.text

    def members(self) -> dict[int, set[int]]:
        """Return the contacts by company, and check that events and touchpoints have the same company."""
        company_of = dict(self.pipeline.rows("contacts", "id", "company_id"))
        for table in ("events", "touchpoints"):
            rows = self.pipeline.rows(table, "contact_id", "company_id")
            assert all(company_of[contact] == company for contact, company in rows)
        return {
            company: {contact for contact, company_id in company_of.items() if company_id == company}
            for company in company_of.values()
        }


@pytest.fixture(params=["auto", "external_id"])
def mode_company(
    client: httpx.Client, connection: psycopg.Connection, request: pytest.FixtureRequest
) -> ModeCompany:
    stage = make_stage(connection)
    connection.execute(
        "UPDATE spaces SET company_identity_mode = %s WHERE id = %s", (request.param, stage.space_id)
    )
    pipeline = Pipeline(connection, stage.space_id)
    return ModeCompany(Api(client, stage.key), pipeline, request.param)


def test_it_works(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    assert mode_company.run("ben", "acme.com") == acme
    mode_company.set_claim(acme, "acme.org")
    assert mode_company.run("cid", "acme.org") == acme
    new = mode_company.run("dan", "acme.com")
    assert new != acme
    assert [len(mode_company.members()[company]) for company in (acme, new)] == [3, 1]


def test_a_released_claim_makes_another_company(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    members = mode_company.members()
    mode_company.set_claim(acme, None)
    assert mode_company.members() == members
    new = mode_company.run("ben", "acme.com")
    assert new != acme
    assert mode_company.run("cid", "acme.com") == new
    assert mode_company.members()[acme] == members[acme]
    assert mode_company.api.get(f"/companies/{new}").json()[mode_company.claim] == "acme.com"
    assert mode_company.api.get(f"/companies/{acme}").json()[mode_company.claim] is None


def test_a_claim_that_moved_leads_new_contacts_to_its_new_company(mode_company: ModeCompany) -> None:
    acme, other_company = mode_company.run("ann", "acme.com"), mode_company.run("ben", "other.com")
    members = mode_company.members()
    mode_company.set_claim(acme, None)
    mode_company.set_claim(other_company, "acme.com")
    assert mode_company.members() == members
    assert mode_company.run("cid", "acme.com") == other_company
    assert mode_company.members()[acme] == members[acme]
    assert mode_company.run("dan", "other.com") not in (acme, other_company)


def test_members_of_a_company_that_lost_its_claim(mode_company: ModeCompany) -> None:
    """By domain, a contact keeps its company. By external id, it moves to the company of its events."""
    acme = mode_company.run("ann", "acme.com")
    mode_company.set_claim(acme, None)
    later = mode_company.run("ann", "acme.com")
    assert (later == acme) == (mode_company.mode == "auto")
    assert set(mode_company.members()) == {later}
    companies = mode_company.pipeline.values("companies", "id")
    assert len(companies) == (1 if mode_company.mode == "auto" else 2)


def test_a_claim_given_back_finds_the_same_company(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    mode_company.set_claim(acme, None)
    mode_company.set_claim(acme, "acme.com")
    assert mode_company.run("ben", "acme.com") == acme


def test_a_claim_that_events_took_is_taken(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    mode_company.set_claim(acme, None)
    new = mode_company.run("ben", "acme.com")
    response = mode_company.put(acme, **{mode_company.claim: "acme.com"})
    assert (response.status_code, response.json()["field"]) == (409, mode_company.claim)
    assert response.json()["conflicting_company_id"] == new


def test_a_claim_of_the_other_mode_leads_nobody(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    other_claim = "external_id" if mode_company.mode == "auto" else "domain"
    assert mode_company.put(acme, **{other_claim: "linked.com"}).status_code == 200
    assert mode_company.run("ben", "linked.com") != acme


def test_a_claim_counts_from_the_day_the_mode_is_chosen(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    other_mode = "external_id" if mode_company.mode == "auto" else "auto"
    other_claim = "external_id" if other_mode == "external_id" else "domain"
    assert mode_company.put(acme, **{other_claim: "linked.com"}).status_code == 200
    mode_company.pipeline.connection.execute(
        "UPDATE spaces SET company_identity_mode = %s WHERE id = %s",
        (other_mode, mode_company.pipeline.space_id),
    )
    mode_company.mode = other_mode
    assert mode_company.run("ben", "linked.com") == acme


def test_a_name_set_by_hand_stays_until_an_event_brings_one(mode_company: ModeCompany) -> None:
    acme = mode_company.run("ann", "acme.com")
    assert mode_company.put(acme, name="Acme GmbH").status_code == 200
    mode_company.run("ben", "acme.com")
    assert mode_company.pipeline.values("companies", "name") == ["Acme GmbH"]
    company_event = event(email="a@acme.com", company_external_id="acme.com", company_name="Acme Inc")
    mode_company.pipeline.run(company_event)
    new_name = "Acme Inc" if mode_company.mode == "external_id" else "Acme GmbH"
    assert mode_company.pipeline.values("companies", "name") == [new_name]
