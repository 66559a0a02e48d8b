"""Names, settings and secrets of accounts at other companies, and how they are described. Pure.

Errors never quote values, which may be tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta, inspect

from headwater.http.errors import Invalid
from headwater.http.inputs.account_kinds import VERSION, AccountKind
from headwater.http.inputs.fields import REQUIRED, UNPRINTABLE, FieldType, Schema, line_up_to
from headwater.http.inputs.objects import OBJECT, Findings
from headwater.http.openapi import TEXT_OR_NULL

LONGEST_NAME = 255
LONGEST_SECRET = 16_384
NAME = line_up_to(
    LONGEST_NAME, f"must be a text of 1 to {LONGEST_NAME} characters without control characters."
)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_RULE, _DIGITS = "rule", "digits"
_AROUND_DIGITS = re.compile(r"\Aact_|[ -]")
"""How platforms write a number that their APIs take as digits: `123-456-7890`, `act_2385`."""


def matching(pattern: str, rule: str, example: str, *, is_number: bool = False) -> Meta:
    """Return a rule for a pattern. `rule` completes `The setting …`, followed by an example."""
    words = f"{rule}, such as {example}."
    return Meta(pattern=pattern, examples=[example], extra={_RULE: words, _DIGITS: is_number})


def digits(least: int, length: int, example: str) -> Meta:
    """Return a rule for a number of digits."""
    count = str(length) if least == length else f"{least} to {length}"
    rule = f"must be {count} digits and nothing else"
    return matching(rf"\A[0-9]{{{least},{length}}}\Z", rule, example, is_number=True)


def code(least: int, length: int, example: str, signs: str = "") -> Meta:
    kinds = ["letters", "digits", *signs]
    kinds_text = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    rule = f"must be {least} to {length} {kinds_text}, without spaces"
    return matching(rf"\A[A-Za-z0-9{signs}]{{{least},{length}}}\Z", rule, example)


URL = Meta(
    pattern=r"\Ahttps?://[^\s?#]+\Z",
    max_length=500,
    examples=["https://oauth2.example.com/token"],
    extra={
        _RULE: "must be an http or https address of at most 500 characters, without ? and #, such"
        " as https://oauth2.example.com/token."
    },
)

Version = Annotated[str, matching(r"\Av[0-9]{1,3}\Z", "must be a version", "v1")]
PointVersion = Annotated[str, matching(r"\Av[0-9]{1,3}\.[0-9]{1,2}\Z", "must be a version", "v1.0")]
TokenUrl = Annotated[str, URL] | None


ACCOUNT_FIELDS = ("name", "settings", "secrets")

Kind = TypeVar("Kind", bound=AccountKind)


@dataclass(frozen=True)
class AccountChange:
    """None keeps the current value."""

    name: str | None = None
    settings: dict[str, Any] | None = None
    """All settings."""
    secrets: dict[str, str | None] | None = field(default=None, repr=False)
    """Changed secrets; None removes one."""


def find_kind(kinds: Mapping[str, Kind], platform: object) -> Kind:
    """Raise Invalid for bad input."""
    if not isinstance(platform, str) or platform not in kinds:
        raise Invalid.of("platform", f"must be one of {', '.join(kinds)}.")
    return kinds[platform]


def select_changed(body: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """Return the given ones of `fields`. Raises Invalid without any."""
    members = {name: body[name] for name in fields if name in body}
    if not members:
        raise Invalid.of("body", f"must have at least one of {', '.join(fields)}.")
    return members


def read_account(
    kind: AccountKind,
    members: Mapping[str, Any],
    current_secrets: Mapping[str, str],
    findings: Findings,
    *,
    as_text: bool,
) -> dict[str, Any]:
    """Return the given ACCOUNT_FIELDS, checked and with defaults."""
    values: dict[str, Any] = {}
    if "name" in members:
        values["name"] = findings.read("name", NAME, members["name"])
    if "settings" in members:
        values["settings"] = read_settings(kind, members["settings"], findings, as_text=as_text)
    if "secrets" in members:
        values["secrets"] = read_secrets(kind, members["secrets"], current_secrets, findings)
    return values


def read_settings(kind: AccountKind, sent: object, findings: Findings, *, as_text: bool) -> dict[str, Any]:
    """Fill in defaults, except of the version. With `as_text`, empty means absent."""
    settings = findings.read("settings", OBJECT, sent) or {}
    fields = {setting.name: setting for setting in msgspec.structs.fields(kind.settings)}
    refuse_unknown("settings", settings, fields, findings)
    values: dict[str, Any] = {}
    for name, setting in fields.items():
        if name not in settings or (as_text and settings[name] == ""):
            if setting.required:
                findings.add(f"settings.{name}", REQUIRED)
            continue
        value = _tidy(settings[name], setting.type)
        try:
            values[name] = msgspec.convert(value, setting.type, strict=not as_text)
        except msgspec.ValidationError:
            findings.add(f"settings.{name}", describe_rule(setting.type))
        else:
            if isinstance(value, str) and UNPRINTABLE.search(value):
                findings.add(f"settings.{name}", "must not hold control characters.")
    if any(name.startswith("settings") for name in findings.rules):
        return {}
    complete = msgspec.to_builtins(kind.settings(**values))
    return {name: value for name, value in complete.items() if name != VERSION or name in values}


def read_secrets(
    kind: AccountKind, value: object, current: Mapping[str, str], findings: Findings
) -> dict[str, str | None]:
    """Return the changed secrets; None removes one."""
    secrets = findings.read("secrets", OBJECT, value) or {}
    refuse_unknown("secrets", secrets, kind.secrets, findings)
    changes: dict[str, str | None] = {}
    for name in kind.secrets:
        path = f"secrets.{name}"
        if name in secrets:
            changes[name] = findings.read(path, _SECRET, secrets[name])
        is_missing = {**current, **changes}.get(name) is None and path not in findings.rules
        if is_missing and name not in kind.optional_secrets:
            findings.add(path, REQUIRED)
    changed_secrets = {name: text for name, text in {**current, **changes}.items() if text is not None}
    if not any(name.startswith("secrets") for name in findings.rules):
        problem = kind.secrets_problem(changed_secrets)
        if problem is not None:
            findings.add("secrets", f"cannot be used: {problem}")
    return changes


def _read_secret(value: object) -> str | None:
    """Return None for null and empty text, which remove a secret."""
    if value is None or value == "":
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > LONGEST_SECRET or _UNSTORABLE.search(text):
        raise ValueError(f"must be a text of 1 to {LONGEST_SECRET} characters.")
    return text


_SECRET = FieldType(TEXT_OR_NULL, _read_secret)


def refuse_unknown(
    group: str, names: Collection[str], allowed_names: Collection[str], findings: Findings
) -> None:
    choices = f"one of {', '.join(allowed_names)}" if allowed_names else "a setting of this platform"
    for name in names:
        if name not in allowed_names:
            findings.add(f"{group}.{name}", f"is not {choices}.")


def _tidy(value: object, setting: Any) -> object:
    """Return a number without the signs around its digits."""
    if not isinstance(value, str) or not _unwrap(setting)[1].get(_DIGITS):
        return value
    return _AROUND_DIGITS.sub("", value)


def _unwrap(setting: Any) -> tuple[inspect.Type, dict[str, Any]]:
    """Return a setting's type, without None, and what is noted about it."""
    info, notes = inspect.type_info(setting), dict[str, Any]()
    while isinstance(info, inspect.Metadata | inspect.UnionType):
        if isinstance(info, inspect.UnionType):
            info = next(kind for kind in info.types if not isinstance(kind, inspect.NoneType))
        else:
            notes |= cast("dict[str, Any]", info.extra or {})  # pyright: ignore[reportUnknownMemberType] - msgspec's
            info = info.type
    return info, notes


