"""Forms: a form decodes and validates the items of one kind, and names their errors.

A valid item passes through compiled decoding and a few checks. Only one that fails is read a
second time, field by field, so that the answer names every error in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.emails import parse_email
from headwater.http.inputs.suggestions import Names
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_json, decode_part, decode_typed, refuse_bad_text

Accepted = TypeVar("Accepted")
Parser = Callable[[Any], Any]
"""Makes a field's value from what was written; None from what counts as absent. Raises ValueError
with the rule that is broken."""

Identifier = Annotated[str, Meta(max_length=255)] | None
Address = Annotated[str, Meta(max_length=2048)] | None
Attribution = Annotated[str, Meta(max_length=512)] | None
Code = str | int | None
"""An id that some senders write as a number."""
Time = str | int | float | None


class Identification(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that identify the contact of an item."""

    email: Annotated[str, Meta(max_length=320)] | None = None
    trk_token: Identifier = None
    fingerprint: Identifier = None
    ip: Annotated[str, Meta(max_length=64)] | None = None
    tracking_id: Identifier = None


IDENTIFYING = frozenset({"email", "trk_token", "fingerprint", "ip"})
"""An item has to have one of these, or fingerprint and ip together."""


MOST_WARNINGS = 10
"""Of one item."""
LONGEST_QUOTED = 64
"""The characters of an unknown field's name that a warning quotes."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode


class Check:
    """Runs parsers and collects their errors under the field's name."""

    def __init__(self) -> None:
        self.errors: Errors = {}

    def __call__(self, parse: Callable[..., Any], name: str, value: Any, *more: Any) -> Any:
        """Return the parsed value; None when `parse` raises ValueError, which is added."""
        try:
            return parse(value, *more)
        except ValueError as error:
            self.add(name, str(error))
            return None

    def present(self, payload: Any, parsers: Mapping[str, Parser]) -> dict[str, Any]:
        """Return the parsed values of those fields that have one. Errors are collected likewise."""
        values: dict[str, Any] = {}
        for name, parse in parsers.items():
            written = getattr(payload, name)
            if written is None or written is UNSET:
                continue
            try:  # here, as a call for each value would cost an event half a microsecond
                value = parse(written)
            except ValueError as error:
                self.add(name, str(error))
                continue
            if value is not None:
                values[name] = value
        return values

    def add(self, name: str, rule: str) -> None:
        """Add an error of a field. `rule` completes the sentence "The <name> …"."""
        self.errors.setdefault(name, []).append(f"The {name} {rule}")


