"""The rules for a contact's membership in a company, row by row: through the API and the pipeline, in both
identity modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.reading_fixtures import Api

EMAIL = "ann@acme.com"
BUSINESS, EXTERNAL = "acme.com", "crm-1"


@dataclass(frozen=True)
class Story:
    """One contact of a Space, changed through the API."""

    api: Api
    stage: Stage

    def track(self, **values: Any) -> None:
        """Send an event of the contact and process it."""
        body = {"event_name": "purchase", "amount": 10, "email": EMAIL, **values}
        body.setdefault("event_time", "2026-05-13T12:00:00Z")
        answer = self.api.send("POST", "/events/track", json=body)
        assert answer.status_code == 202, answer.text
        Pipeline(self.stage.connection, self.stage.space_id).process()

    def attach(self, company_id: int) -> None:
        path = f"/contacts/{self.contact_id}/company"
        response = self.api.send("PUT", path, json={"company_id": company_id})
        assert response.status_code == 200, response.text
        assert response.json() == {"id": self.contact_id, "company_id": company_id}

    def detach(self) -> None:
        response = self.api.send("DELETE", f"/contacts/{self.contact_id}/company")
        assert response.status_code == 200, response.text
        assert response.json() == {"id": self.contact_id, "company_id": None}

    @property
    def contact_id(self) -> int:
        query = "SELECT contact_id FROM contact_identifiers WHERE space_id = %s AND value = %s"
        row = self.stage.connection.execute(query, (self.stage.space_id, EMAIL)).fetchone()
        assert row is not None
        return row[0]

    def company(self, name: str) -> int:
        """Return the company with this domain or external id."""
        row = self.stage.connection.execute(
            "SELECT id FROM companies WHERE space_id = %s AND %s IN (domain, external_id)",
            (self.stage.space_id, name),
        ).fetchone()
        assert row is not None
        return row[0]

    def is_stamped(self, company_id: int | None) -> bool:
        """Return whether the contact and all its events, touchpoints and visits have this company."""
        tables = {"contacts": "id", "events": "contact_id", "touchpoints": "contact_id",
                  "visits": "contact_id"}  # fmt: skip
        return all(
            self.stage.connection.execute(
                f"SELECT count(*) > 0 AND bool_and(company_id IS NOT DISTINCT FROM %s::bigint)"
                f" FROM {table} WHERE space_id = %s AND {column} = %s",
                (company_id, self.stage.space_id, self.contact_id),
            ).fetchone()
            == (True,)
            for table, column in tables.items()
        )

    def sources_of_my_events(self) -> set[str]:
        """Return the sources that List Events credits with the contact's events at company level."""
        rows = self.api.rows(
            query_mode="company", attribution_model="linear", attribution_window=0,
            **{"sources[]": ["google_ads", "email"], "fields[]": ["source", "profile_id"]},
        )  # fmt: skip
        return {row["source"] for row in rows if row["profile_id"] == str(self.contact_id)}


def story(client: httpx.Client, connection: psycopg.Connection, mode: str) -> Story:
    """Make a Space with this mode, with a contact that has an event, a touchpoint and a visit."""
    stage = make_stage(connection)
    connection.execute("UPDATE spaces SET company_identity_mode = %s WHERE id = %s", (mode, stage.space_id))
    new_story = Story(Api(client, stage.key), stage)
    new_story.track(trk_source="google_ads", company_external_id=EXTERNAL)
    company_id = new_story.company(BUSINESS if mode == "auto" else EXTERNAL)
    stage.visit(new_story.contact_id, company_id=company_id)
    return new_story


@pytest.fixture(params=["auto", "external_id"])
def either(client: httpx.Client, connection: psycopg.Connection, request: pytest.FixtureRequest) -> Story:
    """A story in each mode. Manual changes work the same in both."""
    return story(client, connection, request.param)


@pytest.fixture
def auto(client: httpx.Client, connection: psycopg.Connection) -> Story:
    return story(client, connection, "auto")


