"""A second, deliberately simple implementation of the identity rules, to compare the pipeline with.

Everything is a list that is searched from end to end. Contacts are numbered from 0 in order of appearance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedHit

JUNK = {"null", "noreply@acme.com"}
WEEK = 7 * 86_400_000
STRONG = ("email", "tracking_id")


@dataclass
class Sighting:
    kind: str
    value: str
    origin: int
    """The contact it was recorded on, which may have been merged since."""
    first_time: int
    last_time: int
    since: int
    """The number of earlier merges."""
    recency: int


@dataclass
class Model:
    sightings: list[Sighting] = field(default_factory=list)
    home: list[int] = field(default_factory=list)
    """The surviving contact of each contact."""
    placed: list[int] = field(default_factory=list)
    """The contact that each event was stored on when it arrived."""
    merges: list[tuple[int, int, str]] = field(default_factory=list)

    def take(self, event: AcceptedEvent | AcceptedHit, *, by_page: bool = False) -> None:
        receipt = len(self.placed)
        identifiers = self._event_identifiers(event)
        event_time = event.event_time if isinstance(event, AcceptedEvent) else event.occurred_at
        contact = self._contact(event_time, identifiers, by_page=by_page)
        for kind, value in identifiers.items():
            if not (by_page and kind in STRONG and self._is_refused(kind, value, contact)):
                self._add_sighting(kind, value, contact, event_time, receipt)
        self.placed.append(contact)

    def _is_refused(self, kind: str, value: str, contact: int) -> bool:
        """Return whether a page may not add this value. It can't add a second address to a contact, or
        another contact's.
        """
        owners = {self.home[s.origin] for s in self._select_sightings(kind, value)}
        return contact not in owners and bool(owners or kind in self._kinds(contact))

    @staticmethod
    def _event_identifiers(event: AcceptedEvent | AcceptedHit) -> dict[str, str]:
        weak = f"{event.fingerprint}|{event.ip}" if event.fingerprint and event.ip else None
        strong = {kind: getattr(event, kind, None) for kind in STRONG}
        all_of_them = {
            "email": strong["email"], "tracking_id": strong["tracking_id"],
            "trk_token": event.trk_token, "fingerprint": weak,
        }  # fmt: skip
        return {kind: value for kind, value in all_of_them.items() if value and value not in JUNK}

    def _contact(self, time: int, identifiers: dict[str, str], *, by_page: bool) -> int:
        strong = self._strong(identifiers)
        if by_page:
            strong = strong[:1]
        token = self._latest_contact("trk_token", identifiers.get("trk_token"))
        if len(strong) > 1:
            return self._merge(strong, "email", identifiers)
        if strong:
            if token is not None and token != strong[0] and not self._kinds(token) & set(STRONG):
                return self._merge([strong[0], token], "trk_token", identifiers)
            return strong[0]
        match = self._find_lookalike(identifiers, time) if token is None else token
        refused_kinds = set(identifiers) & set(STRONG)
        if token is None and "trk_token" in identifiers:
            refused_kinds = {*STRONG, "trk_token"}
        elif token is None and refused_kinds:
            match = None  # the token or address is better evidence
        return self._add_contact() if match is None or self._kinds(match) & refused_kinds else match

    def _strong(self, identifiers: dict[str, str]) -> list[int]:
        tracked_contact = self._latest_contact("tracking_id", identifiers.get("tracking_id"))
        email_contacts = sorted(
            {self.home[s.origin] for s in self._select_sightings("email", identifiers.get("email"))}
        )
        if tracked_contact is not None and (tracked_contact in email_contacts or not email_contacts):
            return [tracked_contact]
        return ([] if tracked_contact is None else [tracked_contact]) + email_contacts[:1]

    def _merge(self, contacts: list[int], cause: str, identifiers: dict[str, str]) -> int:
        survivor, loser = min(contacts), max(contacts)
        self.merges.append((loser, survivor, cause))
        self.home = [survivor if home == loser else home for home in self.home]
        token = self._latest_contact("trk_token", identifiers.get("trk_token"))
        if cause == "email" and token not in (None, survivor):
            assert token is not None
            if not self._kinds(token) & set(STRONG):
                return self._merge([survivor, token], "trk_token", identifiers)
        return survivor

    def _add_sighting(self, kind: str, value: str, contact: int, time: int, recency: int) -> None:
        for sighting in self.sightings:
            if (sighting.kind, sighting.value, sighting.origin) == (kind, value, contact):
                sighting.first_time, sighting.last_time = (
                    min(sighting.first_time, time),
                    max(sighting.last_time, time),
                )
                sighting.recency = recency
                return
        self.sightings.append(Sighting(kind, value, contact, time, time, len(self.merges), recency))

    def _select_sightings(self, kind: str, value: str | None) -> list[Sighting]:
        return [s for s in self.sightings if s.kind == kind and s.value == value]

    def _latest_contact(self, kind: str, value: str | None) -> int | None:
        sightings = sorted(self._select_sightings(kind, value), key=lambda s: s.recency)
        return self.home[sightings[-1].origin] if sightings else None

    def _find_lookalike(self, identifiers: dict[str, str], time: int) -> int | None:
        last: dict[int, int] = {}
        for sighting in self._select_sightings("fingerprint", identifiers.get("fingerprint")):
            contact = self.home[sighting.origin]
            last[contact] = max(sighting.last_time, last.get(contact, sighting.last_time))
        contacts = [contact for contact, last_seen in last.items() if abs(last_seen - time) <= WEEK]
        return contacts[0] if len(contacts) == 1 else None

    def _kinds(self, contact: int) -> set[str]:
        return {s.kind for s in self.sightings if self.home[s.origin] == contact}

    def _add_contact(self) -> int:
        self.home.append(len(self.home))
        return self.home[-1]
