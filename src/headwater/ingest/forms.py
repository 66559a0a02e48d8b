"""What the payloads share: a form decodes, validates and explains the items of one kind.

A valid item passes through compiled decoding and a few checks. Only one that fails is read a
second time, field by field, so that the answer names everything wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Raw

from headwater.http.errors import Errors, Invalid
from headwater.http.json_decoder import (
    NOT_AN_OBJECT,
    decode_json,
    decode_part,
    decode_typed,
    refuse_bad_text,
)
from headwater.http.suggestions import Names
from headwater.identity.emails import parse_written_email

Accepted = TypeVar("Accepted")

Identifier = Annotated[str, Meta(max_length=255)] | None
Address = Annotated[str, Meta(max_length=2048)] | None
Attribution = Annotated[str, Meta(max_length=512)] | None
Code = str | int | None
"""An id that some senders write as a number."""
Time = str | int | float | None


class Identification(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that tell whose an item is."""

    email: Annotated[str, Meta(max_length=320)] | None = None
    trk_token: Identifier = None
    fingerprint: Identifier = None
    ip: Annotated[str, Meta(max_length=64)] | None = None
    tracking_id: Identifier = None


IDENTIFYING = frozenset({"email", "trk_token", "fingerprint", "ip"})
"""Of which an item has to have one, or fingerprint and ip."""


MOST_WARNINGS = 10
"""Of one item."""
LONGEST_SHOWN = 64
"""Of an unknown field's name in a warning, in characters."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode


class Check:
    """Runs parsers and keeps what they complain of, under the field's name."""

    def __init__(self) -> None:
        self.errors: Errors = {}

    def __call__(self, parse: Callable[..., Any], name: str, value: Any, *more: Any) -> Any:
        """What `parse` makes of the value, or None with its ValueError kept."""
        try:
            return parse(value, *more)
        except ValueError as error:
            self.add(name, str(error))
            return None

    def add(self, name: str, rule: str) -> None:
        """`rule` completes the sentence "The <name> …"."""
        self.errors.setdefault(name, []).append(f"The {name} {rule}")


