"""The cost of any input is proportional to its length. Every pattern, parser and explanation of the package
is found and tried with hostile input of increasing size, including the libraries that read untrusted texts.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

import headwater
import headwater.people.contacts.parameters as contacts
from headwater.events.browsing import agents
from headwater.http import errors
from headwater.http.errors import Errors, Invalid
from tests.hostile.doors import JSON_DOORS, TEXT_DOORS
from tests.hostile.growth import SCREEN, Door, Make, clear_caches, complaint, seconds
from tests.hostile.inputs import bodies, texts
from tests.hostile.parsers import Place, Record, parsing_functions, run_quietly
from tests.hostile.patterns import Use, all_uses, hard_text, hard_units, modules, tree
from tests.hostile.trusted import TRUSTED
from tests.support.campaigns import IS_LONG, in_long_runs, pick_share

Unit = tuple[str, str, str]
"""A beginning, a repeated unit, and an end."""

QUICK = 0.001
"""Seconds at SCREEN below which a text is not tried further with a pattern."""
LONGEST = 16 * 1024
SHARE = 24
"""Outside long runs, one input in this many is tried."""
SHARE_OF_TEXTS = 48
"""The same for the hundred readers of texts, which together cover nearly all texts."""
PARTS = [package.name for package in pkgutil.iter_modules(headwater.__path__) if package.name != "__main__"]


def find_pattern_faults(use: Use, units: Sequence[Unit]) -> list[str]:
    """Return what is wrong with how a pattern handles some of its hardest texts."""
    faults: list[str] = []
    door = Door(use.location, use.run, LONGEST)
    for unit in units:
        make = _text_maker(unit)
        # A pattern that doubles its time with each character would not end at the screen's size.
        fault = complaint(Door(use.location, use.run, 48), make)
        if fault is None and seconds(use.run, make, SCREEN, 2) > QUICK:
            fault = complaint(door, make)
        if fault:
            faults.append(f"{use.location} {use.pattern.pattern!r} with {unit}: {fault}")
            break
    return faults


def _hard_units(use: Use) -> list[Unit]:
    return hard_units(use.pattern.pattern)


def _text_maker(unit: Unit) -> Make[str]:
    return lambda size: hard_text(*unit, size)


def find_door_faults(door: Door, inputs: dict[str, Make[Any]]) -> list[str]:
    clear_caches()
    complaints = [(name, complaint(door, make)) for name, make in inputs.items()]
    return [f"{door.name} with {name}: {fault}" for name, fault in complaints if fault]


@pytest.mark.parametrize("part", PARTS)
def test_patterns_are_linear(part: str) -> None:
    place_pattern = re.compile(rf"headwater\.{part}[.:]")
    uses = [use for use in all_uses() if place_pattern.match(use.location)]
    faults = [
        fault
        for use in uses
        for fault in find_pattern_faults(use, pick_share(_hard_units(use), use.location, SHARE))
    ]
    assert faults == []


def test_every_pattern_is_in_a_part() -> None:
    assert {use.location.split(":")[0].split(".")[1] for use in all_uses()} <= set(PARTS)


@pytest.mark.parametrize("door", TEXT_DOORS, ids=lambda door: door.name)
def test_readers_of_texts_are_linear(door: Door) -> None:
    assert find_door_faults(door, dict(pick_share(texts().items(), door.name, SHARE_OF_TEXTS))) == []


@pytest.mark.parametrize("door", JSON_DOORS, ids=lambda door: door.name)
def test_readers_of_bodies_are_linear_and_answer_briefly(door: Door) -> None:
    assert find_door_faults(door, dict(pick_share(bodies().items(), door.name, SHARE))) == []


def test_every_function_that_parses_is_tried() -> None:
    """A function that is missing here needs a door, or a reason in TRUSTED. Valid input is tried first,
    because it gets further. Hostile input follows only as long as functions are missing.
    """
    clear_caches()
    missing_functions = {
        _place_name(function) for function in parsing_functions() if not _is_trusted(_place_name(function))
    }
    for text_inputs, body_inputs in (
        (SOUND[texts], SOUND[bodies]),
        (_small_inputs(texts), _small_inputs(bodies)),
    ):
        if missing_functions:
            with Record() as record:
                _try(TEXT_DOORS, text_inputs)
                _try(JSON_DOORS, body_inputs)
            missing_functions -= set(map(_place_name, record.places()))
    assert sorted(missing_functions) == []


def _try(doors: Sequence[Door], inputs: Sequence[Any]) -> None:
    for door in doors:
        for value in inputs:
            run_quietly(door.run, value)


SOUND: dict[Callable[..., Any], list[Any]] = {
    texts: ["2026-11-01", "2026-11-01T10:00:00Z", "1.5", "10.0.0.1", "+33612345678", "a::1",
            "https://x.example/?a=1&gclid=b%2Fc", "a@b.example",
            '"a b"@b.example', "münchen.example", "1,2", "https://x.example:8443", "a | b > sum",
            "[`1.5`]", '"a"', "5 days", "2026-11-01 to 2026-11-02"],
    bodies: [b"{}", b'{"\\ud800": 1}', b'{"a": 1.5}', b'{"events": []}',
             b'{"amount": "1", "email": "a@b.example"}',
             b'{"token":"t","items":[{"type":"event","key":"k","ago":0}]}',
             (b'{"site":"s","token":"t","items":[{"type":"event","event_name":"lead_generated","ago":0,'
              b'"amount":1,"key":"00000000-0000-4000-8000-000000000001"}]}'),
             b'{"platform":"meta","name":"x","settings":{"pixel_id":"1"}}'],
}  # fmt: skip
"""Valid input, which gets further than hostile input, and half a character."""


def _small_inputs(make_inputs: Callable[[], dict[str, Make[Any]]]) -> list[Any]:
    return [make(64) for make in make_inputs().values()]


def _place_name(place: Place) -> str:
    return f"{place[0].rpartition('/headwater/')[2]} {place[1]}"


def _is_trusted(name: str) -> bool:
    return any(name.startswith(prefix) for prefix in TRUSTED)


def test_no_reason_is_left_over() -> None:
    names = list(map(_place_name, parsing_functions()))
    assert [prefix for prefix in TRUSTED if not any(name.startswith(prefix) for name in names)] == []


def test_patterns_are_made_by_one_name() -> None:
    """Patterns created in any other way would not be found."""
    for name in modules():
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("re", "regex"), name
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name != "regex", name
                    assert alias.name != "re" or alias.asname is None, name


PLANTED = {
    "addresses in logs": (r"(?<![\w.:])[0-9a-f:]*:[0-9a-f:.]+(?![\w:])", "sub"),
    "secrets in logs": (r"(?<![\w-])([\w-]*?(?:token|secret)\w*[\"']?\s*[=:]\s*)([^\s&]+)", "sub"),
    "addresses between commas": (r'(?:"(?:[^"\\]|\\.)*"|[^,])+', "findall"),
    "doubling": (r"(?:a|a)*b", "match"),
}


@pytest.mark.parametrize("name", PLANTED if IS_LONG else ["addresses in logs"])
def test_a_planted_pattern_is_reported(name: str) -> None:
    pattern, method = PLANTED[name]
    use = Use(name, re.compile(pattern, re.DOTALL), frozenset({method}))
    assert find_pattern_faults(use, _hard_units(use))


def test_an_explanation_without_bounds_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_messages(value: Any, path: str = "") -> Errors:
        if isinstance(value, str):
            return {path: [f"The {path} holds a NUL character."]} if "\0" in value else {}
        items = value.items() if isinstance(value, dict) else enumerate(value)
        messages: Errors = {}
        for key, item in items:
            messages |= find_messages(item, f"{path}.{key}") if isinstance(item, str | dict | list) else {}
        return messages

    def read(body: bytes) -> None:
        messages = find_messages(msgspec.json.decode(body))
        if messages:
            raise Invalid(messages)

    monkeypatch.setattr(errors, "bound", dict)
    body = {"faults": bodies()["many faults below a long key"]}
    assert find_door_faults(Door("planted", read, 32 * 1024), body)


@in_long_runs
def test_a_slow_library_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "MAX_HEADER_LENGTH", 4096)
    monkeypatch.setattr(agents, "_LONG_WORD", re.compile("(?!)"))
    assert find_door_faults(Door("agents", agents.read_agent, 4096), {"words": texts()["'A'"]})


def test_a_splitter_that_begins_anew_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    between_commas = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,])+', re.DOTALL)
    monkeypatch.setattr(contacts, "split_at_commas", between_commas.findall)
    (door,) = [text_door for text_door in TEXT_DOORS if text_door.name == "contacts.split"]
    assert find_door_faults(door, {"quotes": texts()[repr('"\\')]})
