"""Ids in paths: everything has exactly one address, and typed clients get the specified types."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

INTEGERS = [
    ("put", "/events/{event_id}"), ("get", "/contacts/{id}"), ("put", "/contacts/{id}"),
    ("put", "/contacts/{id}/company"), ("delete", "/contacts/{id}/company"),
    ("delete", "/contacts/{id}/pii"), ("get", "/companies/{id}"), ("put", "/companies/{id}"),
    ("get", "/companies/exports/{export_id}"), ("get", "/events/exports/{export_id}"),
    ("get", "/contacts/exports/{export_id}"),
    *(("get", f"/{kind}/imports/{{import_id}}")
      for kind in ("events", "contacts", "touchpoints", "spend", "ads")),
]  # fmt: skip


def id_schema(api: Api, method: str, path: str) -> dict[str, Any]:
    document = api.anonymous("GET", "/public-api/v1/openapi.json", {}).json()
    [parameter] = [
        entry for entry in document["paths"][f"/public-api/v1{path}"][method]["parameters"]
        if entry["in"] == "path"
    ]  # fmt: skip
    return parameter["schema"]


@pytest.mark.parametrize(("method", "path"), INTEGERS)
def test_integers(api: Api, method: str, path: str) -> None:
    schema = id_schema(api, method, path)
    assert (schema["type"], schema["minimum"]) == ("integer", 1)
    assert "pattern" not in schema


@pytest.mark.parametrize("method", ["get", "delete"])
def test_texts(api: Api, method: str) -> None:
    assert id_schema(api, method, "/events/{event_id}")["type"] == "string"


@pytest.mark.parametrize("zeros", ["0", "00"])
def test_leading_zeros_are_another_id(api: Api, stage: Stage, zeros: str) -> None:
    contact, company = stage.contact(), stage.company()
    event = stage.event(contact)
    for method, path, body in (
        ("GET", f"/events/{zeros}{event}", None), ("PUT", f"/events/{zeros}{event}", {"amount": 1}),
        ("GET", f"/contacts/{zeros}{contact}", None),
        ("PUT", f"/contacts/{zeros}{contact}", {"names": []}),
        ("PUT", f"/contacts/{zeros}{contact}/company", {"company_id": company}),
        ("DELETE", f"/contacts/{zeros}{contact}/company", None),
        ("DELETE", f"/contacts/{zeros}{contact}/pii", None),
        ("GET", f"/companies/{zeros}{company}", None),
        ("PUT", f"/companies/{zeros}{company}", {"name": "x"}),
        ("GET", f"/receipts/{zeros}{event}", None),
    ):  # fmt: skip
        assert api.send(method, path, json=body).status_code == 404, path
    assert api.send("DELETE", f"/events/{zeros}{event}").status_code == 200
    assert api.get(f"/events/{event}").status_code == 200
