"""Every tool of assistants that writes adds one entry to the audit log, with the user and the token, and
without the data of contacts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headwater.assistants.mcp.tools import TOOLS
from tests.mcp.assistants import Assistant
from tests.support.audited import CANARY, EMAIL, Desk, last_entry, list_entries
from tests.support.factories import Stage

WRITERS = {tool.name for tool in TOOLS if tool.writes}
SPENT = {"date": "2026-05-13", "platform": "tiktok", "amount": 40, "currency": "USD"}


def contact(stage: Stage) -> int:
    return Desk(stage, 0).contact()


def member(stage: Stage) -> dict[str, Any]:
    return {"contact_id": stage.contact(email=EMAIL, company_id=stage.company(name=CANARY))}


def spend_range(stage: Stage) -> dict[str, Any]:
    Desk(stage, 0).spend()
    return {"start_date": "2026-05-13", "end_date": "2026-05-13"}


CALLS: dict[str, Callable[[Stage], dict[str, Any]]] = {
    "put_spend": lambda _: {"spend": [SPENT]},
    "delete_spend": spend_range,
    "create_contact": lambda _: {"emails": [EMAIL], "names": [CANARY]},
    "update_contact": lambda stage: {"contact_id": contact(stage), "names": [f"{CANARY} Ash"]},
    "attach_contact_company": lambda stage: {"contact_id": contact(stage), "company_id": stage.company()},
    "detach_contact_company": member,
    "delete_contact_pii": lambda stage: {"contact_id": contact(stage)},
    "update_company": lambda stage: {"company_id": stage.company(), "name": CANARY},
    "update_event_amount": lambda stage: {"event_id": stage.event(contact(stage), amount=1), "amount": 2},
    "delete_event": lambda stage: {"event_id": stage.event(contact(stage))},
}
"""A call of each tool that changes data."""
NOT_RECORDED: dict[str, tuple[str, Callable[[Stage], dict[str, Any]]]] = {
    "track_event": ("ingestion, which is counted", lambda _: {"event_name": "purchase", "email": EMAIL})
}
CONFIRMED = {"delete_spend", "delete_contact_pii", "delete_event"}
"""Tools whose first call only shows what they would delete."""


def test_it_works() -> None:
    assert CALLS.keys() | NOT_RECORDED.keys() == WRITERS
    assert not CALLS.keys() & NOT_RECORDED.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_adds_one_entry(assistant: Assistant, stage: Stage, name: str) -> None:
    arguments, before = CALLS[name](stage), last_entry(stage.connection)
    if name in CONFIRMED:
        arguments["confirm"] = assistant.call(name, **arguments)["confirm"]
        assert list_entries(stage.connection, before) == [], "nothing has gone yet"
    assistant.call(name, **arguments)
    (entry,) = list_entries(stage.connection, before)
    assert (entry["space_id"], entry["way"]) == (stage.space_id, "assistant")
    assert (entry["action"], entry["user_id"]) == (name, assistant.user_id)
    assert entry["token_id"]
    assert entry["address"]
    assert (entry["key_id"], entry["operator"]) == (None, None)
    assert entry["changes"]
    assert CANARY not in json.dumps(entry).lower()


@pytest.mark.parametrize("name", NOT_RECORDED)
def test_other_tools_add_none(assistant: Assistant, stage: Stage, name: str) -> None:
    before = last_entry(stage.connection)
    assistant.call(name, **NOT_RECORDED[name][1](stage))
    assert list_entries(stage.connection, before) == []


@pytest.mark.parametrize("name", ["update_contact", "update_event_amount", "detach_contact_company"])
def test_a_refused_call_adds_none(assistant: Assistant, stage: Stage, name: str) -> None:
    arguments = {**CALLS[name](stage), "contact_id": 999_999_999_999, "event_id": 999_999_999_999}
    before = last_entry(stage.connection)
    argument_names = next(tool for tool in TOOLS if tool.name == name).arguments
    assistant.refusal(name, **{key: value for key, value in arguments.items() if key in argument_names})
    assert list_entries(stage.connection, before) == []
