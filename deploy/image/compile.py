"""Compile all modules that Headwater imports, without checks against their sources. The argument is the root
of the image, whose Python runs this. Imports every module, because commands import lazily, except those that
need an extra.
"""

# ruff: noqa: INP001 # a separate script

import pkgutil
import py_compile
import sys
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path

import headwater

ROOT = Path(sys.argv[1])
LEFT_OUT = {"opentelemetry.exporter", "opentelemetry.sdk"}

for module in pkgutil.walk_packages(headwater.__path__, "headwater."):
    if module.name != "headwater.__main__":
        try:
            import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in LEFT_OUT:
                raise
imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
for source in sorted(path for path in imported if path and path.endswith(".py")):
    if Path(source).is_relative_to(ROOT):
        py_compile.compile(
            source, cache_from_source(source), f"/{Path(source).relative_to(ROOT)}", doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip
