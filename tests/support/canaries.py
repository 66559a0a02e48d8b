"""A person with a distinct value in every column that can hold one, and a search for remaining values: in
every column of every table, and in the column samples that PostgreSQL keeps.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from tests.support.factories import Stage
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import add_sender, event, hit, person

Places = Mapping[str, set[tuple[str, str]]]
"""Tables and columns, by the value found there."""

DETAILS = ("location", "city", "state", "country", "device_type", "os", "browser", "language")

# Most rows contain no value: one pattern for all values skips them before the search for single values.
IN_COLUMNS = """
SELECT DISTINCT sought.value, held.key
FROM (SELECT whole.* FROM {} whole WHERE {} AND lower(whole::text) ~ %s) t
CROSS JOIN LATERAL jsonb_each_text(to_jsonb(t)) held
JOIN unnest(%s::text[]) AS sought (value) ON strpos(lower(held.value), sought.value) > 0
"""
IN_STATISTICS = """
SELECT sought.value, s.tablename, s.attname
FROM pg_stats s
JOIN unnest(%s::text[]) AS sought (value)
  ON strpos(lower(concat(s.most_common_vals::text, s.histogram_bounds::text,
                         s.most_common_elems::text)), sought.value) > 0
"""

PHONE_DIGITS = """
SELECT sought.value
FROM unnest(%s::text[]) AS sought (value)
WHERE EXISTS (SELECT FROM contact_identifiers i
              WHERE i.space_id = %s AND i.phone_digits = right(sought.value, 7))
