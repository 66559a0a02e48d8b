"""A state machine that runs thousands of steps against the HTTP API and a plain model: create, track, merge,
attach, detach, update, delete. After each step, both must agree about every contact.
"""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import psycopg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from headwater.intake.pipeline.batch_runner import process_space
from headwater.privacy.erasure_job import erase_next
from tests.conftest import Running, client_for
from tests.support.campaigns import campaign_size
from tests.support.factories import make_stage
from tests.support.people_model import KINDS, Company, Contact, People
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import event as accepted

EMAILS = ("ada@acme.com", "bob@acme.com", "cy@other.org", "dee@gmail.com")
DOMAINS = ("acme.com", "other.org", "third.net")
EXTERNAL_IDS = ("X1", "x1", "42")

collections = st.fixed_dictionaries(
    {},
    optional={
        "emails": st.lists(st.sampled_from(EMAILS), min_size=1, max_size=3, unique=True),
        "phones": st.lists(st.sampled_from(("1", "2", "3")), max_size=2, unique=True),
        "names": st.lists(st.sampled_from(("Ada", "Bob")), max_size=2, unique=True),
        "locations": st.lists(st.sampled_from(("Ulm", "Rom")), max_size=2, unique=True),
    },
)
custom_fields = st.dictionaries(
    st.sampled_from(("profile_field_1", "profile_field_15")), st.sampled_from(("a", "b"))
)
identification = st.fixed_dictionaries(
    {},
    optional={
        "email": st.sampled_from(EMAILS),
        "tracking_id": st.sampled_from(("u1", "u2", "u3")),
        "trk_token": st.sampled_from(("t1", "t2", "t3")),
    },
).filter(lambda collections: "email" in collections or "trk_token" in collections)
details = st.fixed_dictionaries(
    {},
    optional={
        "full_name": st.sampled_from(("Ada", "Eve")),
        "phone": st.sampled_from(("1", "9")),
        "profile_field_1": st.sampled_from(("a", "c")),
        "company_external_id": st.sampled_from(EXTERNAL_IDS),
    },
)
picks = st.integers(0, 1000)
HISTORIES = campaign_size("HEADWATER_HISTORIES", 2, 500)


