"""Carries out histories with the product's own functions, called in the same way as its API calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import AsyncConnection

from headwater.events.models import EventChange
from headwater.events.updates import update_event
from headwater.forwarding.deliveries.changes import remove_event
from headwater.http.errors import Conflict, NotFound
from headwater.intake.inbox.rejected import replay_rejected
from headwater.intake.merging.membership import change_company
from headwater.intake.merging.unmerge import unmerge
from headwater.intake.pipeline.reclassification import reclassify_next
from headwater.people.contacts.inputs import read_changes
from headwater.people.contacts.updates import update_contact
from headwater.privacy.erasure_job import erase_next
from headwater.privacy.erasures import request_erasure
from headwater.spaces.settings_input import read_changes as read_settings
from headwater.spaces.spaces import change_space, fetch_space
from headwater.spend.ads.catalogue import AdName, put_names
from tests.reports.histories import NETWORKS, SOURCE_NAMES, Arrive, Change, Crash, History, Reject, Step
from tests.support.pipeline import Stage, new_stage
from tests.support.trained_models import plant_trained_model

TRAINED_MODELS = (
    ("one", "purchase", {"google_ads": 600, "email": 300, "direct": 99, "referral": 1}),
    ("two", "sign_up", {"google_ads": 1, "facebook_ads": 1, "ai_chat_gpt": 1}),
)
"""The trained models of every Space: names, event names and Markov weights; only proportions matter."""

Work = Callable[[AsyncConnection], Awaitable[Any]]
Between = Callable[["World", Step], None]
"""Called after every step: to ask, to rebuild, or to roll back."""


@dataclass
class World:
    """The Space of a history."""

    connection: psycopg.Connection
    stage: Stage
    runner: asyncio.Runner
    reader: AsyncConnection
    """The connection for asynchronous calls."""
    steps: list[Step] = field(default_factory=list[Step])
    questions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The questions asked about it so far."""

    @property
    def space_id(self) -> int:
        return self.stage.space_id

    def ids(self, table: str, condition: str = "true") -> list[int]:
        query = f"SELECT id FROM {table} WHERE space_id = %s AND {condition} ORDER BY id"
        return [row[0] for row in self.connection.execute(query, (self.space_id,))]

    def run(self, work: Callable[[AsyncConnection], Awaitable[Any]], *, rolls_back: bool = False) -> Any:
        """Run work in its own transaction, which may be rolled back."""

        async def in_a_transaction() -> Any:
            async with self.reader.transaction(force_rollback=rolls_back):
                return await work(self.reader)

        return self.runner.run(in_a_transaction())


def new_world(
    connection: psycopg.Connection, runner: asyncio.Runner, reader: AsyncConnection, history: History
) -> World:
    stage = new_stage(connection, timezone=history.zone, company_identity_mode=history.mode)
    for number in (1, 16):
        connection.execute(
            "INSERT INTO field_labels (space_id, field, label) VALUES (%s, %s, 'Label')",
            (stage.space_id, f"profile_field_{number}"),
        )
    for name, event_name, weights in TRAINED_MODELS:
        plant_trained_model(connection, stage.space_id, name, event_name, weights)
    for number, network in enumerate(NETWORKS, start=70):
        connection.execute(
            "INSERT INTO paid_networks (space_id, number, name, spellings, platform)"
            " VALUES (%s, %s, %s, '{}', %s)",
            (stage.space_id, number, network, network.removesuffix("_ads")),
        )
    world = World(connection, stage, runner, reader)
    names = [AdName("campaign", campaign_id, name) for campaign_id, name in history.names]
    world.run(lambda connection: put_names(connection, stage.space_id, names))
    return world


def play(world: World, history: History, hooks: Sequence[Between] = ()) -> None:
    """Carry out a history, step by step, and call the hooks after each."""
    for step in history.steps:
        world.steps.append(step)
        carry_out(world, step)
        for between in hooks:
            between(world, step)


def carry_out(world: World, step: Step, *, rolls_back: bool = False) -> None:
    if isinstance(step, Crash):
        carry_out(world, step.step, rolls_back=True)
    elif isinstance(step, Arrive):
        arrive(world, step, rolls_back=rolls_back)
    elif isinstance(step, Reject):
        world.stage.put(step.item)
        world.stage.process()
    elif isinstance(step, Change):
        change(world, step, rolls_back=rolls_back)
    else:
        replay(world)


