"""Answers about what an account at a platform needs."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from headwater.http.inputs.account_kinds import AccountKind

StoredSettings = Annotated[
    dict[str, Any], Meta(description="`api_version` is one of them only if it was chosen.")
]
UsedVersion = Annotated[
    str | None,
    Meta(description="The version of the platform's API in use; null for platforms without versions."),
]


class SecretField(Struct, frozen=True):
    """A secret that accounts of a platform have."""

    name: str
    description: str
    required: bool


def describe_secrets(kind: AccountKind) -> list[SecretField]:
    return [
        SecretField(name, description, name not in kind.optional_secrets)
        for name, description in kind.secrets.items()
    ]