@dataclass(frozen=True)
class Form(Generic[Accepted]):
    """How the items of one kind are read."""

    payload: Any
    """The msgspec struct of an item as it arrives."""
    normalise: Callable[[Any, float, Check], Accepted]
    """What the types cannot say (blanks, identification, formats), for an item received at the
    given Unix time; what breaks a rule is kept by the Check."""
    rules: Mapping[str, str | Callable[[Any], str]]
    """What a field of the wrong type should have been, where its length does not tell; some rules
    depend on what it was."""
    stand_ins: Mapping[str, Any]
    """Required fields, each with a value to go on with when it is missing or wrong."""
    raw: frozenset[str] = frozenset()
    """Fields that are kept as they were written."""
    alternatives: tuple[frozenset[str], ...] = (IDENTIFYING,)
    """Fields of which one is needed: when one of them is of the wrong type, it is not missing."""
    warns: bool = False
    """Whether fields that there are not are told in the accepted item's `warnings`."""
    _fields: dict[str, Any] = field(init=False)
    _names: Names = field(init=False)
    _decode: Callable[[bytes | Raw], Any] = field(init=False)
    """Refuses unknown fields where they are told: an item without any is decoded once."""
    _decode_known: Callable[[bytes | Raw], Any] = field(init=False)

    def __post_init__(self) -> None:
        strict: Any = msgspec.defstruct(
            self.payload.__name__, [], bases=(self.payload,), frozen=True, kw_only=True,
            forbid_unknown_fields=self.warns,
        )  # fmt: skip
        fields = {info.name: info for info in msgspec.structs.fields(self.payload)}
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_names", Names(fields))
        object.__setattr__(self, "_decode", msgspec.json.Decoder(strict).decode)
        object.__setattr__(self, "_decode_known", msgspec.json.Decoder(self.payload).decode)

    def accept(self, raw: bytes | Raw, now: float) -> Accepted:
        """The item in JSON received at `now` (Unix seconds). Raises Invalid, naming every field at
        fault. What is Raw is part of a body that has been read.
        """
        body = bytes(raw)
        decode = decode_part if isinstance(raw, Raw) else decode_typed
        warnings: tuple[str, ...] = ()
        try:
            payload = decode(body, self._decode)
        except msgspec.ValidationError:
            payload = self._decode_leniently(body, now)
            warnings = self._warnings(body) if self.warns else ()
        if b"\\u0000" in body:
            refuse_bad_text(decode_json(body))
        check = Check()
        accepted: Any = self.normalise(payload, now, check)
        if check.errors:
            raise Invalid(check.errors)
        return msgspec.structs.replace(accepted, warnings=warnings) if warnings else accepted

    def _decode_leniently(self, body: bytes, now: float) -> Any:
        """The payload without its unknown fields. Raises Invalid when something else is wrong."""
        try:
            return decode_part(body, self._decode_known)
        except msgspec.ValidationError:
            raise self._explain(body, now) from None

    def _warnings(self, body: bytes) -> tuple[str, ...]:
        """A sentence for each unknown field; in place of all beyond the last, how many they are."""
        unknown = [name for name in _members(body) if name not in self._fields]
        count = len(unknown) if len(unknown) <= MOST_WARNINGS else MOST_WARNINGS - 1
        told = [self._warning(name) for name in unknown[:count]]
        more = len(unknown) - count
        return (*told, f"{more} more are not fields.") if more else tuple(told)

    def _warning(self, name: str) -> str:
        shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"
        question = self._names.question(name)
        return f"{shown} is not a field; {question}" if question else f"{shown} is not a field."

    def _explain(self, raw: bytes, now: float) -> Invalid:
        """Everything wrong with an item whose types are off: each field is tried on its own, and
        the sound ones go on to the other checks.
        """
        value = decode_json(raw, msgspec.json.decode)
        if not isinstance(value, dict):
            return Invalid(NOT_AN_OBJECT)
        refuse_bad_text(value)
        errors: Errors = {}
        sound = dict(self.stand_ins)
        for name, info in self._fields.items():
            if name in value:
                try:
                    sound[name] = (
                        Raw(msgspec.json.encode(value[name])) if name in self.raw
                        else msgspec.convert(value[name], info.type)
                    )  # fmt: skip
                except msgspec.ValidationError:
                    errors[name] = [f"The {name} {self._rule(name, value[name])}"]
            elif info.required:
                errors[name] = [f"The {name} is required."]
        more = Check()
        self.normalise(self.payload(**sound), now, more)
        known = errors.keys() | {
            name for group in self.alternatives if errors.keys() & group for name in group
        }
        errors |= {name: told for name, told in more.errors.items() if name not in known}
        return Invalid(errors)

    def _rule(self, name: str, value: Any) -> str:
        """What a field of the wrong type or length should have been."""
        rule = self.rules.get(name)
        if rule is not None:
            return rule if isinstance(rule, str) else rule(value)
        return _length_rule(self._fields[name].type)


@cache
def _length_rule(text_type: Any) -> str:
    longest = msgspec.json.schema(text_type)["anyOf"][0]["maxLength"]
    return f"must be a string of at most {longest} characters."


def given_texts(payload: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Text fields that are copied over as they are, without the blank ones."""
    values: dict[str, Any] = {}
    for name in names:
        value = getattr(payload, name)
        if value is not None and value.strip():
            values[name] = value
    return values


def identification(payload: Any, check: Check) -> dict[str, str | None]:
    """Who an item is of: `email` and `ip`. Beside them there has to be enough to go by."""
    email = check(_email, "email", payload.email)
    ip = check(_ip, "ip", payload.ip)
    fingerprint = payload.fingerprint is not None and payload.fingerprint.strip()
    token = payload.trk_token is not None and payload.trk_token.strip()
    # An address that is there but wrong has its own error: it need not be missed as well.
    if bool(fingerprint) != (ip is not None) and "ip" not in check.errors:
        missing, given = ("ip", "fingerprint") if ip is None else ("fingerprint", "ip")
        check.add(missing, f"is required when {given} is given.")
    elif not (email or fingerprint or token) and "email" not in check.errors:
        check.add("email", "is required unless trk_token, or fingerprint with ip, is given.")
    return {"email": email, "ip": ip}


def code(value: str | int | None, longest: int) -> str | None:
    """An id written as text or as a number, trimmed. Raises ValueError when it is too long."""
    if value is None:
        return None
    text = str(value).strip()
    if len(text) > longest:
        raise ValueError(f"must be at most {longest} characters long.")
    return text or None


def _ip(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    try:
        address = ip_address(value.strip())
    except ValueError:
        address = None
    # The zone of an IPv6 address is any text, and means nothing elsewhere.
    if address is None or "%" in value:
        raise ValueError("must be an IPv4 or IPv6 address.")
    return str(address)


def _email(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    return parse_written_email(value)
