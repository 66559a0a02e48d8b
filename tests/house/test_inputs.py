"""There is one way to read input: only field types check a value's JSON type."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.test_house import SOURCE, modules

JSON_TYPES = {"str", "int", "float", "bool", "dict", "list", "Decimal", "Mapping"}

NOT_FIELDS: dict[str, str] = {
    "http/inputs/fields.py": "the types of fields",
    "http/inputs/objects.py": "likewise, of arrays and objects",
    "http/inputs/parameters.py": "likewise, of values by name in a query or a JSON object",
    "http/bodies.py": "a body that is no object has no fields",
    "http/inputs/instants.py": "an instant is written as text or as a number",
    "spaces/custom_fields.py": "what it reads has been text or a number by its type",
    "intake/ingest/forms.py": "payloads are msgspec's, which explains one that failed",
    "intake/ingest/times.py": "what it reads has been text or a number by its type",
    "intake/ingest/touchpoints.py": "likewise",
    "intake/imports/formats/files.py": "a row of a file that is no object has no fields",
    "http/inputs/account_settings.py": "settings are checked against the platform's model",
    "base/egress/": "answers of other services, and the key file of a service account",
    "forwarding/platforms/": "answers of other services",
    "spend/platforms/": "likewise",
    "assistants/mcp/protocol_messages.py": "messages of the protocol, before a tool is called",
    "assistants/oauth/clients.py": "clients' metadata, refused in the protocol's own codes",
    "assistants/oauth/client_metadata.py": "documents of other servers",
    "assistants/oauth/routes.py": "likewise clients' metadata",
    "reports/engine/block_sums.py": "it digests values of plans, which no caller sends",
    "intake/protocols/": "other companies' protocols, whose members can hold anything",
    "intake/segment/": "likewise",
    "intake/ga4/": "likewise",
    "spaces/sso/": "providers' documents and tokens, refused with reasons of their own",
    "intake/webhooks/": "values of senders' bodies, as mappings find them",
}
"""Modules or packages that refuse a value for its JSON type themselves, with the reason."""


def type_checks(function: ast.AST) -> bool:
    """Return whether a function checks the JSON type of a value."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)} & JSON_TYPES
        for node in ast.walk(function)
    )


def refuses(function: ast.AST) -> bool:
    """Return whether a function refuses a value by raising or recording an error."""
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Name) and node.id == "errors")
        or (isinstance(node, ast.Attribute) and node.attr == "refuse")
        for node in ast.walk(function)
    )


def ladders(source: str) -> list[str]:
    """Return the functions that check JSON types and refuse values."""
    if "isinstance" not in source:
        return []
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and type_checks(node) and refuses(node)
    ]


def reason(path: Path) -> str | None:
    """Return the exception that a module falls under."""
    module = path.relative_to(SOURCE).as_posix()
    return next(
        (
            exception
            for exception in NOT_FIELDS
            if module == exception or module.startswith(f"{exception.rstrip('/')}/")
        ),
        None,
    )


def test_the_rule_finds_what_it_looks_for() -> None:
    ladder = 'def read(x):\n if not isinstance(x, str | None):\n  raise ValueError("must be text")'
    recorded_error = 'def read(x, errors):\n if not isinstance(x, dict):\n  errors["x"] = ["must be one"]'
    assert ladders(ladder) == ladders(recorded_error) == ["read"]
    assert ladders("def shown(x):\n return x if isinstance(x, str) else str(x)") == []


def test_values_are_read_by_the_types_of_fields() -> None:
    ladders_by_path = {path: ladders(path.read_text()) for path in modules()}
    faulty_modules = {
        path.relative_to(SOURCE).as_posix(): names
        for path, names in ladders_by_path.items()
        if names and reason(path) is None
    }
    assert faulty_modules == {}
    assert {reason(path) for path, names in ladders_by_path.items() if names} == {*NOT_FIELDS}


STAND_ONCE = {
    "the custom fields' names": (r"profile_field_\{|range\(1, 31\)", "spaces/custom_fields.py"),
    "the largest amount": (r"10\) \*\* 14", "http/decimals.py"),
    "the form of a number": (r"\[eE\]", "http/decimals.py"),
    "the dates of a range": (r'name="(start|end)_date"', "http/inputs/date_range.py"),
    "the rows of a page": (r'name="per_page"', "http/inputs/pagination.py"),
}
"""Rules that several packages share: the pattern that reveals a copy, and the module that contains the
rule.
"""


@pytest.mark.parametrize("rule", STAND_ONCE)
def test_a_shared_rule_stands_once(rule: str) -> None:
    pattern, module = STAND_ONCE[rule]
    places = {
        path.relative_to(SOURCE).as_posix() for path in modules() if re.search(pattern, path.read_text())
    }
    assert places == {module}
