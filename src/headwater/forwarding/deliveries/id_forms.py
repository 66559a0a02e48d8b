"""Validate click ids and cookies by id_forms.txt. Platforms would refuse `undefined` or unfilled macros."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from headwater.people.identity.junk import Junk
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.parameters import read_parameters

_JUNK = Junk()
_IN_PARTS = {"fbc": 3, "fbp": 3, "rdt_uuid": 1}
"""Cookies with dotted parts, and the first random part."""
_MACRO = re.compile(r"_{1,2}[A-Z][A-Z_]*_{1,2}", re.ASCII)


def _read(text: str) -> dict[str, re.Pattern[str]]:
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {name: re.compile(pattern, re.ASCII) for name, pattern in lines}


FORMS = _read(files("headwater.forwarding.deliveries").joinpath("id_forms.txt").read_text(encoding="utf-8"))


def click_ids(url: str | None) -> dict[str, str]:
    """Return unchanged ids by lower-case parameter."""
    return read_parameters(url, CLICK_IDS, CLICK_IDS) if url else {}


def sendable(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if can_be(name, value)}


def can_be(name: str, value: str) -> bool:
    """Validate a value for `name`, in lower case."""
    form = FORMS.get(name)
    if form is not None and not form.fullmatch(value):
        return False
    parts = [value]
    if name in _IN_PARTS:
        parts += value.split(".")[_IN_PARTS[name] :]
    return not any(_is_placeholder(name, text) for text in parts)


def _is_placeholder(name: str, text: str) -> bool:
    return text in _JUNK or text.casefold() == name or _MACRO.fullmatch(text) is not None
