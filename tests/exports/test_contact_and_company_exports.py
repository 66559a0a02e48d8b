"""Exports of contacts and companies: by creation time, with the fields of lists and more."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.support.exports import Exports
from tests.support.factories import NOON, Stage

RANGE = {"start_date": "2026-05-13 00:00:00", "end_date": "2026-05-13 23:59:59"}


def test_contacts(stage: Stage, exports: Exports) -> None:
    older = stage.contact(email="a@b.org", name="Ann", profile_field_1="x\\y", profile_field_16=5)
    newer = stage.contact(profile_field_26=NOON)
    merged_id = stage.contact(merged_into=older)
    stage.identifier(older, "email", "a@b.org")
    stage.identifier(older, "email", "old@b.org", origin_id=merged_id)
    for number in range(6):
        stage.identifier(older, "trk_token", f"t{number}")
    stage.contact(created_at=NOON + timedelta(days=1))
    rows = exports.export("contacts", **RANGE)
    assert [row["id"] for row in rows] == [newer, older]
    first = rows[1]
    assert first["emails"] == ["a@b.org", "old@b.org"]
    assert (first["email"], first["name"], first["phone"]) == ("a@b.org", "Ann", None)
    assert (first["profile_field_1"], first["profile_field_16"]) == ("x\\y", 5)
    assert rows[0]["profile_field_26"] == "2026-05-13T12:00:00Z"
    assert "trk_tokens" not in first
    with_tokens = exports.export("contacts", **RANGE, include_trk_tokens=True)
    assert with_tokens[1]["trk_tokens"] == ["t5", "t4", "t3", "t2", "t1"]
    params = {**RANGE, "include_all_emails": 1, "include_custom_fields": 1, "include_trk_tokens": 1}
    assert exports.api.get("/contacts", params=params).json()["data"] == with_tokens
    assert exports.export("contacts", **RANGE, include_trk_tokens=False) == rows


def test_companies(stage: Stage, exports: Exports) -> None:
    older = stage.company(domain="acme.example", name='"Acme"\n')
    newer = stage.company(external_id="X-1", name="Other", created_at=NOON + timedelta(hours=1))
    stage.company(created_at=NOON + timedelta(days=1))
    assert exports.export("companies", **RANGE) == [
        {"id": newer, "domain": None, "external_id": "X-1", "name": "Other",
         "created_at": "2026-05-13T13:00:00Z"},
        {"id": older, "domain": "acme.example", "external_id": None, "name": '"Acme"\n',
         "created_at": "2026-05-13T12:00:00Z"},
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["contacts", "companies"])
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["start_date", "end_date"]),
        ({"start_date": RANGE["start_date"]}, ["end_date"]),
        ({"end_date": RANGE["end_date"]}, ["start_date"]),
        ({**RANGE, "start_date": "2026-05-13"}, ["start_date"]),
        ({**RANGE, "end_date": RANGE["start_date"]}, ["end_date"]),
        ({**RANGE, "end_date": 5}, ["end_date"]),
    ],
)
def test_bad_requests_are_refused(
    exports: Exports, kind: str, body: dict[str, Any], fields: list[str]
) -> None:
    assert list(exports.refusal(kind, **body)) == fields


@pytest.mark.parametrize("value", ["yes", 2, 1.5, [True], {}])
def test_a_flag_is_true_or_false(exports: Exports, value: object) -> None:
    assert list(exports.refusal("contacts", **RANGE, include_trk_tokens=value)) == ["include_trk_tokens"]


@pytest.mark.parametrize("kind", ["contacts", "companies"])
def test_the_file_is_named_after_what_it_holds(exports: Exports, kind: str) -> None:
    export_id = exports.ask(kind, **RANGE)
    exports.work()
    link = exports.status(export_id, kind)["download_url"]
    name = rf'"{kind}-2026-05-13_00_00_00_2026-05-13_23_59_59-[0-9a-f-]{{36}}\.ndjson\.gz"'
    assert re.search(name, exports.fetch(link).headers["content-disposition"])
