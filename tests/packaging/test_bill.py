"""The bill of materials lists the pinned packages and what they bundle."""

from __future__ import annotations

import json
import re
from typing import Any

from scripts.write_sbom import BILL, PINS, build_bill, find_bundled

from headwater import __version__
from tests.support.sizes import ROOT

DOCUMENT: dict[str, Any] = json.loads(BILL.read_text())


def test_it_works() -> None:
    """It matches the current output of `make lock`."""
    assert BILL.read_text() == build_bill(PINS.read_text(), __version__, find_bundled())


def test_every_pin_is_in_it_once() -> None:
    pins = re.findall(r"^([a-z0-9-]+)(?:\[.*?])?==(\S+)", PINS.read_text(), re.MULTILINE)
    versions = [(component["name"], component["version"]) for component in DOCUMENT["components"]]
    assert versions == pins
    assert len(versions) > 60
    references = [component["bom-ref"] for component in DOCUMENT["components"]]
    assert DOCUMENT["dependencies"][0]["dependsOn"] == references
    assert len(set(references)) == len(references)


def test_every_component_has_its_licence_and_hashes() -> None:
    """The hashes are those that `pip` requires."""
    pinned_hashes = set(re.findall(r"--hash=sha256:(\w+)", PINS.read_text()))
    for component in DOCUMENT["components"]:
        (first, *_) = component["licenses"]
        assert first.get("expression") or any(first["license"].values()), component["name"]
        assert component["hashes"], component["name"]
    digests = [digest["content"] for component in DOCUMENT["components"] for digest in component["hashes"]]
    assert len(digests) == len(set(digests))
    assert set(digests) == pinned_hashes


def test_what_is_compiled_in_is_named() -> None:
    """Advisories name PostgreSQL, not the package that bundles it."""
    inside = {
        library["name"]: library["cpe"]
        for component in DOCUMENT["components"]
        for library in component.get("components", ())
    }
    assert inside.keys() == {"postgresql", "libpq", "openssl"}
    assert inside["postgresql"].startswith("cpe:2.3:a:postgresql:postgresql:18.")


def test_the_builder_is_pinned_alike() -> None:
    """`make check` and `make lock` use the same version of every tool, even if it is in both lists."""
    texts = [(ROOT / "requirements" / name).read_text() for name in ("build.txt", "dev.txt")]
    build, dev = (set(re.findall(r"^\S+==\S+", text, re.MULTILINE)) for text in texts)
    assert build - dev == set()