"""


class Canaries(list[str]):
    """Unique values, generated on request."""

    def text(self, name: str) -> str:
        return self._keep(f"{name}-{secrets.token_hex(6)}")

    def email(self) -> str:
        return self._keep(f"{secrets.token_hex(6)}@canary.example")

    def phone(self) -> str:
        return self._keep(f"+{10**14 + secrets.randbelow(10**14)}")

    def ip(self) -> str:
        first, second = (f"{0x1000 + secrets.randbelow(0xE000):x}" for _ in range(2))
        return self._keep(f"2001:db8:{first}:{second}::1")

    def uuid(self) -> str:
        return self._keep(str(uuid4()))

    def number(self) -> str:
        return self._keep(f"{10**13 + secrets.randbelow(10**13)}.5")

    def day(self) -> str:
        days = dt.timedelta(days=secrets.randbelow(120_000))
        return self._keep((dt.date(1583, 1, 1) + days).isoformat())

    def slots(self) -> dict[int, str]:
        """Generate a value for each profile field."""
        return (
            {slot: self.text("field") for slot in range(1, 16)}
            | {slot: self.number() for slot in range(16, 26)}
            | {slot: self.day() for slot in range(26, 31)}
        )

    def _keep(self, value: str) -> str:
        self.append(value)
        return value


@dataclass
class Person:
    """Two contacts that become one, and all data that can be stored about them."""

    stage: Stage
    personal: Canaries = field(default_factory=Canaries)
    kept_values: Canaries = field(default_factory=Canaries)
    """Values that came with the events and stay."""
    contact_id: int = 0
    merged_id: int = 0

    def __post_init__(self) -> None:
        self._queue = Queue(self.stage.connection, self.stage.space_id)
        self.emails = [self.personal.email() for _ in range(3)]
        self.tracking_id = self.personal.text("tracking")
        self.tokens = [self.personal.text("token") for _ in range(3)]
        self.fingerprint, self.ip = self.personal.text("fingerprint"), self.personal.ip()

    def browsing_bodies(self) -> list[dict[str, Any]]:
        """Return the API bodies that a site sends for two strangers, later found to be the same person."""
        return [
            self._event(trk_token=self.tokens[0], trk_source="google_ads",
                        trk_campaign=self.kept_values.text("campaign"),
                        trk_keyword=self.kept_values.text("word")),
            self._event(email=self.emails[0], trk_token=self.tokens[0],
                        fingerprint=self.fingerprint, ip=self.ip,
                        **{self.personal.text("unknown"): 1}, **self._profile()),
            self._event(email=self.emails[1], tracking_id=self.tracking_id,
                        heard_about_us=f"tv, {self.personal.text('answer')}",
                        trk_token=self.tokens[1], **self._profile()),
        ]  # fmt: skip

    def turns_out_to_be_one(self) -> list[dict[str, Any]]:
        """Return the event that merges the two, an event with another address, and an order sent twice."""
        order = {"event_name": "purchase", "idempotency_key": self.kept_values.text("key"),
                 "email": self.emails[2], "order_id": self.kept_values.text("order"),
                 "order_name": f"for {self.emails[0]}", "trk_token": self.tokens[0]}  # fmt: skip
        return [
            self._event(email=self.emails[0], tracking_id=self.tracking_id),
            self._event(email=self.emails[2], tracking_id=self.tracking_id),
            {**order, "phone": self.personal.phone(), "checkout_token": self.kept_values.text("checkout")},
            {**order, "phone": self.personal.phone(), "full_name": self.personal.text("twice")},
        ]

    def is_rejected(self) -> None:
        """Put rows on the inbox that the pipeline cannot process: one readable and two unreadable."""
        bad_event = event(email=self.emails[0], amount="none", full_name=self.personal.text("rejected"),
                          phone=self.personal.phone(), url=f"https://shop.example/{self.kept_values.text('bad')}",
                          profile_fields=self.personal.slots())  # fmt: skip
        self._queue.put(bad_event)
        hidden_text = self.personal.text("hidden")
        self._queue.put_row("event", f'{{"phone": "{hidden_text}", "trk_token": "{self.tokens[1]}')
        self._queue.put_row("other", f'{{"who": {{"mail": "{self.emails[1].upper()}"}}}}')

    def is_known_by_other_means(self) -> None:
        """Store values that no endpoint stores yet."""
        for contact_id in (self.contact_id, self.merged_id):
            details = {name: self.personal.text(name) for name in DETAILS}
            self.stage.connection.execute(
                SQL("UPDATE contacts SET {} WHERE space_id = %s AND id = %s").format(
                    SQL(", ").join(SQL("{} = %s").format(Identifier(name)) for name in details)
                ),
                (*details.values(), self.stage.space_id, contact_id),
            )
        for origin in (self.contact_id, self.merged_id):
            self.stage.identifier(self.contact_id, "location", self.personal.text("place"), origin_id=origin)
            former = self.personal.email()
            self.stage.identifier(self.contact_id, "former_email", former, origin_id=origin)
            device = self.personal.uuid()
            visit = self.stage.visit(self.contact_id, origin_id=origin, device=device)
            words = {name: self.personal.text(name) for name in (
                "event_name", "url", "referrer_host", "country", "device_type", "browser", "os",
                "language", "campaign",
            )}  # fmt: skip
            touch = Jsonb({"rule": "direct", "ad": {"ad_name": self.personal.text("touch")}})
            self.stage.hit(self.contact_id, visit, origin_id=origin, touch=touch, **words)
            self.stage.click(self.personal.uuid(), device)
            self._join_unsigned(origin)
        self.stage.connection.execute(
            "UPDATE contact_identifiers SET first_name = %s, last_name = %s"
            " WHERE space_id = %s AND contact_id = %s AND kind = 'name'",
            (self.personal.text("given"), self.personal.text("family"), self.stage.space_id,
             self.contact_id),
        )  # fmt: skip
        self._is_known_to_platforms()
        for column, text in (
            ("body", f'{{"who": "{self.emails[1]}", "x": "{self.personal.text("delivered")}"}}'),
            ("headers", Jsonb({"x-user": self.emails[0], "x": self.personal.text("header")})),
            ("detail", f"Nothing is made of {self.emails[2]} {self.personal.text('detail')}."),
            ("dedup_key", f"{self.tokens[0]} {self.personal.text('dedup')}"),
        ):
            self.stage.delivery(**{column: text})
        for row, reason, cells in (
            (1, "none", {"Mail": self.emails[0].upper(), "x": self.personal.text("cell")}),
            (2, f"The email {self.emails[1]} {self.personal.text('reason')} is none.", {}),
        ):
            self.stage.connection.execute(
                "INSERT INTO refused_rows (space_id, import_id, row, line, reason, cells)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                (self.stage.space_id, self.contact_id, row, row, reason, json.dumps(cells)),
            )

    def _join_unsigned(self, contact_id: int) -> None:
        self.stage.connection.execute(
            "INSERT INTO unsigned_joins VALUES (%s, %s, %s, now())",
            (self.stage.space_id, self.personal.text("joined"), contact_id),
        )

    def _is_known_to_platforms(self) -> None:
        """Store their cookies, a touchpoint's error, and what the platforms received and answered."""
        change, contact_key = self.stage.connection.execute, (self.stage.space_id, self.contact_id)
        for table in ("events", "touchpoints"):
            cookies = Jsonb({"fbp": self.personal.text("cookie")})
            change(
                SQL("UPDATE {} SET cookies = %s WHERE space_id = %s AND contact_id = %s").format(
                    Identifier(table)
                ),
                (cookies, *contact_key),
            )
        change(
            "UPDATE touchpoints SET warnings = ARRAY[%s] WHERE space_id = %s AND contact_id = %s",
            (self.personal.text("warning"), *contact_key),
        )
        (event_id,) = change(
            "SELECT min(id) FROM events WHERE space_id = %s AND contact_id = %s", contact_key
        ).fetchone() or (0,)
        delivery_id = self.stage.add_delivery(
            self.stage.destination(), event_id, request=Jsonb({"user": self.personal.text("told")}),
            answer=self.personal.text("answer"), error=self.personal.text("error"),
        )  # fmt: skip
        self.stage.attempt(delivery_id, error=self.personal.text("attempt"))

    def queue_rows(self) -> list[dict[str, Any]]:
        """Put rows on the inbox that are still unprocessed when the person is erased."""
        self._queue.put(
            hit(trk_token=self.tokens[2], url=f"https://shop.example/{self.kept_values.text('view')}",
                cookies={"fbp": self.personal.text("fbp")}, city=self.personal.text("city"),
                os=self.personal.text("os"), language=self.personal.text("language")),
            add_sender("signed_browser", person(trk_token=self.tokens[2], email=self.emails[2],
                                                full_name=self.personal.text("said"),
                                                phone=self.personal.phone())),
        )  # fmt: skip
        return [
            self._event(trk_token=self.tokens[2], email=self.emails[0],
                        full_name=self.personal.text("back"), phone=self.personal.phone()),
            self._event(fingerprint=self.fingerprint, ip=self.ip,
                        first_name=self.personal.text("first"),
                        last_name=self.personal.text("last")),
        ]  # fmt: skip

    def find(self) -> None:
        """Look up the ids of the two contacts."""
        ids = self.stage.connection.execute(
            "SELECT i.contact_id, m.id FROM contact_identifiers i JOIN contacts m"
            " ON m.space_id = i.space_id AND m.merged_into = i.contact_id"
            " WHERE i.space_id = %s AND i.kind = 'tracking_id' AND i.value = %s LIMIT 1",
            (self.stage.space_id, self.tracking_id),
        ).fetchone()
        assert ids is not None
        self.contact_id, self.merged_id = ids

    def _event(self, **values: Any) -> dict[str, Any]:
        return {
            "event_name": "view_content",
            "user_agent": self.personal.text("agent"),
            "url": f"https://shop.example/{self.kept_values.text('page')}",
            **values,
        }

    def _profile(self) -> dict[str, Any]:
        fields = {f"profile_field_{slot}": text for slot, text in self.personal.slots().items()}
        return {**fields, "full_name": self.personal.text("name"), "phone": self.personal.phone()}


