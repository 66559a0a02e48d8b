"""Decode and validate items, naming every wrong field.

Valid items take the fast path of compiled decoding; only invalid ones are read again, field by field.
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
from headwater.http.json_decoder import (
    NOT_AN_OBJECT,
    decode_items,
    decode_json,
    decode_part,
    decode_typed,
    refuse_bad_text,
)

Accepted = TypeVar("Accepted")
Envelope = TypeVar("Envelope")
Parser = Callable[[Any], Any]
"""Returns the value, or None if it counts as absent. Raises ValueError with the rule."""

Identifier = Annotated[str, Meta(max_length=255)] | None
LONGEST_ADDRESS = 2048
Address = Annotated[str, Meta(max_length=LONGEST_ADDRESS)] | None
Attribution = Annotated[str, Meta(max_length=512)] | None
Code = str | int | None
"""Some senders write numbers."""
Time = str | int | float | None


class Identification(msgspec.Struct, frozen=True, kw_only=True):
    email: Annotated[str, Meta(max_length=320)] | None = None
    trk_token: Identifier = None
    fingerprint: Identifier = None
    ip: Annotated[str, Meta(max_length=64)] | None = None
    tracking_id: Identifier = None


IDENTIFYING = frozenset({"email", "trk_token", "fingerprint", "ip"})
"""One is required; fingerprint and ip only together."""


MOST_WARNINGS = 10
"""Per item."""
LONGEST_QUOTED = 64
"""Characters of a field name in a warning."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode


class Check:
    def __init__(self) -> None:
        self.errors: Errors = {}

    def __call__(self, parse: Callable[..., Any], name: str, value: Any, *more: Any) -> Any:
        """Return the value; on ValueError, add the error."""
        try:
            return parse(value, *more)
        except ValueError as error:
            self.add(name, str(error))
            return None

    def present(self, payload: Any, parsers: Mapping[str, Parser]) -> dict[str, Any]:
        """Return the values of present fields."""
        values: dict[str, Any] = {}
        for name, parse in parsers.items():
            raw_value = getattr(payload, name)
            if raw_value is None or raw_value is UNSET:
                continue
            try:  # a call per value would cost an event half a microsecond
                value = parse(raw_value)
            except ValueError as error:
                self.add(name, str(error))
                continue
            if value is not None:
                values[name] = value
        return values

    def add(self, name: str, rule: str) -> None:
        """Add a field's error. `rule` completes "The <name> …"."""
        self.errors.setdefault(name, []).append(f"The {name} {rule}")


