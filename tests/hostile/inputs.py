"""Hostile texts and bodies of any size: input that makes a reader backtrack, nest deeply or report many
errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.hostile.growth import Make

UNITS = (
    "a", "A", "0", " ", "\t", "\n", ":", "::", ".", "..", "-", "a-", "a.", "a@", "@",
    '"', "\\", '"\\', '"\\"', '",', "a,", ",", "[", "]", "(", "{", "%", "%4", "%41",
    "&", "&a=", "a=&", "=", ";", "; ", "/", "../", "a/", "'",
    "token", "token=", "Key (", "://", "a:", "0x", "+1",
    "1.", "xn--", "x-a.", "é", "\u2100", "\u0301", "😀", "[a", "a[0]", "a>", "a|", "_", "a=1;",
    "last ", "the ", "Android", "Mozilla/5.0 (",
)  # fmt: skip
FIELDS = ("email", "event_name", "items", "events", "ads", "emails", "name", "settings", "site")


def texts() -> dict[str, Make[str]]:
    """Return texts by what they consist of, alone and with an unexpected end."""
    makers: dict[str, Make[str]] = {}
    for unit in UNITS:
        for end in ("", "!g"):
            makers[repr(unit + end)] = _repeat_unit("", unit, end)
    for begin in ("http://", "mailto:a@", "Mozilla/5.0 ", "[", '"'):
        for unit in ("a", ":", ".", "a.", "-", "@", "%", " "):
            makers[repr(begin + unit)] = _repeat_unit(begin, unit, "")
    return makers


def _repeat_unit(prefix: str, unit: str, end: str) -> Make[str]:
    def make(size: int) -> str:
        room = size - len(prefix) - len(end)
        return prefix + unit * max(1, room // len(unit)) + end

    return make


def bodies() -> dict[str, Make[bytes]]:
    """Return bodies by their fault."""
    makers: dict[str, Make[bytes]] = {
        "many faults below a long key": _many_faults_below_a_long_key,
        "half a character and many faults": lambda size: (
            b'{"\\ud800":1,' + _many_faults_below_a_long_key(size)[1:]
        ),
        "digits": lambda size: b'{"a":' + b"9" * size + b"}",
        "fraction": lambda size: b'{"a":0.' + b"9" * size + b"}",
        "exponent": lambda size: b'{"a":1e' + b"9" * size + b"}",
        "levels": lambda size: b'{"a":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}",
        "open": lambda size: b"[" * size,
        "objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
        "many shallow": lambda size: b'{"a":[' + b"[]," * (size // 3) + b"[]]}",
        "at most deep": lambda size: b"[" + (b"[" * 30 + b"]" * 30 + b",") * (size // 61) + b"0]",
        "open text": lambda size: b'{"a":"' + b"a" * size,
        "escapes": lambda size: b'{"a":"' + b"\\\\" * (size // 2) + b'"}',
        "quotes": lambda size: b'{"a":"' + b'\\"' * (size // 2) + b'"}',
        "no UTF-8": lambda size: b'{"a":"' + b"\xff" * size + b'"}',
        "NULs": lambda size: b'{"a":[' + b'"\\u0000",' * (size // 9) + b"0]}",
        "bad keys": lambda size: b"{" + _members(size, lambda n: f'"\\u0000{n}":1') + b"}",
        "unknown keys": lambda size: b"{" + _members(size, lambda n: f'"k{n}":1') + b"}",
        "the same key": lambda size: b"{" + _members(size, lambda _: '"email":1') + b"}",
        "form": lambda size: b"a=%41&" * (size // 6),
    }
    for name in FIELDS:
        for unit in ('"', "\x00", "\ud800", "a@"):
            makers[f"{name} of {unit!r}"] = _long_text(name, unit)
        makers[f"{name} of empty items"] = _many_items(name, "{}")
        makers[f"{name} of wrong items"] = _many_items(name, '{"type":"page","profile_field_1":[]}')
    makers["every field wrong"] = _invalid_fields
    return makers


def _many_faults_below_a_long_key(size: int) -> bytes:
    long_key = b"k" * (size // 2)
    return b'{"' + long_key + b'":[' + b'"\\u0000",' * (size // 18) + b"0]}"


def _members(size: int, member: object) -> bytes:
    return ",".join(member(n) for n in range(max(1, size // 12))).encode()  # type: ignore[operator]


def _long_text(name: str, unit: str) -> Make[bytes]:
    return lambda size: json.dumps({name: unit * max(1, size // _json_size(unit))}).encode()


def _json_size(unit: str) -> int:
    return len(json.dumps(unit)) - 2


def _many_items(name: str, item: str) -> Make[bytes]:
    def make(size: int) -> bytes:
        items: Iterable[str] = [item] * max(1, size // (len(item) + 1))
        return f'{{"{name}":[{",".join(items)}]}}'.encode()

    return make


def _invalid_fields(size: int) -> bytes:
    names = [*(f"profile_field_{n}" for n in range(1, 31)), "email", "amount", "url", "type", "key"]
    item = "{" + ",".join(f'"{name}":[]' for name in names) + "}"
    return _many_items("items", item)(size)
