"""Random histories of a Space whose page views are packed at any moment, before late ones, repeats,
merges, their undoing and erasures: all facts and all that is shown are those of a Space that packs
none. `HEADWATER_OLD_VIEW_HISTORIES=10000` makes it a long run.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import psycopg

from headwater.browsing.accepted import AcceptedHit
from headwater.browsing.old_views import see_to
from headwater.http.errors import Conflict
from headwater.privacy.erasure_job import erase_next
from tests.support.campaigns import campaign_size
from tests.support.old_views import answers, packed_views, settle, survivors, undo_merge
from tests.support.pipeline import DAY, MINUTE, T0, TABLES, Item, Stage, event, hit, person, touch
from tests.support.spaces import insert_space

USUAL = 25
HISTORIES = campaign_size("HEADWATER_OLD_VIEW_HISTORIES", USUAL, 10000)

TIMES = [
    T0 + offset
    for offset in (0, MINUTE, 9 * MINUTE, 20 * MINUTE, 45 * MINUTE, 70 * MINUTE, 3 * DAY)
]
PAGES = ("", "a", "b", "c", "b?x=1", "ü\"'\\", "d", "?utm_source=sms")
TOKENS = ("t1", "t1", "t1", "t2", "t2", "t3")
EMAILS = ("a@acme.com", "b@acme.com")
WEIGHTS = {"run": 6, "pack": 6, "repeat": 2, "unmerge": 3, "erase": 1}


class Chance:
    """Items and steps by chance, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.pick = self._random.choice

    def items(self) -> list[Item]:
        """Some items, in any order: mostly page views."""
        kinds = (*[self._view] * 9, self._meeting, self._saying, self._touch)
        return [self.pick(kinds)() for _ in range(self._random.randint(8, 16))]

    def steps(self) -> list[tuple[str, Any]]:
        """Steps of a history, with what each takes."""
        names = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=12)
        return [(name, self._taken(name)) for name in names]

    def _taken(self, name: str) -> Any:
        if name == "run":
            return self.items()
        if name == "pack":
            return self.pick((2, 4, 6, 6)), self.pick((3, 1000, 1000))
        return self._random.randrange(100)

    def _view(self) -> Item:
        return hit(
            trk_token=self.pick(TOKENS), key=str(UUID(int=self._random.getrandbits(128))),
            occurred_at=self.pick(TIMES), url=f"https://shop.example/{self.pick(PAGES)}",
            referrer=self.pick((None, "https://www.google.com/", "https://shop.example/")),
            country=self.pick((None, "DE", "FR")), os=self.pick((None, "iOS")),
        )  # fmt: skip

    def _meeting(self) -> Item:
        return event(
            email=self.pick(EMAILS), trk_token=self.pick(TOKENS), event_time=self.pick(TIMES)
        )

    def _saying(self) -> Item:
        return person(
            email=self.pick((None, *EMAILS)), trk_token=self.pick(TOKENS),
            occurred_at=self.pick(TIMES),
        )  # fmt: skip

    def _touch(self) -> Item:
        return touch(
            email=self.pick(EMAILS), source=self.pick(("sms", "direct")),
            occurred_at=self.pick(TIMES),
        )  # fmt: skip


class OpenStage(Stage):
    """A Space whose packed page views are among the others, as rows of the same table."""

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        rows = super().rows(table, *columns)
        if table == "hits" and columns == TABLES["hits"]:
            rows += [
                (
                    view.id, view.contact_id, view.origin_id, view.visit_id,
                    datetime.fromtimestamp(view.occurred_at / 1e6, UTC), view.source_id, None, None,
                )
                for view in packed_views(self)
            ]  # fmt: skip
        return rows


class Twin:
    """A Space to which a history happens, whose page views are packed or not."""

    def __init__(self, connection: psycopg.Connection, database_url: str, *, packs: bool) -> None:
        self.stage = OpenStage(connection, insert_space(connection))
        self._database_url = database_url
        self._packs = packs
        self._views: list[Item] = []
        self.most_packed = 0

    def run(self, items: list[Item]) -> None:
        self._views += [item for item in items if isinstance(item, AcceptedHit)]
        self.stage.run(*items)

    def pack(self, how: tuple[int, int]) -> None:
        """Do a piece, as of 30 days after one of the times."""
        if self._packs:
            since, most = how
            now = datetime.fromtimestamp((TIMES[since] + MINUTE // 2) / 1000, UTC)
            see_to(self.stage.connection, self.stage.space_id, 30, most, now + timedelta(days=30))
            self.most_packed = max(self.most_packed, len(packed_views(self.stage)))

    def repeat(self, pick: int) -> None:
        if self._views:
            self.stage.run(self._views[pick % len(self._views)])

    def unmerge(self, pick: int) -> None:
        merged = [
            contact for contact, home in self.stage.rows("contacts", "id", "merged_into") if home
        ]
        if merged:
            with suppress(Conflict):
                undo_merge(self._database_url, self.stage, merged[pick % len(merged)])

    def erase(self, pick: int) -> None:
        living = survivors(self.stage)
        if living:
            self.stage.connection.execute(
                "INSERT INTO erasures (contact_id, receipt_mark, space_id)"
                " VALUES (%s, nextval('receipt_ids'), %s)",
                (living[pick % len(living)], self.stage.space_id),
            )
            while erase_next(self.stage.connection, self.stage.space_id, 1000):
                pass

    def answers(self) -> dict[str, list[Any]]:
        """All that is shown."""
        return answers(self._database_url, self.stage)

    def shown(self) -> list[Any]:
        """What is shown of each contact, without the numbers of this Space's rows."""
        seen = self.answers()
        return [
            [each and each["status"] for each in seen["receipts"]],
            [json.loads(contact)["browsing_session_hits"] for contact in seen["contacts"]],
            [
                [
                    (
                        each["kind"],
                        each["kind"] == "merge" or each["at"],
                        len(each.get("page_views", ())),
                    )
                    for each in line.items
                ]
                for first, *later in seen["pages"]
                for line in (first.timeline, *later)
            ],
            [
                [(each["kind"], each["value"], each["sender"]) for each in first.identifiers]
                for first, *_ in seen["pages"]
            ],
        ]


def judge(twins: list[Twin], chance: Chance) -> None:
    first, history = chance.items(), chance.steps()
    for twin in twins:
        twin.run(first)
        for name, value in history:
            getattr(twin, name)(value)
    packed, plain = twins
    assert packed.stage.dump() == plain.stage.dump()
    assert packed.shown() == plain.shown()
    before = packed.answers()
    settle(packed.stage)
    assert packed.answers() == before


def test_it_works(connection: psycopg.Connection, database_url: str) -> None:
    most: list[int] = []
    for seed in range(HISTORIES):
        twins = [Twin(connection, database_url, packs=packs) for packs in (True, False)]
        try:
            judge(twins, Chance(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
        most.append(twins[0].most_packed)
    assert sum(count > 2 for count in most) >= HISTORIES / 2, most