@dataclass(frozen=True)
class Form(Generic[Accepted]):
    payload: Any
    """A msgspec struct."""
    normalize: Callable[[Any, float, Check], Accepted]
    """Checks what types can't: blanks, identification, formats. Takes the Unix time of receipt."""
    rules: Mapping[str, str | Callable[[Any], str]]
    """By field, the rule for a wrong type, or a function of the value. By default, text with a maximum
    length.
    """
    stand_ins: Mapping[str, Any]
    """Valid values in place of missing or wrong required fields."""
    raw: frozenset[str] = frozenset()
    """Fields kept as raw JSON."""
    alternatives: tuple[frozenset[str], ...] = (IDENTIFYING,)
    """Alternative fields: none is reported as missing if another has a wrong value."""
    warns: bool = False
    """Report unknown fields in `warnings`."""
    _fields: dict[str, Any] = field(init=False)
    _names: Names = field(init=False)
    _decode: Callable[[bytes | Raw], Any] = field(init=False)
    """Accepts unknown fields. `_decode` rejects them if `warns`."""
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

    def accept(self, raw: bytes | Raw, current_time: float) -> Accepted:
        """Validate JSON received at `current_time` (Unix seconds). Raises Invalid with all wrong fields.
        `Raw` is part of a checked body.
        """
        body = bytes(raw)
        decode = decode_part if isinstance(raw, Raw) else decode_typed
        warnings: tuple[str, ...] = ()
        try:
            payload = decode(body, self._decode)
        except msgspec.ValidationError:
            payload = self._decode_leniently(body, current_time)
            warnings = self._warnings(body) if self.warns else ()
        if b"\\u0000" in body:
            refuse_bad_text(decode_json(body))
        check = Check()
        accepted: Any = self.normalize(payload, current_time, check)
        if check.errors:
            raise Invalid(check.errors)
        return msgspec.structs.replace(accepted, warnings=warnings) if warnings else accepted

    def _decode_leniently(self, body: bytes, current_time: float) -> Any:
        """Ignore unknown fields. Raises Invalid."""
        try:
            return decode_part(body, self._decode_known)
        except msgspec.ValidationError:
            return self._read_fields(body, current_time)

    def _warnings(self, body: bytes) -> tuple[str, ...]:
        """Return a sentence per unknown field, up to the limit."""
        unknown = [name for name in _members(body) if name not in self._fields]
        count = len(unknown) if len(unknown) <= MOST_WARNINGS else MOST_WARNINGS - 1
        warnings = [self._warning(name) for name in unknown[:count]]
        more_count = len(unknown) - count
        return (*warnings, f"{more_count} more are not fields.") if more_count else tuple(warnings)

    def _warning(self, name: str) -> str:
        short_name = name if len(name) <= LONGEST_QUOTED else f"{name[:LONGEST_QUOTED]}…"
        question = self._names.question(name)
        return f"{short_name} is not a field; {question}" if question else f"{short_name} is not a field."

    def _read_fields(self, raw: bytes, current_time: float) -> Any:
        """Read field by field. Of a repeated key, which the decoder reads each time, the last value counts.
        Raises Invalid with all errors.
        """
        value = decode_json(raw, msgspec.json.decode)
        if not isinstance(value, dict):
            raise Invalid(NOT_AN_OBJECT)
        refuse_bad_text(value)
        members = _members(raw)
        errors: Errors = {}
        values = dict(self.stand_ins)
        for name, info in self._fields.items():
            if name in value:
                try:
                    values[name] = (
                        members[name] if name in self.raw else msgspec.convert(value[name], info.type)
                    )
                except msgspec.ValidationError:
                    errors[name] = [f"The {name} {self._rule(name, value[name])}"]
            elif info.required:
                errors[name] = [f"The {name} is required."]
        payload = self.payload(**values)
        if not errors:
            return payload
        other_check = Check()
        self.normalize(payload, current_time, other_check)
        known_names = errors.keys() | {
            name
            for group in self.alternatives
            if errors.keys() & group
            for name in group
            if not values.get(name)
        }
        errors |= {name: rules for name, rules in other_check.errors.items() if name not in known_names}
        raise Invalid(errors)

    def _rule(self, name: str, value: Any) -> str:
        rule = self.rules.get(name)
        if rule is not None:
            return rule if isinstance(rule, str) else rule(value)
        return _length_rule(self._fields[name].type)


@cache
def _length_rule(text_type: Any) -> str:
    longest = msgspec.json.schema(text_type)["anyOf"][0]["maxLength"]
    return f"must be a string of at most {longest} characters."


def decode_envelope(body: bytes, decode: Callable[[bytes], Envelope], name: str, rule: str) -> Envelope:
    """Decode a body with items as raw JSON. Raise Invalid if it is no object, or by `rule` if its member
    `name` has another type.
    """
    try:
        return decode_items(body, decode)
    except msgspec.ValidationError:
        if body.lstrip().startswith(b"{"):
            raise Invalid.of(name, rule) from None
        raise Invalid(NOT_AN_OBJECT) from None


def keep_nonblank_texts(payload: Any, names: tuple[str, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in names:
        value = getattr(payload, name)
        if value is not None and value.strip():
            values[name] = value
    return values


def require_identification(values: Mapping[str, Any], check: Check) -> None:
    has_ip, has_fingerprint = "ip" in values, "fingerprint" in values
    # a wrong value isn't missing
    if has_fingerprint != has_ip and "ip" not in check.errors:
        missing_name, identifier = ("fingerprint", "ip") if has_ip else ("ip", "fingerprint")
        check.add(missing_name, f"is required when {identifier} is given.")
    elif not ("email" in values or has_fingerprint or "trk_token" in values or "email" in check.errors):
        check.add("email", "is required unless trk_token, or fingerprint with ip, is given.")


def code(value: str | int, longest: int) -> str | None:
    """Return a trimmed id, or None if blank. Raises ValueError if too long."""
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
    # An IPv6 zone is local to its host.
    if address is None or "%" in value:
        raise ValueError("must be an IPv4 or IPv6 address.")
    return str(address)


def _email(value: str) -> str | None:
    address = value.strip().lower()
    return parse_email(address) if address else None


IDENTIFICATION: dict[str, Parser] = {"email": _email, "ip": _ip}
