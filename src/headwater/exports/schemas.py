from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headwater.exports.kinds import KINDS, WHOLE_RANGE
from headwater.http.inputs.parameters import ListParameter, Parameter
from headwater.http.openapi import body, or_null


def describe_body(kind: str) -> dict[str, Any]:
    everything = {WHOLE_RANGE.name: {"const": True}}
    schema = {
        "type": "object",
        "anyOf": [
            *({"required": list(dates)} for dates in KINDS[kind].times),
            {"required": [WHOLE_RANGE.name], "properties": everything},
        ],
        "properties": describe_properties(KINDS[kind].parameters),
    }
    return body(schema)


def describe_properties(parameters: Iterable[Parameter[Any] | ListParameter[Any]]) -> dict[str, Any]:
    documented = {parameter.name: parameter.openapi() for parameter in parameters}
    return {
        name: {**_describe_parameter(parameter), "description": parameter["description"]}
        for name, parameter in documented.items()
    }


def _describe_parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = parameter["schema"]
    return schema if parameter["required"] else or_null(schema)
