"""Validate watched files. Errors never quote values, which may be secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.account_schemas import describe_change
from headwater.http.inputs.account_settings import (
    LONGEST_NAME,
    read_name,
    read_object_of,
    read_secrets,
    refuse_unknown,
)
from headwater.http.inputs.fields import text_up_to, word_of
from headwater.http.inputs.parameters import JsonInput, ListParameter, Parameter
from headwater.http.openapi import TEXT_OR_NULL, Schema, body, or_null
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.parameters import NAME, ImportRequest, list_parameters, read_request
from headwater.intake.watched.addresses import ADDRESS_KINDS, LONGEST_ADDRESS, WatchedAddress, read_address
from headwater.intake.watched.requests import DEFAULT_REGION

DEFAULT_KIND = "spend"
FIELDS = ("name", "address", "settings", "secrets")
NO_FILES = "The address must not be a local file: the operator has not set HEADWATER_WATCHED_DIR."


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
    errors = Errors()
    address = _read_address(members, current, errors, allows_files=allows_files)
    settings = dict(current.settings) if current and "settings" not in members else {}
    if "settings" in members:
        settings = _read_settings(kind, members["settings"], errors)
    kept_secrets = _kept_secrets(current, address)
    secrets = kept_secrets
    if address is not None:
        sent_secrets = read_object_of("secrets", members.get("secrets", {}), errors)
        changes = read_secrets(ADDRESS_KINDS[address.scheme], sent_secrets, kept_secrets, errors)
        _refuse_foreign_letters(changes, errors)
        secrets = {name: text for name, text in {**kept_secrets, **changes}.items() if text is not None}
    name = current.name if current else _default_name(address)
    if "name" in members:
        name = read_name(members["name"], errors)
    if errors or address is None:
        raise Invalid(errors)
    return WatchedFileValues(kind, name, address, settings, secrets)


def _read_address(
    members: Mapping[str, Any], current: WatchedFileValues | None, errors: Errors, *, allows_files: bool
) -> WatchedAddress | None:
    if current is not None and "address" not in members:
        return current.address
    try:
        address = _ADDRESS.read(members.get("address", ""))
    except ValueError as error:
        errors["address"] = [f"The address {error}"]
        return None
    if address.scheme == "file" and not allows_files:
        errors["address"] = [NO_FILES]
        return None
    return address


def _read_settings(kind: str, value: object, errors: Errors) -> dict[str, Any]:
    settings = read_object_of("settings", value, errors)
    settings = {name: setting for name, setting in settings.items() if setting is not None}
    allowed_names = [parameter.name for parameter in list_settings(kind)]
    refuse_unknown("settings", settings, allowed_names, errors)
    try:
        read_file_settings(kind, settings)
    except Invalid as invalid:
        errors.update(invalid.errors)
    return settings


def _kept_secrets(current: WatchedFileValues | None, address: WatchedAddress | None) -> dict[str, str]:
    if current is None or address is None:
        return {}
    is_same_host = (current.address.scheme, current.address.host) == (address.scheme, address.host)
    return current.secrets if is_same_host else {}


def _refuse_foreign_letters(secrets: Mapping[str, str | None], errors: Errors) -> None:
    """Headers and URLs can't have others."""
    for name, text in secrets.items():
        if name != "service_account_json" and text is not None and not _is_plain(text):
            errors[f"secrets.{name}"] = [f"The secrets.{name} must have printable ASCII characters only."]


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _default_name(address: WatchedAddress | None) -> str:
    """Return the file's name, without a query, which may be a secret."""
    path = address.path.partition("?")[0] if address else ""
    return (path.rpartition("/")[2] or (address.host if address else ""))[:LONGEST_NAME]


def list_settings(kind: str) -> list[Parameter[Any] | ListParameter[Any]]:
    """Return the settings of a kind of import, the most needed first."""
    return [REGION, *(parameter for parameter in list_parameters(kind) if parameter.name != NAME.name)]


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
