"""Settings and rules shared by platforms. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, inspect

from headwater.forwarding.platforms.consent import is_limited
from headwater.forwarding.platforms.models import Conversion

_RULE = "rule"


def matching(pattern: str, rule: str, example: str) -> Meta:
    """Return a rule for a pattern. `rule` completes `The setting …`, followed by an example."""
    words = f"{rule}, such as {example}."
    return Meta(pattern=pattern, examples=[example], extra={_RULE: words})


def digits(least: int, length: int, example: str) -> Meta:
    """Return a rule for a number of digits."""
    count = str(length) if least == length else f"{least} to {length}"
    rule = f"must be {count} digits and nothing else"
    return matching(rf"\A[0-9]{{{least},{length}}}\Z", rule, example)


def code(least: int, length: int, example: str, signs: str = "") -> Meta:
    kinds = ["letters", "digits", *signs]
    allowed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    rule = f"must be {least} to {length} {allowed}, without spaces"
    return matching(rf"\A[A-Za-z0-9{signs}]{{{least},{length}}}\Z", rule, example)


URL = Meta(
    pattern=r"\Ahttps?://[^\s?#]+\Z",
    max_length=500,
    examples=["https://oauth2.example.com/token"],
    extra={
        _RULE: "must be an http or https address of at most 500 characters, without ? and #, such"
        " as https://oauth2.example.com/token."
    },
)

Version = Annotated[str, matching(r"\Av[0-9]{1,3}\Z", "must be a version", "v1")]
PointVersion = Annotated[str, matching(r"\Av[0-9]{1,3}\.[0-9]{1,2}\Z", "must be a version", "v1.0")]
TestEventCode = Annotated[
    Annotated[str, code(1, 64, "TEST12345", "_-")] | None,
    Meta(
        description="Code that keeps test events from counting: Events Manager, Test events."
        " Only tests carry it."
    ),
]
TokenUrl = Annotated[str, URL] | None
ConsentDenied = Annotated[
    Literal["limit", "skip"],
    Meta(
        description="Events of people who denied the use of their data for ads: `limit` sends"
        " them for limited data use, `skip` does not send them."
    ),
]
LimitedDataUse = Annotated[
    Literal["denied", "always"],
    Meta(description="Which events are sent for limited data use: those with denied consent, or all."),
]


class PlatformSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field needs Meta(description=…)."""


class ConsentSettings(PlatformSettings, frozen=True, kw_only=True):
    """Settings of platforms with a consent field."""

    consent_denied: ConsentDenied = "limit"


class LimitedDataUseSettings(ConsentSettings, frozen=True, kw_only=True):
    """Settings of platforms with limited data use, which can be set for all events."""

    limited_data_use: LimitedDataUse = "denied"

    def limits(self, conversion: Conversion) -> bool:
        return self.limited_data_use == "always" or is_limited(conversion)


def describe_rule(setting: Any) -> str:
    info = inspect.type_info(setting)
    while isinstance(info, inspect.Metadata | inspect.UnionType):
        if isinstance(info, inspect.UnionType):
            info = next(kind for kind in info.types if not isinstance(kind, inspect.NoneType))
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