def describe_rule(setting: Any) -> str:
    info, notes = _unwrap(setting)
    if _RULE in notes:
        return notes[_RULE]
    match info:
        case inspect.LiteralType(values):
            return f"must be one of {', '.join(sorted(map(str, values)))}."
        case inspect.BoolType():
            return "must be true or false."
        case inspect.IntType(ge=least, le=most):
            return f"must be a whole number from {least} to {most}."
        case _:
            return "must be a text."


def settings_schema(kind: AccountKind) -> Schema:
    (_,), parts = msgspec.json.schema_components([kind.settings])
    return {**_make_portable(parts[kind.settings.__name__]), "additionalProperties": False}


def _make_portable(schema: Any) -> Any:
    """Convert Python's regex anchors to JSON schema's ^ and $."""
    if isinstance(schema, list):
        return [_make_portable(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    portable = {name: _make_portable(value) for name, value in cast("Schema", schema).items()}
    pattern = portable.get("pattern")
    if isinstance(pattern, str) and pattern.startswith("\\A"):
        portable["pattern"] = "^" + pattern.removeprefix("\\A").removesuffix("\\Z") + "$"
    return portable


def secrets_schema(kind: AccountKind) -> Schema:
    optional = kind.optional_secrets
    required_secret: Schema = {"type": "string", "pattern": r"\S", "maxLength": LONGEST_SECRET}
    optional_secret: Schema = {"type": ["string", "null"], "maxLength": LONGEST_SECRET}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in kind.secrets if name not in optional],
        "properties": {
            name: {"description": description, **(optional_secret if name in optional else required_secret)}
            for name, description in kind.secrets.items()
        },
    }
