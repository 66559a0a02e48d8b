"""JSON schemas of the bodies and answers of the endpoints of companies, for the document."""

from __future__ import annotations

from typing import Any

from headwater.http.inputs.pagination import envelope_schema
from headwater.http.openapi import answer, body, conflict
from headwater.people.companies.updates import CHANGE

_ID: dict[str, Any] = {"type": "integer"}
_FIELDS: dict[str, dict[str, Any]] = {
    "id": _ID,
    "domain": {
        "type": ["string", "null"],
        "description": (
            "Unique in the Space, letters beyond ASCII as `xn--…`; null when known by an external "
            "id only, or released."
        ),
    },
    "external_id": {
        "type": ["string", "null"],
        "description": "Your own id; unique in the Space; null when never given, or released.",
    },
    "name": {"type": "string"},
}


def _object(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": list(names), "properties": {name: _FIELDS[name] for name in names}}


PAGE = answer("One page.", envelope_schema(_object("id", "domain", "external_id")))
COMPANY = answer("The company.", _object("id", "domain", "name", "external_id"))
CHANGED = answer("The company as it is now.", _object("id", "domain", "external_id", "name"))
CLAIMED = conflict(
    "Another company of the Space has the domain or the external id.",
    field={"type": "string", "enum": ["domain", "external_id"]},
    conflicting_company_id=_ID,
)
BODY_OF_CHANGE = body(CHANGE.schema)
