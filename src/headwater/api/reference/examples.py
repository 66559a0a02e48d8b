"""Real examples of every operation: one small shop's requests, in a valid order for a new installation, and
the answers. A test sends them all.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from headwater.http.errors import (
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    RateLimited,
    Unauthorized,
    Unavailable,
    make_problem,
)
from headwater.http.openapi import CONFLICT, PROBLEMS


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request and its answer."""

    path: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    body: Any = None
    """JSON, or a file's text."""
    response: Any = None
    conflict: Any = None
    """The answer with status 409, if possible."""

    def target(self, template: str) -> str:
        """Return path and query for an OpenAPI path."""
        filled = template.format(**{name: quote(text, safe="@") for name, text in self.path.items()})
        return f"{filled}?{urlencode(self.query, safe='[]@:')}" if self.query else filled


_TEXT = files("headwater.api.reference").joinpath("examples.json").read_bytes()
EXAMPLES = msgspec.json.decode(_TEXT, type=dict[str, Example])
"""By operation id."""

_PROBLEMS: dict[int, Problem] = {
    401: Unauthorized(),
    403: Forbidden("The API key lacks the scope events:read."),
    404: NotFound("Event"),
    422: Invalid({"event_name": ["The event_name is required."], "amount": ["The amount must be a number."]}),
    429: RateLimited(30),
    503: Unavailable(),
}
"""A real instance of every error with members of its own."""
ERRORS: dict[int, Any] = {
    status: msgspec.json.decode(_PROBLEMS.get(status, make_problem(status)).body()) for status in PROBLEMS
}


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to an OpenAPI document, for all tools that read it."""
    for operations in document["paths"].values():
        for operation in operations.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                _add(operation, example)
    for status, (name, _) in PROBLEMS.items():
        answer = document["components"]["responses"][name]["content"]["application/json"]
        answer["example"] = ERRORS[status]


def _read_value(text: str, schema: dict[str, Any]) -> Any:
    return msgspec.json.decode(text) if schema.get("type") in {"integer", "number", "boolean"} else text


def _add(operation: dict[str, Any], example: Example) -> None:
    for parameter in operation.get("parameters", []):
        name, schema = parameter["name"], parameter["schema"]
        texts = (
            [example.path[name]]
            if name in example.path
            else [text for key, text in example.query if key == name]
        )
        if texts:
            is_list = schema.get("type") == "array"
            parameter["example"] = texts if is_list else _read_value(texts[0], schema)
    if example.body is not None:
        for content in operation["requestBody"]["content"].values():
            content["example"] = example.body
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            response["content"]["application/json"]["example"] = example.response
        elif status == str(CONFLICT):
            response["content"]["application/json"]["example"] = example.conflict
