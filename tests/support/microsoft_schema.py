"""Declarations in Microsoft's own library for its services. Without the package bingads, a test is
skipped.
"""

from __future__ import annotations

import re
from importlib.resources import files

import pytest


def declared(service: str, kind: str) -> list[str]:
    """Return the values or members of a type or request."""
    pytest.importorskip("bingads", reason="needs the package bingads")
    text = files("bingads").joinpath(f"v13/proxies/production/{service}_service.xml").read_text("utf-8")
    start_pattern = rf'<xs:(?:(?:simple|complex)Type name="{kind}"|element name="{kind}">\s*<xs:complexType)>'
    match = re.search(rf"{start_pattern}(.*?)</xs:(?:simple|complex)Type>", text, re.DOTALL)
    assert match is not None, kind
    return re.findall(r'(?:value|element [^>]*?\bname)="(\w+)"', match[1])
