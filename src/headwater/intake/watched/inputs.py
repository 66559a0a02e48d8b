"""Validate watched files. Errors never quote values, which may be secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from headwater.http.errors import Invalid
from headwater.http.inputs.account_schemas import describe_change
from headwater.http.inputs.account_settings import LONGEST_NAME, NAME, read_secrets, refuse_unknown
from headwater.http.inputs.fields import text_up_to, word_of
from headwater.http.inputs.objects import OBJECT, Findings
from headwater.http.inputs.parameters import JsonInput, ListParameter, Parameter
from headwater.http.openapi import TEXT_OR_NULL, Schema, body, or_null
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.parameters import NAME as IMPORT_NAME
from headwater.intake.imports.parameters import ImportRequest, list_parameters, read_request
from headwater.intake.watched.addresses import ADDRESS_KINDS, LONGEST_ADDRESS, WatchedAddress, read_address
from headwater.intake.watched.requests import DEFAULT_REGION

DEFAULT_KIND = "spend"
FIELDS = ("name", "address", "settings", "secrets")
NO_FILES = "must not be a local file: the operator has not set HEADWATER_WATCHED_DIR."


def _parse_region(text: str) -> str:
    if not re.fullmatch(r"[a-z]{2}(-[a-z]{2,12}){1,3}-[0-9]{1,2}", text):
        raise ValueError("must be a region, such as eu-central-1.")
    return text


_KIND = word_of(tuple(KINDS))
_ADDRESS = text_up_to(LONGEST_ADDRESS, trim=True).then(read_address)
REGION = Parameter(
    name="region",
    kind=text_up_to(40, trim=True).then(_parse_region),
    default=DEFAULT_REGION,
    description="The region of a bucket of S3.",
)


@dataclass(frozen=True)
class WatchedFileValues:
    """The values of a watched file, those that stay included."""

    kind: str
    name: str
    address: WatchedAddress
    settings: dict[str, Any]
    secrets: dict[str, str] = field(repr=False)


class WatchedFileSettings(Struct, frozen=True):
    request: ImportRequest
    region: str


def read_new(members: Mapping[str, Any], *, allows_files: bool) -> WatchedFileValues:
    """Raise Invalid naming every wrong field."""
    try:
        kind = _KIND.read(members.get("kind", DEFAULT_KIND))
    except ValueError as error:
        raise Invalid.of("kind", str(error)) from None
    return _read(kind, members, None, allows_files=allows_files)


def read_change(
    members: Mapping[str, Any], current: WatchedFileValues, *, allows_files: bool
) -> WatchedFileValues:
    """Return the changed values. A secret is kept only for the same host: another host must not receive it.
    Raises Invalid naming every wrong field.
    """
    if not any(name in members for name in FIELDS):
        raise Invalid.of("body", f"must have at least one of {', '.join(FIELDS)}.")
    return _read(current.kind, members, current, allows_files=allows_files)


def read_file_settings(kind: str, settings: Mapping[str, Any]) -> WatchedFileSettings:
    """Raise Invalid for settings that don't fit the kind of import."""
    values = JsonInput(settings, object_name="settings")
    region = REGION.read(values) or DEFAULT_REGION
    return WatchedFileSettings(read_request(kind, values), region)


def _read(
    kind: str, members: Mapping[str, Any], current: WatchedFileValues | None, *, allows_files: bool
) -> WatchedFileValues:
    findings = Findings()
    address = current.address if current else None
    if current is None or "address" in members:
        address_type = _ADDRESS if allows_files else _ADDRESS.then(_refuse_file)
        address = findings.read("address", address_type, members.get("address", ""))
    settings = current.settings if current else {}
    if "settings" in members:
        settings = _read_settings(kind, members["settings"], findings)
    secrets = _kept_secrets(current, address)
    if address is not None:
        changes = read_secrets(ADDRESS_KINDS[address.scheme], members.get("secrets", {}), secrets, findings)
        _refuse_foreign_letters(changes, findings)
        secrets = {name: text for name, text in {**secrets, **changes}.items() if text is not None}
    name = current.name if current else _default_name(address)
    if "name" in members:
        name = findings.read("name", NAME, members["name"]) or ""
    findings.refuse()
    assert address is not None, "a wrong one is refused"
    return WatchedFileValues(kind, name, address, settings, secrets)


