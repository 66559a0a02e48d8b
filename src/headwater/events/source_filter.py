"""The parameter of sources: listed ones, and paid networks of the Space's own."""

from __future__ import annotations

from headwater.http.fields import written
from headwater.http.parameters import Input, ListParameter
from headwater.sources.source_names import SourceNames
from headwater.spaces.known_values import SOURCE, refuse_source


def sources_parameter(most: int, description: str) -> ListParameter[str]:
    """Return a parameter of sources, to be read by `read_sources`."""
    kind = written(SOURCE, str)
    return ListParameter(name="sources", kind=kind, most=most, description=description)


def read_sources(
    query: Input, parameter: ListParameter[str], sources: SourceNames
) -> tuple[str, ...]:
    """Read sources of a Space. Unknown ones are noted in the query."""
    words = parameter.read(query)
    for word in words:
        if (rule := refuse_source(word, sources)) is not None:
            query.refuse(parameter.name, rule)
    return tuple(word for word in words if word in sources.sources)
