"""Validate connections. Errors never quote values, which may be tokens. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.http.errors import Invalid
from headwater.http.inputs import account_schemas
from headwater.http.inputs.account_settings import (
    ACCOUNT_FIELDS,
    AccountChange,
    find_kind,
    read_account,
    read_secrets,
    select_changed,
)
from headwater.http.inputs.objects import Findings
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import Schema, or_null
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import SpendPlatform


@dataclass(frozen=True)
class ConnectionChange(AccountChange):
    lender_id: int | None = None
    """The destination that lends secrets to a new connection."""


def read_new(
    members: Mapping[str, Any], borrowed: Mapping[str, str] | None = None, *, as_text: bool = False
) -> tuple[SpendPlatform, ConnectionChange]:
    """Take missing secrets from `borrowed`, which a destination lends; convert typed values with `as_text`.
    Raises Invalid.
    """
    platform = find_kind(registry.PLATFORMS, members.get("platform"))
    values: dict[str, Any] = {"name": platform.title, "settings": {}, "secrets": {}}
    values |= {name: members[name] for name in ACCOUNT_FIELDS if name in members}
    usable_secrets = {name: text for name, text in (borrowed or {}).items() if name in platform.secrets}
    is_lent = False
    if usable_secrets and isinstance(values["secrets"], dict):
        is_lent = bool(usable_secrets.keys() - values["secrets"].keys())
        values["secrets"] = {**usable_secrets, **values["secrets"]}
    change = _read(platform, values, {}, as_text=as_text)
    return platform, replace(change, lender_id=read_destination_id(members) if is_lent else None)


def can_lend(platform: SpendPlatform, secret_names: Collection[str]) -> bool:
    """Return whether a destination with these secrets has all that a connection needs."""
    findings = Findings()
    read_secrets(platform, {name: name for name in secret_names if name in platform.secrets}, {}, findings)
    return not findings.rules


def read_destination_id(members: Mapping[str, Any]) -> int | None:
    """Return the destination that lends its secrets. Raises Invalid."""
    value = members.get("destination_id")
    if value is None:
        return None
    if type(value) is not int or not 0 < value < 10**18:
        raise Invalid.of("destination_id", "must be the id of a destination.")
    return value


def read_change(
    platform: SpendPlatform,
    members: Mapping[str, Any],
    current_secrets: Mapping[str, str],
    *,
    as_text: bool = False,
) -> ConnectionChange:
    """Raise Invalid for bad input."""
    return _read(platform, select_changed(members, ACCOUNT_FIELDS), current_secrets, as_text=as_text)


def _read(
    platform: SpendPlatform, members: Mapping[str, Any], current: Mapping[str, str], *, as_text: bool
) -> ConnectionChange:
    findings = Findings()
    values = read_account(platform, members, current, findings, as_text=as_text)
    findings.refuse()
    return ConnectionChange(**values)


BODY_OF_CHANGE = account_schemas.describe_change(account_schemas.CHANGEABLE)


def describe_creation() -> Schema:
    lender = {
        **or_null(INTEGER_ID),
        "description": "A destination of the same platform that lends the missing secrets.",
    }
    members = {**account_schemas.CHANGEABLE, "destination_id": lender}
    return account_schemas.describe_creation(registry.PLATFORMS, members, needs_secrets=False)
