"""Answers about what an account at a platform needs."""

from __future__ import annotations

from msgspec import Struct

from headwater.http.inputs.account_kinds import AccountKind


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