class PeopleMachine(RuleBasedStateMachine):
    """One Space of a running server, and its model."""

    server: Running
    connection: psycopg.Connection

    @initialize(by_external_id=st.booleans())
    def begin(self, by_external_id: bool) -> None:
        self.stage = make_stage(self.connection)
        mode = "external_id" if by_external_id else "auto"
        self.connection.execute(
            "UPDATE spaces SET company_identity_mode = %s WHERE id = %s", (mode, self.stage.space_id)
        )
        self.client = client_for(self.server, self.stage.key)
        self.people = People(by_external_id)
        self.waiting: list[tuple[int, dict[str, str], bool]] = []
        self.steps = 0

    def teardown(self) -> None:
        if hasattr(self, "client"):
            self.client.close()

    # ------------------------------------------------------------------------------------- rules

    @rule(collections=collections.filter(lambda collections: "emails" in collections), fields=custom_fields)
    def create(self, collections: dict[str, list[str]], fields: dict[str, str]) -> None:
        self.process()
        answer = self.ask("POST", "/contacts", 201, {**collections, "custom_fields": fields})
        contact = self.people.create(collections, fields)
        contact.id = answer["id"]
        assert self.expected_row(contact).items() <= answer.items()

    @rule(event=identification, extra_fields=details)
    def track(self, event: dict[str, str], extra_fields: dict[str, str]) -> None:
        body = {"event_name": "purchase", **event, **extra_fields}
        answer = self.client.post("/events/track", json=body)
        assert answer.status_code == 202, answer.text
        self.waiting.append((int(answer.headers["x-receipt-id"]), body, False))

    @rule(event=identification, extra_fields=details)
    def put_page_event(self, event: dict[str, str], extra_fields: dict[str, str]) -> None:
        """Put an event of a page in the inbox, like the tracker's endpoint."""
        event_fields = {**event, **extra_fields}
        members = {name: text for name, text in event_fields.items() if not name.startswith("profile")}
        fields = {1: event_fields["profile_field_1"]} if "profile_field_1" in event_fields else {}
        queue = Queue(self.connection, self.stage.space_id)
        payload = msgspec.json.encode(accepted(profile_fields=fields, **members)).decode()
        receipt = queue.put_row("event", payload, received_at="now", sender="browser")
        self.waiting.append((receipt, event_fields, True))

    @rule(number=picks, collections=collections, fields=st.none() | custom_fields)
    def update(self, number: int, collections: dict[str, list[str]], fields: dict[str, str] | None) -> None:
        contact = self.anybody(number)
        body: dict[str, Any] = collections if fields is None else {**collections, "custom_fields": fields}
        if contact is None:
            return
        if not body:
            self.ask("PUT", f"/contacts/{contact.id}", 422, body)
            return
        answer = self.ask("PUT", f"/contacts/{contact.id}", 200, body)
        survivor = self.people.home[contact.number]
        assert (answer["id"], answer.keys()) == (survivor.id, {"id", "message", *body})
        self.people.update(survivor, collections, fields)

    @rule(number=picks, company_pick=picks)
    def attach(self, number: int, company_pick: int) -> None:
        contact, company = self.anybody(number), self.any_company(company_pick)
        if contact is None or company is None:
            return
        body = {"company_id": company.id}
        answer = self.ask("PUT", f"/contacts/{contact.id}/company", 200, body)
        survivor = self.people.home[contact.number]
        assert answer == {"id": survivor.id, "company_id": company.id}
        survivor.company = company

    @rule(number=picks)
    def detach(self, number: int) -> None:
        contact = self.anybody(number)
        if contact is not None:
            answer = self.ask("DELETE", f"/contacts/{contact.id}/company", 200)
            survivor = self.people.home[contact.number]
            assert answer == {"id": survivor.id, "company_id": None}
            survivor.company = None

    @rule(
        number=picks,
        domain=st.none() | st.sampled_from(DOMAINS),
        external_id=st.none() | st.sampled_from(EXTERNAL_IDS),
    )
    def claim(self, number: int, domain: str | None, external_id: str | None) -> None:
        company = self.any_company(number)
        if company is None:
            return
        claims = {"domain": domain, "external_id": external_id}
        for name, value in claims.items():
            claimant = self.people.claimant(name, value) if value is not None else None
            if claimant is not None and claimant is not company:
                answer = self.ask("PUT", f"/companies/{company.id}", 409, claims)
                assert (answer["field"], answer["conflicting_company_id"]) == (name, claimant.id)
                return
        answer = self.ask("PUT", f"/companies/{company.id}", 200, claims)
        company.domain, company.external_id = domain, external_id
        assert (answer["id"], answer["domain"], answer["external_id"]) == (
            company.id, domain, external_id,
        )  # fmt: skip

    @rule(number=picks)
    def erase_by_id(self, number: int) -> None:
        contact = self.anybody(number)
        if contact is not None:
            answer = self.ask("DELETE", f"/contacts/{contact.id}/pii", 202)
            self.erased(self.people.home[contact.number], answer)

    @rule(email=st.sampled_from(EMAILS))
    def erase_by_email(self, email: str) -> None:
        self.process()
        contacts = self.people.find_by_former_email(email)
        if len(contacts) == 1:
            answer = self.ask("DELETE", "/contacts/pii", 202, params={"email": email})
            self.erased(contacts[0], answer)
        else:
            status = 409 if contacts else 404
            answer = self.ask("DELETE", "/contacts/pii", status, params={"email": email})
            assert answer.get("contact_ids", []) == self.ids(contacts)

    @precondition(lambda self: self.waiting)
    @rule(event_pick=picks)
    def delete_event(self, event_pick: int) -> None:
        self.process()
        contact = max(self.people.current_contacts(), key=lambda contact: len(contact.events))
        event_id = contact.events[event_pick % len(contact.events)]
        self.ask("DELETE", f"/events/{event_id}", 200)
        contact.events.remove(event_id)

    # -------------------------------------------------------------------------------- invariants

    @invariant()
    def everything_agrees(self) -> None:
        if not hasattr(self, "people"):
            return
        self.steps += 1
        if self.steps % 3:
            return  # lets events wait in batches, and saves time
        self.process()
        for contact in self.people.contacts:
            self.agrees_on(contact)
        for email in EMAILS:
            self.agrees_on_email(email)
        self.agrees_on_lists()

    def agrees_on(self, contact: Contact) -> None:
        survivor = self.people.home[contact.number]
        answer = self.ask("GET", f"/contacts/{contact.id}", 200, params={"include_events": 1})
        events = answer.pop("events")
        assert answer == self.expected_row(survivor)
        assert sorted(event["id"] for event in events) == sorted(survivor.events)
        company_id = survivor.company and survivor.company.id
        assert {event["company_id"] for event in events} <= {company_id}

    def agrees_on_email(self, email: str) -> None:
        contacts = self.people.find_by_email(email)
        status = (404, 200, 409)[min(len(contacts), 2)]
        answer = self.ask("GET", f"/contacts/by-email/{email}", status)
        if status == 200:
            assert answer == self.expected_row(contacts[0])
        assert answer.get("contact_ids", self.ids(contacts)) == self.ids(contacts)

    def agrees_on_lists(self) -> None:
        params = {"email": ",".join(EMAILS), "include_all_emails": 1, "per_page": 5000}
        rows = self.ask("GET", "/contacts", 200, params=params)["data"]
        with_email = [contact for contact in self.people.current_contacts() if contact.values("email")]
        assert [(row["id"], row["emails"]) for row in rows] == [
            (contact.id, contact.values("email")) for contact in reversed(with_email)
        ]
        rows = self.ask("GET", "/companies", 200, params={"per_page": 5000})["data"]
        assert [(row["domain"], row["external_id"]) for row in rows] == [
            (company.domain, company.external_id) for company in reversed(self.people.companies)
        ]

    # ----------------------------------------------------------------------------------- helpers

    def ask(self, method: str, path: str, status: int, body: Any = None, **options: Any) -> Any:
        answer: httpx.Response = self.client.request(method, path, json=body, **options)
        assert answer.status_code == status, (method, path, answer.text)
        return answer.json()

    def process(self) -> None:
        """Process the waiting events in the pipeline and in the model, then read the ids of new contacts."""
        while process_space(self.connection, self.stage.space_id, 2).rows:
            pass
        entries, self.waiting = self.waiting, []
        event_contacts = [
            (event_id, self.people.take(event_id, event, by_page=by_page))
            for event_id, event, by_page in entries
        ]
        for event_id, contact in event_contacts:
            survivor = self.people.home[contact.number]
            answer = self.ask("GET", f"/events/{event_id}", 200)
            if survivor.id is None:
                survivor.id = int(answer["profile_id"])
            assert answer["profile_id"] == str(survivor.id)
        self.learn_merged()
        rows = self.ask("GET", "/companies", 200, params={"per_page": 5000})["data"]
        for company, row in zip(reversed(self.people.companies), rows, strict=True):
            company.id = row["id"]

    def learn_merged(self) -> None:
        """Read the ids of contacts that were created and merged before any step requested them."""
        unknown = [contact for contact in self.people.contacts if contact.id is None]
        if unknown:
            rows = self.connection.execute(
                "SELECT id FROM contacts WHERE space_id = %s ORDER BY id", (self.stage.space_id,)
            ).fetchall()
            for contact, (contact_id,) in zip(self.people.contacts, rows, strict=True):
                assert contact.id in (None, contact_id)
                contact.id = contact_id

    def erased(self, contact: Contact, row: dict[str, Any]) -> None:
        assert (row["contact_id"], row["status"]) == (contact.id, "queued")
        while erase_next(self.connection, self.stage.space_id):
            pass
        self.people.erase(contact)

    def anybody(self, number: int) -> Contact | None:
        """Return one of all contacts ever created."""
        self.process()
        contacts = self.people.contacts
        return contacts[number % len(contacts)] if contacts else None

    def any_company(self, number: int) -> Company | None:
        self.process()
        companies = self.people.companies
        return companies[number % len(companies)] if companies else None

    def ids(self, contacts: list[Contact]) -> list[int]:
        return sorted(contact.id for contact in contacts if contact.id is not None)

    def expected_row(self, contact: Contact) -> dict[str, Any]:
        collections = {name: contact.values(kind) for name, kind in KINDS.items()}
        return {"id": contact.id, **collections, "custom_fields": contact.fields}


def test_the_api_and_its_model_agree(server: Running, connection: psycopg.Connection) -> None:
    class Machine(PeopleMachine):
        pass

    Machine.server, Machine.connection = server, connection
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=HISTORIES, stateful_step_count=50, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
