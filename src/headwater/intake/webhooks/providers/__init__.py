"""The types of webhooks: a Provider in a module of this package."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from headwater.intake.webhooks.providers.provider import Provider

__all__ = ["PROVIDERS", "Provider"]


def _find_providers() -> dict[str, Provider]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    providers = [
        value for module in modules for value in vars(module).values() if isinstance(value, Provider)
    ]
    return {provider.type: provider for provider in providers}


PROVIDERS = _find_providers()
