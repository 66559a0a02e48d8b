"""A second, deliberately simple implementation of contacts, companies and identity, to compare the API with.

Everything happens in order of arrival. `tick` counts arrivals and defines "recent".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KINDS = {"emails": "email", "phones": "phone", "names": "name", "locations": "location"}
STRONG = {"email", "tracking_id"}
FREE_MAIL = {"gmail.com"}


@dataclass
class Company:
    id: int | None
    domain: str | None = None
    external_id: str | None = None
    name: str = ""


@dataclass
class Contact:
    number: int
    """The position in order of creation."""
    id: int | None = None
    """The API's id. Unknown for an event's contact until it is looked up."""
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    """The time of the last arrival of every known value, by kind and value."""
    emails_ever: set[str] = field(default_factory=set)
    """Current addresses and those that an update removed."""
    primary: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    company: Company | None = None
    events: list[int] = field(default_factory=list)

    def has(self, kinds: set[str]) -> bool:
        return any(kind in kinds for kind, _ in self.links)

    def values(self, kind: str) -> list[str]:
        first = [self.primary[kind]] if kind in self.primary else []
        linked_values = sorted(
            ((tick, value) for (its_kind, value), tick in self.links.items() if its_kind == kind),
            reverse=True,
        )
        return first + [value for _, value in linked_values if value not in first]

    def add_link(self, kind: str, value: str, tick: int) -> None:
        self.links[kind, value] = max(tick, self.links.get((kind, value), 0))
        if kind == "email":
            self.emails_ever.add(value)
        if kind in KINDS.values():
            self.primary.setdefault(kind, value)


@dataclass
class People:
    """One Space."""

    by_external_id: bool = False
    contacts: list[Contact] = field(default_factory=list)
    companies: list[Company] = field(default_factory=list)
    home: dict[int, Contact] = field(default_factory=dict)
    """The surviving contact of each contact number."""
    tick: int = 0

    def current_contacts(self) -> list[Contact]:
        return [contact for contact in self.contacts if self.home[contact.number] is contact]

    def find_by_email(self, email: str) -> list[Contact]:
        return [contact for contact in self.current_contacts() if ("email", email) in contact.links]

    def find_by_former_email(self, email: str) -> list[Contact]:
        return [contact for contact in self.current_contacts() if email in contact.emails_ever]

    # ---------------------------------------------------------------------- requests to the API

    def create(self, collections: dict[str, list[str]], fields: dict[str, Any]) -> Contact:
        contact = self._add_contact()
        self.update(contact, collections, fields)
        return contact

    def update(
        self, contact: Contact, collections: dict[str, list[str]], fields: dict[str, Any] | None
    ) -> None:
        for name, values in collections.items():
            kind = KINDS[name]
            contact.links = {key: tick for key, tick in contact.links.items() if key[0] != kind}
            contact.primary.pop(kind, None)
            self.tick += len(values)
            for position, value in enumerate(values):
                contact.add_link(kind, value, self.tick - position)
        if fields is not None:
            contact.fields = dict(fields)

    def erase(self, contact: Contact) -> None:
        contact.links, contact.primary, contact.fields = {}, {}, {}
        contact.emails_ever = set()

    def claimant(self, claim: str, value: str) -> Company | None:
        return next((company for company in self.companies if getattr(company, claim) == value), None)

    # --------------------------------------------------------------------------- effects of events

    def take(self, event_id: int, event: dict[str, str], *, by_page: bool = False) -> Contact:
        """Process an event from the business or from a page. Return its contact."""
        self.tick += 1
        contact = self._identify(event, by_page=by_page)
        if by_page:
            event = self._trusted_values(contact, event)
        for kind in ("email", "tracking_id", "trk_token"):
            if kind in event:
                contact.add_link(kind, event[kind], self.tick)
        for member, kind in (("full_name", "name"), ("phone", "phone")):
            if member in event:
                contact.add_link(kind, event[member], self.tick)
        contact.fields |= {key: text for key, text in event.items() if key.startswith("profile")}
        self._group(contact, event)
        contact.events.append(event_id)
        return contact

    def _trusted_values(self, contact: Contact, event: dict[str, str]) -> dict[str, str]:
        """Return a page's event without values that would add to, or replace, a known one."""
        believed_event = dict(event)
        for kind in STRONG & event.keys():
            key = (kind, event[kind])
            has_owner = any(key in owner.links for owner in self.current_contacts())
            if key not in contact.links and (has_owner or contact.has({kind})):
                del believed_event[kind]
        for member, kind in (("full_name", "name"), ("phone", "phone")):
            if contact.primary.get(kind, event.get(member)) != event.get(member):
                believed_event.pop(member, None)
        for member in contact.fields:
            believed_event.pop(member, None)
        if contact.company is not None:
            believed_event.pop("company_external_id", None)
        return believed_event

    def _identify(self, event: dict[str, str], *, by_page: bool) -> Contact:
        tracked_contact = self._latest_contact("tracking_id", event)
        email_contacts = self.find_by_email(event["email"]) if "email" in event else []
        token = self._latest_contact("trk_token", event)
        contact = tracked_contact if tracked_contact is not None else next(iter(email_contacts), None)
        if (
            tracked_contact is not None
            and email_contacts
            and tracked_contact not in email_contacts
            and not by_page
        ):
            contact = self._merge(tracked_contact, email_contacts[0])
            token = self._latest_contact("trk_token", event)
        if contact is not None:
            if token is not None and token is not contact and not token.has(STRONG):
                return self._merge(contact, token)
            return contact
        if token is None:
            return self._add_contact()
        return self._add_contact() if token.has(STRONG & event.keys()) else token

    def _latest_contact(self, kind: str, event: dict[str, str]) -> Contact | None:
        key = (kind, event.get(kind, ""))
        holders = [contact for contact in self.current_contacts() if key in contact.links]
        return max(holders, key=lambda contact: contact.links[key], default=None)

    def _merge(self, contact: Contact, other_contact: Contact) -> Contact:
        survivor, loser = sorted((contact, other_contact), key=lambda contact: contact.number)
        for key, tick in loser.links.items():
            survivor.links[key] = max(tick, survivor.links.get(key, 0))
        survivor.emails_ever |= loser.emails_ever
        survivor.primary = {**loser.primary, **survivor.primary}
        survivor.fields = {**loser.fields, **survivor.fields}
        survivor.company = survivor.company or loser.company
        survivor.events += loser.events
        self.home = {number: survivor if home is loser else home for number, home in self.home.items()}
        return survivor

    def _group(self, contact: Contact, event: dict[str, str]) -> None:
        if self.by_external_id:
            if "company_external_id" in event:
                contact.company = self._company("external_id", event["company_external_id"])
                contact.company.name = event.get("company_name", contact.company.name)
        elif contact.company is None and "email" in event:
            domain = event["email"].partition("@")[2]
            if domain not in FREE_MAIL:
                contact.company = self._company("domain", domain)

    def _company(self, claim: str, value: str) -> Company:
        company = self.claimant(claim, value)
        if company is None:
            company = Company(None, **{claim: value}, name=value)
            self.companies.append(company)
        return company

    def _add_contact(self) -> Contact:
        contact = Contact(len(self.contacts))
        self.contacts.append(contact)
        self.home[contact.number] = contact
        return contact
