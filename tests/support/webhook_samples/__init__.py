"""Samples of webhook deliveries, one module for each webhook type. Tests of every type use them, so adding a
module tests a new type.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.support.webhook_samples.sample import Sample


def _find_samples() -> dict[str, Sample]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    samples = [value for module in modules for value in vars(module).values() if isinstance(value, Sample)]
    return {sample.type: sample for sample in samples}


SAMPLES = _find_samples()
