"""The `sources` parameter: listed sources, and paid networks added by the Space."""

from __future__ import annotations

from headwater.http.inputs.fields import Schema, written
from headwater.http.inputs.parameters import Input, ListParameter
from headwater.spaces.known_values import SOURCE, refuse_source


def sources_parameter(limit: int, description: str, schema: Schema = SOURCE) -> ListParameter[str]:
    kind = written(schema, str)
    return ListParameter(name="sources", kind=kind, most=limit, description=description)


def read_sources(query: Input, parameter: ListParameter[str], existing: tuple[str, ...]) -> tuple[str, ...]:
    """Record unknown sources as errors in the query."""
    words = parameter.read(query)
    for word in words:
        if (rule := refuse_source(word, existing)) is not None:
            query.refuse(parameter.name, rule)
    return tuple(word for word in words if word in existing)
