"""The platforms: the folders of this package."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

from headwater.forwarding import platforms
from headwater.forwarding.platforms.platform import Platform

_ORDER = ("meta", "google", "tiktok", "linkedin", "reddit", "pinterest", "snapchat", "microsoft")
"""The order in lists; others follow by name."""


def find_platforms(package: ModuleType) -> dict[str, Platform]:
    """Raise LookupError unless each folder defines exactly one, with its name."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    names.sort(key=lambda name: (ranks.get(name, len(_ORDER)), name))
    return {name: _load(f"{package.__name__}.{name}", name) for name in names}


def _load(module_name: str, name: str) -> Platform:
    module = import_module(module_name)
    classes = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Platform) and member.__module__ == module_name
    ]
    if [platform.name for platform in classes] != [name]:
        raise LookupError(f"{module_name} must define one platform, named {name}")
    return classes[0]()


PLATFORMS: dict[str, Platform] = find_platforms(platforms)
