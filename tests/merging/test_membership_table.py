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

    def list_my_sources(self) -> set[str]:
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
def story_in_each_mode(
    client: httpx.Client, connection: psycopg.Connection, request: pytest.FixtureRequest
) -> Story:
    """A story in each mode. Manual changes work the same in both."""
    return story(client, connection, request.param)


@pytest.fixture
def auto_story(client: httpx.Client, connection: psycopg.Connection) -> Story:
    return story(client, connection, "auto")


@pytest.fixture
def external_story(client: httpx.Client, connection: psycopg.Connection) -> Story:
    return story(client, connection, "external_id")


def test_no_company_put_attaches(story_in_each_mode: Story) -> None:
    story_in_each_mode.detach()
    chosen_company = story_in_each_mode.stage.company()
    story_in_each_mode.attach(chosen_company)
    assert story_in_each_mode.is_stamped(chosen_company)


def test_attached_put_of_another_moves(story_in_each_mode: Story) -> None:
    first, second = story_in_each_mode.stage.company(), story_in_each_mode.stage.company()
    story_in_each_mode.attach(first)
    assert story_in_each_mode.is_stamped(first)
    story_in_each_mode.attach(second)
    assert story_in_each_mode.is_stamped(second)


def test_attached_put_of_the_same_repairs(story_in_each_mode: Story) -> None:
    chosen_company, wrong_company = story_in_each_mode.stage.company(), story_in_each_mode.stage.company()
    story_in_each_mode.attach(chosen_company)
    for table in ("events", "touchpoints", "visits"):
        story_in_each_mode.stage.connection.execute(
            f"UPDATE {table} SET company_id = %s WHERE space_id = %s",
            (wrong_company, story_in_each_mode.stage.space_id),
        )
    assert not story_in_each_mode.is_stamped(chosen_company)
    story_in_each_mode.attach(chosen_company)
    assert story_in_each_mode.is_stamped(chosen_company)


def test_attached_delete_detaches(story_in_each_mode: Story) -> None:
    story_in_each_mode.attach(story_in_each_mode.stage.company())
    story_in_each_mode.detach()
    assert story_in_each_mode.is_stamped(None)


def test_no_company_delete_is_no_error(story_in_each_mode: Story) -> None:
    story_in_each_mode.detach()
    story_in_each_mode.detach()
    assert story_in_each_mode.is_stamped(None)


def test_auto_no_company_the_next_business_event_attaches(auto_story: Story) -> None:
    assert auto_story.is_stamped(auto_story.company(BUSINESS))
    auto_story.detach()
    assert auto_story.is_stamped(None)
    auto_story.track(event_name="lead_generated")
    assert auto_story.is_stamped(auto_story.company(BUSINESS))


def test_auto_no_company_another_event_does_not(auto_story: Story) -> None:
    auto_story.track(tracking_id="u1")
    auto_story.detach()
    auto_story.track(email="ann@gmail.com", tracking_id="u1", company_external_id=EXTERNAL)
    assert auto_story.is_stamped(None)


def test_auto_attached_sticks_through_later_events(auto_story: Story) -> None:
    chosen_company = auto_story.stage.company()
    auto_story.attach(chosen_company)
    auto_story.track(tracking_id="u1", company_external_id="crm-2", trk_source="email")
    auto_story.track(tracking_id="u1", email="ann@other.com")
    assert auto_story.is_stamped(chosen_company)


def test_auto_attached_sticks_until_detached(auto_story: Story) -> None:
    auto_story.attach(auto_story.stage.company())
    auto_story.track()
    auto_story.detach()
    auto_story.track()
    assert auto_story.is_stamped(auto_story.company(BUSINESS))


def test_external_attached_the_next_event_with_another_id_moves(external_story: Story) -> None:
    assert external_story.is_stamped(external_story.company(EXTERNAL))
    external_story.track(company_external_id="crm-2")
    assert external_story.is_stamped(external_story.company("crm-2"))


def test_external_attached_by_hand_the_next_event_with_an_id_moves(external_story: Story) -> None:
    external_story.attach(external_story.stage.company(external_id="crm-9"))
    external_story.track(company_external_id=EXTERNAL)
    assert external_story.is_stamped(external_story.company(EXTERNAL))


def test_external_attached_an_event_without_an_id_changes_nothing(external_story: Story) -> None:
    chosen_company = external_story.stage.company()
    external_story.attach(chosen_company)
    external_story.track(trk_source="email")
    assert external_story.is_stamped(chosen_company)


def test_external_detached_the_next_event_with_an_id_attaches(external_story: Story) -> None:
    external_story.detach()
    external_story.track()
    assert external_story.is_stamped(None)
    external_story.track(company_external_id="crm-2")
    assert external_story.is_stamped(external_story.company("crm-2"))


def test_lists_by_company_follow_the_membership(story_in_each_mode: Story) -> None:
    stage, chosen_company = story_in_each_mode.stage, story_in_each_mode.stage.company()
    colleague = stage.contact(company_id=chosen_company)
    stage.touchpoint(colleague, "email", company_id=chosen_company)
    assert story_in_each_mode.list_my_sources() == {"google_ads"}
    story_in_each_mode.attach(chosen_company)
    assert story_in_each_mode.list_my_sources() == {"google_ads", "email"}
    story_in_each_mode.detach()
    assert story_in_each_mode.list_my_sources() == {"google_ads"}