@pytest.fixture
def external(client: httpx.Client, connection: psycopg.Connection) -> Story:
    return story(client, connection, "external_id")


def test_no_company_put_attaches(either: Story) -> None:
    either.detach()
    chosen_company = either.stage.company()
    either.attach(chosen_company)
    assert either.is_stamped(chosen_company)


def test_attached_put_of_another_moves(either: Story) -> None:
    first, second = either.stage.company(), either.stage.company()
    either.attach(first)
    assert either.is_stamped(first)
    either.attach(second)
    assert either.is_stamped(second)


def test_attached_put_of_the_same_repairs(either: Story) -> None:
    chosen_company, wrong_company = either.stage.company(), either.stage.company()
    either.attach(chosen_company)
    for table in ("events", "touchpoints", "visits"):
        either.stage.connection.execute(
            f"UPDATE {table} SET company_id = %s WHERE space_id = %s", (wrong_company, either.stage.space_id)
        )
    assert not either.is_stamped(chosen_company)
    either.attach(chosen_company)
    assert either.is_stamped(chosen_company)


def test_attached_delete_detaches(either: Story) -> None:
    either.attach(either.stage.company())
    either.detach()
    assert either.is_stamped(None)


def test_no_company_delete_is_no_error(either: Story) -> None:
    either.detach()
    either.detach()
    assert either.is_stamped(None)


def test_auto_no_company_the_next_business_event_attaches(auto: Story) -> None:
    assert auto.is_stamped(auto.company(BUSINESS))
    auto.detach()
    assert auto.is_stamped(None)
    auto.track(event_name="lead_generated")
    assert auto.is_stamped(auto.company(BUSINESS))


def test_auto_no_company_another_event_does_not(auto: Story) -> None:
    auto.track(tracking_id="u1")
    auto.detach()
    auto.track(email="ann@gmail.com", tracking_id="u1", company_external_id=EXTERNAL)
    assert auto.is_stamped(None)


def test_auto_attached_sticks_through_later_events(auto: Story) -> None:
    chosen_company = auto.stage.company()
    auto.attach(chosen_company)
    auto.track(tracking_id="u1", company_external_id="crm-2", trk_source="email")
    auto.track(tracking_id="u1", email="ann@other.com")
    assert auto.is_stamped(chosen_company)


def test_auto_attached_sticks_until_detached(auto: Story) -> None:
    auto.attach(auto.stage.company())
    auto.track()
    auto.detach()
    auto.track()
    assert auto.is_stamped(auto.company(BUSINESS))


def test_external_attached_the_next_event_with_another_id_moves(external: Story) -> None:
    assert external.is_stamped(external.company(EXTERNAL))
    external.track(company_external_id="crm-2")
    assert external.is_stamped(external.company("crm-2"))


def test_external_attached_by_hand_the_next_event_with_an_id_moves(external: Story) -> None:
    external.attach(external.stage.company(external_id="crm-9"))
    external.track(company_external_id=EXTERNAL)
    assert external.is_stamped(external.company(EXTERNAL))


def test_external_attached_an_event_without_an_id_changes_nothing(external: Story) -> None:
    chosen_company = external.stage.company()
    external.attach(chosen_company)
    external.track(trk_source="email")
    assert external.is_stamped(chosen_company)


def test_external_detached_the_next_event_with_an_id_attaches(external: Story) -> None:
    external.detach()
    external.track()
    assert external.is_stamped(None)
    external.track(company_external_id="crm-2")
    assert external.is_stamped(external.company("crm-2"))


def test_lists_by_company_follow_the_membership(either: Story) -> None:
    stage, chosen_company = either.stage, either.stage.company()
    colleague = stage.contact(company_id=chosen_company)
    stage.touchpoint(colleague, "email", company_id=chosen_company)
    assert either.sources_of_my_events() == {"google_ads"}
    either.attach(chosen_company)
    assert either.sources_of_my_events() == {"google_ads", "email"}
    either.detach()
    assert either.sources_of_my_events() == {"google_ads"}