@dataclass(frozen=True)
class Form(Generic[Accepted]):
    """The definition by which items of one kind are read."""

    payload: Any
    """The msgspec struct of an item as it arrives."""
    normalise: Callable[[Any, float, Check], Accepted]
    """Checks the rules that types cannot express (blanks, identification, formats), of an item
    received at a Unix time. Errors go to the Check."""
    rules: Mapping[str, str | Callable[[Any], str]]
    """The rule of a field, for a value of the wrong type; some rules depend on the value. A field
    without one is a text of limited length."""
    stand_ins: Mapping[str, Any]
    """Required fields, each with a value that is validated in place of a missing or wrong one."""
    raw: frozenset[str] = frozenset()
    """Fields that are kept as they were written."""
    alternatives: tuple[frozenset[str], ...] = (IDENTIFYING,)
    """Groups of which one field is required; one of the wrong type does not count as missing."""
    warns: bool = False
    """True when unknown fields are named in the accepted item's `warnings`."""
    _fields: dict[str, Any] = field(init=False)
    _names: Names = field(init=False)
    _decode: Callable[[bytes | Raw], Any] = field(init=False)
    """Refuses unknown fields where they are named, so that an item without any is decoded once."""
    _decode_known: Callable[[bytes | Raw], Any] = field(init=False)

    def __post_init__(self) -> None:
        strict: Any = msgspec.defstruct(
            self.payload.__name__,
            [],
            bases=(self.payload,),
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=self.warns,
        )
        fields = {info.name: info for info in msgspec.structs.fields(self.payload)}
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_names", Names(fields))
        object.__setattr__(self, "_decode", msgspec.json.Decoder(strict).decode)
        object.__setattr__(self, "_decode_known", msgspec.json.Decoder(self.payload).decode)

    def accept(self, raw: bytes | Raw, now: float) -> Accepted:
        """Return the accepted item of JSON received at `now` (Unix seconds). Raises Invalid, naming
        every field at fault. Raw JSON is part of a body that has been checked already.
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
        """Return the payload without its unknown fields. Raises Invalid for any other error."""
        try:
            return decode_part(body, self._decode_known)
        except msgspec.ValidationError:
            raise self._explain(body, now) from None

    def _warnings(self, body: bytes) -> tuple[str, ...]:
        """Return a sentence for each unknown field, and one that counts those beyond the limit."""
        unknown = [name for name in _members(body) if name not in self._fields]
        count = len(unknown) if len(unknown) <= MOST_WARNINGS else MOST_WARNINGS - 1
        warnings = [self._warning(name) for name in unknown[:count]]
        more = len(unknown) - count
        return (*warnings, f"{more} more are not fields.") if more else tuple(warnings)

    def _warning(self, name: str) -> str:
        quoted = name if len(name) <= LONGEST_QUOTED else f"{name[:LONGEST_QUOTED]}…"
        question = self._names.question(name)
        return f"{quoted} is not a field; {question}" if question else f"{quoted} is not a field."

    def _explain(self, raw: bytes, now: float) -> Invalid:
        """Return all errors of an item with values of wrong types: each field is decoded on its
        own, and the other checks run on the valid ones.
        """
        value = decode_json(raw, msgspec.json.decode)
        if not isinstance(value, dict):
            return Invalid(NOT_AN_OBJECT)
        refuse_bad_text(value)
        errors: Errors = {}
        values = dict(self.stand_ins)
        for name, info in self._fields.items():
            if name in value:
                try:
                    values[name] = (
                        Raw(msgspec.json.encode(value[name]))
                        if name in self.raw
                        else msgspec.convert(value[name], info.type)
                    )
                except msgspec.ValidationError:
                    errors[name] = [f"The {name} {self._rule(name, value[name])}"]
            elif info.required:
                errors[name] = [f"The {name} is required."]
        more = Check()
        self.normalise(self.payload(**values), now, more)
        known = errors.keys() | {
            name for group in self.alternatives if errors.keys() & group for name in group
        }
        errors |= {name: rules for name, rules in more.errors.items() if name not in known}
        return Invalid(errors)

    def _rule(self, name: str, value: Any) -> str:
        """Return the rule that a value of the wrong type or length breaks."""
        rule = self.rules.get(name)
        if rule is not None:
            return rule if isinstance(rule, str) else rule(value)
        return _length_rule(self._fields[name].type)


@cache
def _length_rule(text_type: Any) -> str:
    longest = msgspec.json.schema(text_type)["anyOf"][0]["maxLength"]
    return f"must be a string of at most {longest} characters."


def nonblank_texts(payload: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of the text fields that are not blank, as they are."""
    values: dict[str, Any] = {}
    for name in names:
        value = getattr(payload, name)
        if value is not None and value.strip():
            values[name] = value
    return values


def require_identification(values: Mapping[str, Any], check: Check) -> None:
    """Add an error when the accepted values identify nobody."""
    has_ip, has_fingerprint = "ip" in values, "fingerprint" in values
    # A wrong address has an error of its own and is not reported as missing as well.
    if has_fingerprint != has_ip and "ip" not in check.errors:
        missing, present = ("fingerprint", "ip") if has_ip else ("ip", "fingerprint")
        check.add(missing, f"is required when {present} is given.")
    elif not ("email" in values or has_fingerprint or "trk_token" in values or "email" in check.errors):
        check.add("email", "is required unless trk_token, or fingerprint with ip, is given.")


def code(value: str | int, longest: int) -> str | None:
    """Return an id written as text or a number, trimmed; None for a blank one. Raises ValueError
    when it is too long.
    """
    text = str(value).strip()
    if len(text) > longest:
        raise ValueError(f"must be at most {longest} characters long.")
    return text or None


def _ip(value: str) -> str | None:
    if not value.strip():
        return None
    try:
        address = ip_address(value.strip())
    except ValueError:
        address = None
    # The zone of an IPv6 address is any text, and means nothing elsewhere.
    if address is None or "%" in value:
        raise ValueError("must be an IPv4 or IPv6 address.")
    return str(address)


def _email(value: str) -> str | None:
    address = value.strip().lower()
    return parse_email(address) if address else None


IDENTIFICATION: dict[str, Parser] = {"email": _email, "ip": _ip}
"""The parsers of the fields that identify a contact and have a form of their own."""