def places(stage: Stage, canary_values: Iterable[str], table_names: Collection[str] = ()) -> Places:
    """Return where each value occurs in these tables, or in all: in the Space's rows and in tables without a
    Space.
    """
    columns_by_value: dict[str, set[tuple[str, str]]] = defaultdict(set)
    values = [*canary_values]
    pattern = "|".join(re.escape(value) for value in values)
    tables = stage.connection.execute(
        "SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid"
        " AND a.attname = 'space_id') FROM pg_class c"
        " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
        " AND (cardinality(%(within)s::text[]) = 0 OR c.relname = ANY(%(within)s::text[]))",
        {"within": list(table_names)},
    ).fetchall()
    for table, has_space in tables:
        rows = SQL("whole.space_id = {}").format(stage.space_id) if has_space else SQL("true")
        query = SQL(IN_COLUMNS).format(Identifier(table), rows)
        for value, column in stage.connection.execute(query, (pattern, values)):
            columns_by_value[value].add((table, column))
    phones = [value for value in values if value.startswith("+")]
    for (value,) in stage.connection.execute(PHONE_DIGITS, (phones, stage.space_id)):
        columns_by_value[value].add(("contact_identifiers", "phone_digits"))
    return columns_by_value


def sampled_places(connection: psycopg.Connection, canary_values: Iterable[str]) -> Places:
    """Return where each value occurs in PostgreSQL's statistics."""
    columns_by_value: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for value, table, column in connection.execute(IN_STATISTICS, ([*canary_values],)):
        columns_by_value[value].add((table, column))
    return columns_by_value
