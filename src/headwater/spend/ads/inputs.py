"""The body that stores names in the catalogue, and the parameters of its list."""

from __future__ import annotations

from typing import Any

from headwater.http.inputs.fields import REQUIRED, FieldType, Schema, text_up_to, word_of
from headwater.http.inputs.objects import Property, array_of, object_of, parse_body
from headwater.http.inputs.pagination import Cursors
from headwater.spend.ads.catalogue import KINDS, AdName

MAX_NAMES = 1000
MAX_LENGTH = 512
MAX_PLATFORM_LENGTH = 64


_FILLED: Schema = {"type": "string", "pattern": r"\S", "maxLength": MAX_LENGTH}


def _required(kind: FieldType[str | None]) -> FieldType[str]:

    def parse(value: str | None) -> str:
        if value is None:
            raise ValueError(REQUIRED)
        return value

    return kind.then(parse)


_ID = _required(
    text_up_to(
        MAX_LENGTH,
        trim=True,
        integers=True,
        rule=f"must be a string of at most {MAX_LENGTH} characters or an integer.",
    ).or_none()
).documented(anyOf=[_FILLED, {"type": "integer"}])
_NAME = _required(text_up_to(MAX_LENGTH, trim=True).or_none()).documented(**_FILLED)
_PLATFORM = (
    text_up_to(MAX_PLATFORM_LENGTH, trim=True)
    .or_none()
    .documented(type=["string", "null"], maxLength=MAX_PLATFORM_LENGTH)
)

AD_NAME = object_of(
    {
        "kind": Property(word_of(KINDS), missing=f"must be one of {', '.join(KINDS)}."),
        "id": Property(_ID, "The platform's id, like in touchpoints.", missing=REQUIRED),
        "name": Property(_NAME, missing=REQUIRED),
        "platform": Property(_PLATFORM, "If absent, null or blank, the stored platform is kept."),
    }
).then(lambda values: AdName(**values))
_NO_ARRAY = "must be an array of ads."
NAMES = object_of(
    {
        "ads": Property(
            array_of(
                AD_NAME, MAX_NAMES, min_items=1, rule=_NO_ARRAY, count_rule=f"must hold 1 to {MAX_NAMES} ads."
            ),
            "All ads are stored, or none. If an id is repeated, the last one wins.",
            missing=_NO_ARRAY,
        )
    }
)


def read_names(body: dict[str, Any]) -> tuple[AdName, ...]:
    """Parse the names in a body. Raises Invalid with every invalid field."""
    return parse_body(NAMES, body)["ads"]


def read_name(values: dict[str, Any]) -> AdName:
    """Parse one name. Raises Invalid with every invalid field."""
    return parse_body(AD_NAME, values)


def cursors(signing_key: bytes, space_id: int) -> Cursors:
    return Cursors(signing_key, space_id, "/ads", None)
