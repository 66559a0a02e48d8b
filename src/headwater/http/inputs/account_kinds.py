"""Platforms with accounts: what an account needs, and the folders that define platforms."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import msgspec

from headwater.base.egress.models import EgressResponse
from headwater.base.egress.oauth import IssuedToken, TokenError, read_token

VERSION = "api_version"
"""The setting for the version of a platform's API. It is only stored if an owner chose one, so that other
accounts move to newer defaults before platforms retire old versions.
"""


class AccountSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account at a platform. Every field needs Meta(description=…)."""


class AccountKind:
    """What an account at a platform needs. Subclasses are stateless."""

    name: ClassVar[str]
    """Also in commands and settings."""
    title: ClassVar[str]
    settings: ClassVar[type[AccountSettings]]
    """An account's settings, without secrets."""
    secrets: ClassVar[Mapping[str, str]]
    """Its tokens, with descriptions."""
    optional_secrets: ClassVar[frozenset[str]] = frozenset()

    def find_version(self, settings: Mapping[str, Any]) -> str | None:
        """Return the version of the API that an account with these settings uses."""
        defaults = {setting.name: setting.default for setting in msgspec.structs.fields(self.settings)}
        return settings.get(VERSION, defaults.get(VERSION))

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        """Check the secrets as a whole, for the operator."""
        return None


class ApiKind(AccountKind):
    """A platform whose API is called for an account."""

    url: ClassVar[str]
    """The default origin of its API."""

    def address(self, origin: str, default: str) -> str:
        """Return a URL of another host of the platform. If the operator overrides the origin, every host
        is on it.
        """
        return default if origin == self.url else origin + urlsplit(default).path

    def read_token(self, answer: EgressResponse) -> IssuedToken | TokenError:
        return read_token(answer)


Kind = TypeVar("Kind", bound=AccountKind)


def find_title(kinds: Mapping[str, AccountKind], name: str) -> str:
    """Return a platform's title; its name if this version does not know it."""
    return kinds[name].title if name in kinds else name


def find_kinds(package: ModuleType, kind: type[Kind], order: Sequence[str] = ()) -> dict[str, Kind]:
    """Return the platforms in the folders of a package, those of `order` first, then by name. Raises
    LookupError unless each folder defines exactly one, with its name.
    """
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    ranks = {name: rank for rank, name in enumerate(order)}
    names.sort(key=lambda name: (ranks.get(name, len(order)), name))
    return {name: _load(f"{package.__name__}.{name}", name, kind) for name in names}


def _load(module_name: str, name: str, kind: type[Kind]) -> Kind:
    module = import_module(module_name)
    classes = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, kind) and member.__module__ == module_name
    ]
    if [platform.name for platform in classes] != [name]:
        raise LookupError(f"{module_name} must define one platform, named {name}")
    return classes[0]()