def _refuse_file(address: WatchedAddress) -> WatchedAddress:
    if address.scheme == "file":
        raise ValueError(NO_FILES)
    return address


def _read_settings(kind: str, value: object, findings: Findings) -> dict[str, Any]:
    sent_settings = findings.read("settings", OBJECT, value) or {}
    settings = {name: setting for name, setting in sent_settings.items() if setting is not None}
    allowed_names = [parameter.name for parameter in list_settings(kind)]
    refuse_unknown("settings", settings, allowed_names, findings)
    try:
        read_file_settings(kind, settings)
    except Invalid as invalid:
        findings.rules.update(invalid.errors)
    return settings


def _kept_secrets(current: WatchedFileValues | None, address: WatchedAddress | None) -> dict[str, str]:
    if current is None or address is None:
        return {}
    is_same_host = (current.address.scheme, current.address.host) == (address.scheme, address.host)
    return current.secrets if is_same_host else {}


def _refuse_foreign_letters(secrets: Mapping[str, str | None], findings: Findings) -> None:
    """Headers and URLs can't have others."""
    for name, text in secrets.items():
        if name != "service_account_json" and text is not None and not _is_plain(text):
            findings.add(f"secrets.{name}", "must have printable ASCII characters only.")


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _default_name(address: WatchedAddress | None) -> str:
    """Return the file's name, without a query, which may be a secret."""
    path = address.path.partition("?")[0] if address else ""
    return (path.rpartition("/")[2] or (address.host if address else ""))[:LONGEST_NAME]


def list_settings(kind: str) -> list[Parameter[Any] | ListParameter[Any]]:
    """Return the settings of a kind of import, the most needed first."""
    return [REGION, *(parameter for parameter in list_parameters(kind) if parameter.name != IMPORT_NAME.name)]


def describe_setting(parameter: Parameter[Any] | ListParameter[Any]) -> Schema:
    description = parameter.openapi()
    return {**description["schema"], "description": description["description"]}


def _describe_settings() -> Schema:
    parameters = {parameter.name: parameter for kind in KINDS for parameter in list_settings(kind)}
    properties = {name: or_null(describe_setting(parameter)) for name, parameter in parameters.items()}
    return {
        "type": "object",
        "description": "How to read the file, with the settings of an import over the API. An omitted "
        "setting has its default.",
        "properties": properties,
    }


def _describe_secrets() -> Schema:
    secrets = {name: text for kind in ADDRESS_KINDS.values() for name, text in kind.secrets.items()}
    return {
        "type": "object",
        "description": "Changed secrets; null removes one. Never returned.",
        "properties": {
            name: {**TEXT_OR_NULL, "description": description} for name, description in secrets.items()
        },
    }


_CHANGEABLE: dict[str, Schema] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "description": "Its name, also in the list of imports; by default the name of the file.",
    },
    "address": {
        "type": "string",
        "maxLength": LONGEST_ADDRESS,
        "pattern": "://",
        "description": "An address that begins with https, s3, gs, az or file. {date} in its path is "
        "yesterday.",
        "examples": [kind.example for kind in ADDRESS_KINDS.values()],
    },
    "settings": _describe_settings(),
    "secrets": _describe_secrets(),
}
BODY_OF_CHANGE = describe_change(_CHANGEABLE)
BODY: Schema = body(
    {
        "type": "object",
        "required": ["address"],
        "properties": {
            "kind": {"type": "string", "enum": [*KINDS], "description": "Spend by default."},
            **_CHANGEABLE,
        },
    }
)