def arrive(world: World, step: Arrive, *, rolls_back: bool) -> None:
    """Store the items and process them. A batch that is rolled back leaves the items in the inbox, to be
    processed with the next one.
    """
    world.stage.put(*step.items)
    with world.connection.transaction(force_rollback=True) if rolls_back else nullcontext():
        world.stage.process(step.batch)


def replay(world: World) -> None:
    replay_rejected(world.connection, world.space_id)
    world.connection.execute(
        "UPDATE inbox SET payload = replace(payload, '\"secret\"', '\"7\"') WHERE space_id = %s",
        (world.space_id,),
    )
    world.stage.process()


def change(world: World, step: Change, *, rolls_back: bool) -> None:
    """Change one of the Space's objects; do nothing if it has no such object."""
    if step.kind in _WORKERS:
        _WORKERS[step.kind](world, step, rolls_back=rolls_back)
        return
    work = _WORK[step.kind](world, step)
    if work is not None:
        world.run(work, rolls_back=rolls_back)


def erase(world: World, step: Change, *, rolls_back: bool) -> None:
    contact_id = _pick(world.ids("contacts", "merged_into IS NULL"), step.number)
    if contact_id is None:
        return
    world.run(lambda connection: request_erasure(connection, world.space_id, contact_id))
    with world.connection.transaction(force_rollback=True) if rolls_back else nullcontext():
        while erase_next(world.connection, world.space_id):
            pass


def name_source(world: World, step: Change, *, rolls_back: bool) -> None:
    """Map a value of utm_source to a source, to another source or to none, and reclassify some or all of the
    stored touches.
    """
    name = SOURCE_NAMES[step.number % len(SOURCE_NAMES)]
    source = ("facebook_ads", "email", "")[step.other_number % 3]
    changes = read_settings({f"source_name.{name}": source})
    world.run(lambda connection: change_space(connection, world.space_id, changes))
    with world.connection.transaction(force_rollback=True) if rolls_back else nullcontext():
        for _ in range(step.number):
            if not reclassify_next(world.connection, world.space_id, 1 + step.other_number):
                break


def _pick(ids: list[int], number: int) -> int | None:
    return ids[number % len(ids)] if ids else None


def _unmerge(world: World, step: Change) -> Work | None:
    contact_id = _pick(world.ids("contacts", "merged_into IS NOT NULL"), step.number)

    async def undo(connection: AsyncConnection) -> None:
        assert contact_id is not None
        try:
            async with connection.transaction():
                await unmerge(connection, world.space_id, contact_id)
        except (Conflict, NotFound):
            pass  # an erased contact stays unchanged

    return undo if contact_id is not None else None


def _attach(world: World, step: Change) -> Work | None:
    contact_id = _pick(world.ids("contacts"), step.number)
    company_id = _pick(world.ids("companies"), step.other_number)
    if contact_id is None or company_id is None:
        return None
    return lambda connection: change_company(connection, world.space_id, contact_id, company_id)


def _detach(world: World, step: Change) -> Work | None:
    contact_id = _pick(world.ids("contacts"), step.number)
    if contact_id is None:
        return None
    return lambda connection: change_company(connection, world.space_id, contact_id, None)


def _amount(world: World, step: Change) -> Work | None:
    event_id = _pick(world.ids("events"), step.number)
    if event_id is None:
        return None
    event_change = EventChange(None if step.value is None else Decimal(step.value))
    return lambda connection: update_event(connection, world.space_id, event_id, event_change)


def _delete(world: World, step: Change) -> Work | None:
    event_id = _pick(world.ids("events"), step.number)
    if event_id is None:
        return None
    return lambda connection: remove_event(connection, world.space_id, event_id)


def _name(world: World, step: Change) -> Work | None:
    name = AdName("campaign", ("11", "12")[step.number % 2], ("Aardvark", "Zebra")[step.other_number % 2])
    return lambda connection: put_names(connection, world.space_id, [name])


def _fields(world: World, step: Change) -> Work | None:
    contact_id = _pick(world.ids("contacts"), step.number)
    values = read_changes({"custom_fields": {"profile_field_1": step.value}})

    async def update(connection: AsyncConnection) -> None:
        assert contact_id is not None
        space = await fetch_space(connection, world.space_id)
        await update_contact(connection, space, contact_id, values)

    return update if contact_id is not None else None


_WORKERS = {"erase": erase, "source_name": name_source}
_WORK: dict[str, Callable[[World, Change], Work | None]] = {
    "unmerge": _unmerge, "attach": _attach, "detach": _detach, "amount": _amount,
    "delete": _delete, "name": _name, "fields": _fields,
}  # fmt: skip
