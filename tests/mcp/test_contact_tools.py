"""Tools for contacts answer and act like the API."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from headwater.assistants.mcp.tools import contacts as contact_tools
from headwater.people.contacts import queries as contact_queries
from tests.mcp.assistants import Assistant, tool_rows
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api, journey_items

UNKNOWN = 999_999_999_999


def ada(stage: Stage, tag: str = "") -> int:
    contact_id = stage.contact(email=f"ada{tag}@example.com", name="Ada", profile_field_1="Pro")
    for kind, value in (("email", f"ada{tag}@example.com"), ("name", "Ada"), ("trk_token", "t1")):
        stage.identifier(contact_id, kind, value)
    return contact_id


def test_it_works(assistant: Assistant, stage: Stage, api: Api) -> None:
    contact_id = ada(stage)
    expected = api.get(f"/contacts/{contact_id}").json()
    assert assistant.call("get_contact", contact_id=contact_id) == expected
    assert assistant.call("find_contact_by_email", email="ADA@example.com") == expected


def test_what_is_shown_can_be_chosen(assistant: Assistant, stage: Stage, api: Api) -> None:
    contact_id = ada(stage)
    stage.label_field("profile_field_1", "Plan")
    options = {"include_trk_tokens": 1, "use_custom_field_labels": 1}
    expected = api.get(f"/contacts/{contact_id}", params=options).json()
    assert expected["custom_fields"] == {"Plan": "Pro"}
    assert assistant.call("get_contact", contact_id=contact_id, **options) == expected


def test_a_merged_contact_is_its_survivor(assistant: Assistant, stage: Stage) -> None:
    contact_id = ada(stage)
    merged_id = stage.contact(merged_into=contact_id)
    assert assistant.call("get_contact", contact_id=merged_id)["id"] == contact_id
    assert assistant.call("get_contact_journey", contact_id=merged_id)["id"] == contact_id


def test_several_with_one_address_are_told(assistant: Assistant, stage: Stage) -> None:
    first, second = ada(stage), ada(stage)
    refusal = assistant.refusal("find_contact_by_email", email="ada@example.com")
    assert "contact_ids" in refusal
    assert str(first) in refusal
    assert str(second) in refusal
    missing = assistant.refusal("find_contact_by_email", email="nobody@example.com")
    assert "Check its spelling" in missing


def test_lists_are_those_of_the_api(assistant: Assistant, stage: Stage, api: Api) -> None:
    for n in range(3):
        ada(stage, f"{n}")
    options = {"include_all_emails": 1, "include_custom_fields": 1, "include_trk_tokens": 1}
    expected = api.get("/contacts", params={**RANGE, **options}).json()["data"]
    times = {"created_at": "2026-05-13T12:00:00+00:00"}
    answer = assistant.call("list_contacts", **RANGE, **options)
    assert answer["rows"] == [row | times for row in tool_rows(expected)]
    assert (answer["total"], answer["total_is_more"]) == (3, False)
    selection = assistant.call("list_contacts", email=["ada1@example.com", "ada2@example.com"])
    assert [row["email"] for row in selection["rows"]] == ["ada2@example.com", "ada1@example.com"]
    assert assistant.call("list_contacts")["total"] == 3


def test_contacts_are_counted_up_to_a_limit(
    assistant: Assistant, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_tools, "MOST_COUNTED", 2)
    for number, is_more in ((1, False), (2, False), (3, True)):
        ada(stage, f"{number}")
        answer = assistant.call("list_contacts")
        assert (answer["total"], answer["total_is_more"]) == (min(number, 2), is_more)


def test_contacts_are_found_by_name(
    assistant: Assistant, stage: Stage, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_contact(*names: str) -> int:
        contact_id = stage.contact(name=names[0])
        for name in names:
            stage.identifier(contact_id, "name", name)
        return contact_id

    jurgen, ozil, percent = (
        add_contact("Jürgen Müller"),
        add_contact("Mesut ÖZIL", "Özil"),
        add_contact("100 %"),
    )
    for fragment, expected in (
        ("MÜLLER", [jurgen]), ("jürgen m", [jurgen]), ("özil", [ozil]), ("100 %", [percent]),
        ("%%", []), ("xyz", []),
    ):  # fmt: skip
        answer = assistant.call("list_contacts", name=fragment)
        assert [row["id"] for row in answer["rows"]] == expected, fragment
        assert answer["total"] == len(expected)
    assert [row["id"] for row in assistant.call("list_contacts", name="il")["rows"]] == [ozil]
    monkeypatch.setattr(contact_queries, "MAX_SEARCHED_CONTACTS", 1)
    for fragment, expected in (("jürgen", [jurgen]), ("MÜLLER", []), ("100", [percent]), ("0 %", [percent])):
        answer = assistant.call("list_contacts", name=fragment)
        assert [row["id"] for row in answer["rows"]] == expected, fragment
        assert "latest 20,000" in answer["searched"]
    first = assistant.call("list_contacts", name="er", per_page=1)
    assert first["next_cursor"] is None
    assert "The name must not be given with email." in assistant.refusal(
        "list_contacts", name="er", email="a@b.example"
    )
    assert "The name must have 2 to 255" in assistant.refusal("list_contacts", name=" x")
    assert api.get("/contacts", params={**RANGE, "name": "xyz"}).json()["data"] != []


def test_a_list_tells_when(assistant: Assistant, stage: Stage) -> None:
    contact_id = ada(stage)
    for days in (0, 9, 3):
        stage.event(contact_id, event_time=NOON - timedelta(days=days))
    (row,) = assistant.call("list_contacts", period="2026-05")["rows"]
    assert (row["first_event"], row["last_event"]) == (
        "2026-05-04T12:00:00+00:00", "2026-05-13T12:00:00+00:00",
    )  # fmt: skip
    assert assistant.call("list_contacts", period="2026-04")["total"] == 0
    periods = {"period": "2026-05", **RANGE}
    assert "The period must not be given with" in assistant.refusal("list_contacts", **periods)
    assert "there are: today" in assistant.refusal("list_contacts", period="soon")


def test_cursors_lead_through_everything(assistant: Assistant, stage: Stage) -> None:
    contacts = {ada(stage, f"{n}") for n in range(5)}
    ids, cursor = [], None
    while True:
        page = assistant.call("list_contacts", **RANGE, per_page=2, cursor=cursor)
        ids += [row["id"] for row in page["rows"]]
        if not (cursor := page["next_cursor"]):
            break
    assert len(ids) == len(contacts)
    assert set(ids) == contacts


def test_a_journey_is_that_of_the_api(assistant: Assistant, stage: Stage, api: Api) -> None:
    contact_id = ada(stage)
    for n, source in enumerate(("google_ads", "direct", "facebook_ads")):
        stage.touchpoint(contact_id, source, occurred_at=NOON + timedelta(hours=n))
    stage.event(contact_id, event_time=NOON + timedelta(days=1), amount=5)
    for hide in (0, 1):
        params = {"include_events": 1, "hide_direct_touchpoints": hide}
        items = api.get(f"/contacts/{contact_id}", params=params).json()["events"]
        arguments = {"contact_id": contact_id, "hide_direct_touchpoints": hide}
        answer = assistant.call("get_contact_journey", **arguments)
        items = tool_rows(journey_items(items))
        assert answer == {"id": contact_id, "items": items, "left_out": 0, "next_cursor": None}
        few = assistant.call("get_contact_journey", **arguments, limit=1)
        cursor = few.pop("next_cursor")
        assert few == {"id": contact_id, "items": items[:1], "left_out": len(items) - 1}
        later_items = assistant.call("get_contact_journey", **arguments, cursor=cursor)
        assert later_items == {
            "id": contact_id, "items": items[1:], "left_out": 0, "next_cursor": None,
        }  # fmt: skip


def test_making_and_changing(assistant: Assistant, api: Api) -> None:
    answer = assistant.call(
        "create_contact", emails=["Eve@Example.com"], custom_fields={"profile_field_16": 2.5}
    )
    contact_id = answer["id"]
    assert api.get(f"/contacts/{contact_id}").json()["custom_fields"] == {"profile_field_16": 2.5}
    update = assistant.call("update_contact", contact_id=contact_id, names=["Eve", "Eva"])
    assert update["id"] == contact_id
    contact = api.get(f"/contacts/{contact_id}").json()
    assert contact["names"] == ["Eve", "Eva"]
    assert contact["emails"] == ["eve@example.com"]
    assert "emails" in assistant.refusal("create_contact", emails=["x"])
    assert "Contact not found." in assistant.refusal("update_contact", contact_id=UNKNOWN, names=["E"])


def test_companies_are_attached_and_detached(
    assistant: Assistant, stage: Stage, connection: psycopg.Connection
) -> None:
    contact_id, company_id = ada(stage), stage.company()
    arguments = {"contact_id": contact_id, "company_id": company_id}
    assert assistant.call("attach_contact_company", **arguments) == {
        "id": contact_id, "company_id": company_id,
    }  # fmt: skip
    member = "SELECT company_id FROM contacts WHERE space_id = %s AND id = %s"
    row = connection.execute(member, (stage.space_id, contact_id)).fetchone()
    assert row == (company_id,)
    for _ in range(2):
        assert assistant.call("detach_contact_company", contact_id=contact_id) == {
            "id": contact_id, "company_id": None,
        }  # fmt: skip
    refusal = assistant.refusal("attach_contact_company", contact_id=contact_id, company_id=UNKNOWN)
    assert refusal == "Company not found.\nFind ids with find_contact_by_email and list_companies."


def test_erasing_is_asked_for(assistant: Assistant, stage: Stage, connection: psycopg.Connection) -> None:
    contact_id = ada(stage)
    merged_id = stage.contact(merged_into=contact_id)
    query = "SELECT contact_id FROM erasures WHERE space_id = %s"
    preview = assistant.call("delete_contact_pii", contact_id=merged_id)
    assert preview["would_go"]["contact"]["emails"] == ["ada@example.com"]
    assert connection.execute(query, (stage.space_id,)).fetchall() == []
    answer = assistant.call("delete_contact_pii", contact_id=merged_id, confirm=preview["confirm"])
    assert (answer["contact_id"], answer["status"]) == (contact_id, "queued")
    assert connection.execute(query, (stage.space_id,)).fetchall() == [(contact_id,)]
