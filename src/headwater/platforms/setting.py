"""The rules of destinations' settings, as a pattern for the machine and a sentence for people; and
the sentence of any setting, from its type. Pure.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Meta, inspect

_RULE = "rule"


def matching(pattern: str, rule: str) -> Meta:
    """Text that matches a pattern; `rule` says the same, as the rest of `The setting …`."""
    return Meta(pattern=pattern, extra={_RULE: rule})


def digits(least: int, most: int) -> Meta:
    """So many digits."""
    count = str(most) if least == most else f"{least} to {most}"
    return matching(rf"\A[0-9]{{{least},{most}}}\Z", f"must be {count} digits.")


def code(least: int, most: int, signs: str = "") -> Meta:
    """So many letters, digits and, at their end, these signs."""
    kinds = ["letters", "digits", *signs]
    allowed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    return matching(
        rf"\A[A-Za-z0-9{signs}]{{{least},{most}}}\Z", f"must be {least} to {most} {allowed}."
    )


VERSION = matching(r"\Av[0-9]{1,3}\Z", "must be a version such as v1.")
VERSION_WITH_POINT = matching(r"\Av[0-9]{1,3}\.[0-9]{1,2}\Z", "must be a version such as v1.0.")
URL = Meta(
    pattern=r"\Ahttps?://[^\s?#]+\Z",
    max_length=500,
    extra={_RULE: "must be an http or https address of at most 500 characters, without ? and #."},
)


def rule_of(kind: Any) -> str:
    """What a setting of this type must be, as the rest of a sentence."""
    info = inspect.type_info(kind)
    while isinstance(info, inspect.Metadata | inspect.UnionType):
        if isinstance(info, inspect.UnionType):
            info = next(each for each in info.types if not isinstance(each, inspect.NoneType))
        elif rule := cast("dict[str, str]", info.extra or {}).get(_RULE):  # pyright: ignore[reportUnknownMemberType] - msgspec's
            return rule
        else:
            info = info.type
    match info:
        case inspect.LiteralType(values):
            return f"must be one of {', '.join(sorted(map(str, values)))}."
        case inspect.BoolType():
            return "must be true or false."
        case inspect.IntType(ge=least, le=most):
            return f"must be a whole number from {least} to {most}."
        case _:
            return "must be a text."
