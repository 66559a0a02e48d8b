"""Load the lists of a Space from the database."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from headwater.sources.catalogue import SOURCES
from tests.support.report_model.bounds import limit_amount
from tests.support.report_model.facts import Contact, Event, Facts, TagSet, Touchpoint, TrainedModel

Read = Callable[[str], list[tuple[Any, ...]]]

SLOTS = tuple(f"profile_field_{number}" for number in range(1, 26))
"""Texts and numbers. The model doesn't include dates."""
TAGS = (
    "campaign_id", "campaign_name", "adset_id", "adset_name", "ad_id", "ad_name", "keyword",
)  # fmt: skip


EVENTS = (
    "SELECT id, contact_id, company_id, event_time, event_name, amount, is_upsell,"
    " coalesce(sender IN ('browser', 'signed_browser'), false) AND NOT amount_confirmed"
    " FROM events WHERE space_id = %(space_id)s"
)


def _source_names(read_rows: Read) -> dict[int, str]:
    """Return the names of all sources by number, including the Space's networks."""
    networks = read_rows("SELECT number, name FROM paid_networks WHERE space_id = %(space_id)s")
    return dict(enumerate(SOURCES, start=1)) | dict(networks)


def load(connection: psycopg.Connection[Any], space_id: int) -> Facts:
    """Load everything in a Space that reports currently read."""

    def read(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query, {"space_id": space_id}).fetchall()

    [(zone,)] = read("SELECT timezone FROM spaces WHERE id = %(space_id)s")
    facts = Facts(ZoneInfo(zone), trained_models=_load_trained_models(read))
    survey_answers = read(
        "SELECT event_time, id, contact_id, self_reported_source FROM events"
        " WHERE space_id = %(space_id)s AND self_reported_source IS NOT NULL"
    )
    source_by_contact = {contact_id: source for *_, contact_id, source in sorted(survey_answers)}
    facts.contacts = {
        row[0]: Contact(row[0], row[1], _filled_slots(row[3:]), row[2], source_by_contact.get(row[0]))
        for row in read(
            f"SELECT id, country, name, {', '.join(SLOTS)} FROM contacts WHERE space_id = %(space_id)s"
        )
    }
    facts.companies = dict(read("SELECT id, name FROM companies WHERE space_id = %(space_id)s"))
    facts.events = [limit_amount(Event(*row)) for row in read(EVENTS)]
    names, tags = _source_names(read), ", ".join(f"s.{name}" for name in TAGS)
    facts.touchpoints = [
        Touchpoint(*row[:4], names[row[4]], TagSet(*row[7:]), row[5], row[6])
        for row in read(
            "SELECT t.id, t.contact_id, t.company_id, t.occurred_at, t.source_id, t.url, t.by_hit,"
            f" {tags} FROM touchpoints t"
            " LEFT JOIN tag_sets s ON s.space_id = t.space_id AND s.id = t.tag_set_id"
            " WHERE t.space_id = %(space_id)s"
        )
    ]
    facts.visits = _load_visits(read, names)
    rows = read(f"SELECT {tags} FROM tag_sets s WHERE s.space_id = %(space_id)s")
    facts.tag_sets = [TagSet(*row) for row in rows]
    facts.ad_names = {
        (kind, identity): name
        for kind, identity, name in read("SELECT kind, id, name FROM ad_names WHERE space_id = %(space_id)s")
    }
    facts.event_labels = dict(
        read("SELECT event_name, label FROM event_labels WHERE space_id = %(space_id)s")
    )
    return facts


def _load_visits(read_rows: Read, names: dict[int, str]) -> list[Touchpoint]:
    """Return one touchpoint for each visit id among the page views, from the visit's first page view."""
    first: dict[int, tuple[Any, ...]] = {}
    views = read_rows(
        "SELECT h.visit_id, h.contact_id, NULL::bigint, h.occurred_at, h.source_id, h.touch, h.url, h.id"
        " FROM hits h WHERE h.space_id = %(space_id)s"
    )
    for row in sorted(views, key=lambda view: (view[3], view[-1])):
        first.setdefault(row[0], row)
    visits: list[Touchpoint] = []
    for *identity, source_id, touch, url, _ in first.values():
        ad = touch.get("ad", {}) if touch is not None and source_id is not None else {}
        tags = TagSet(**{name: ad.get(name) for name in TAGS})
        page = None if touch is None else url
        visits.append(Touchpoint(*identity, names.get(source_id, ""), tags, page, by_hit=True))
    return visits


def _load_trained_models(read_rows: Read) -> dict[str, TrainedModel]:
    """Return the Space's trained models by name."""
    worth: dict[str, dict[str, Fraction]] = {}
    for name, source, weight in read_rows(
        "SELECT f.name, w.source, w.weight FROM trained_models f JOIN trained_weights w"
        " ON w.space_id = f.space_id AND w.trained_model_id = f.id"
        " WHERE f.space_id = %(space_id)s AND w.model = 'markov'"
    ):
        worth.setdefault(name, {})[source] = Fraction(weight)
    return {
        name: TrainedModel(event_name, is_current, worth[name])
        for name, event_name, is_current in read_rows(
            "SELECT f.name, f.event_name, c.trained_model_id IS NOT NULL FROM trained_models f"
            " LEFT JOIN current_models c"
            " ON c.space_id = f.space_id AND c.trained_model_id = f.id WHERE f.space_id = %(space_id)s"
        )
    }


def _filled_slots(values: tuple[Any, ...]) -> dict[str, Any]:
    slots = zip(SLOTS, values, strict=True)
    return {slot: value for slot, value in slots if value is not None}
