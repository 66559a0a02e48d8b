"""The parameter of the keys that a report is only about, as its rows have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.http.inputs.fields import written
from headwater.http.inputs.parameters import Input, ListParameter
from headwater.reports.models import OF_TOUCHES, Group, KeyCondition
from headwater.reports.path_models import TouchPath
from headwater.sources.source_names import SourceNames
from headwater.spaces.known_values import refuse_channel, refuse_platform, refuse_source

MOST_CONDITIONS = 20


def only_parameter(groups: Iterable[Group], description: str) -> ListParameter[KeyCondition]:
    """Return the parameter, of these groups."""
    by_name = {str(group): group for group in groups}
    names = ", ".join(by_name)

    def read(text: str) -> KeyCondition:
        name, colon, key = text.partition(":")
        if not colon or name not in by_name:
            raise ValueError(f"must be <group>:<key>, of {names}.")
        return KeyCondition(by_name[name], key or None)

    schema = {"type": "string", "pattern": f"^({'|'.join(by_name)}):"}
    return ListParameter(
        name="only", kind=written(schema, read), most=MOST_CONDITIONS, description=description
    )


def read_keys(
    query: Input, parameter: ListParameter[KeyCondition], sources: SourceNames
) -> tuple[KeyCondition, ...]:
    """Read the keys of a Space with these sources, and refuse unknown sources, channels and
    platforms. Errors are noted in the query.
    """
    conditions = parameter.read(query)
    refuse_unknown_keys(query, parameter.name, conditions, sources)
    return conditions


def refuse_unknown_keys(
    query: Input, name: str, conditions: Iterable[KeyCondition], sources: SourceNames
) -> None:
    """Note the conditions of the parameter `name` whose source, channel or platform is unknown."""
    for condition in conditions:
        for word, refuse in _words_of(condition):
            if (rule := refuse(word, sources)) is not None:
                query.refuse(name, f"names {condition.group}:{condition.key}. {word} {rule}")


_Refuse = Callable[[str, SourceNames], str | None]


def _words_of(condition: KeyCondition) -> list[tuple[str, _Refuse]]:
    """Return the sources, channels or platforms that a key names, each with its rule."""
    refuse = _RULES.get(str(condition.group))
    if refuse is None or condition.key is None:
        return []
    if condition.group not in (Group.PATH, Group.CHANNEL_PATH):
        return [(condition.key, refuse)]
    path = TouchPath.read(condition.key)
    return [(step, refuse) for step in path.steps] if path else []


def _stored_source(word: str, sources: SourceNames) -> str | None:
    """Return the rule that a source breaks. Removed networks may still have rows."""
    return None if word in sources.numbers else refuse_source(word, sources.sources)


def _platform(word: str, sources: SourceNames) -> str | None:
    """Return the rule that a word breaks which is no platform above sources."""
    return None if word in sources.platform_sources else refuse_platform(word, sources)


def _channel(word: str, _: SourceNames) -> str | None:
    return refuse_channel(word)


_RULES: dict[str, _Refuse] = {
    "source": _stored_source,
    "first_source": _stored_source,
    "last_source": _stored_source,
    "path": _stored_source,
    "channel": _channel,
    "channel_path": _channel,
    "platform": _platform,
}
"""By group. Of other groups an unknown key has no rows, which the answer says in `hints`."""

ONLY = only_parameter(Group, "Only these rows of groups: channel:paid, …; no key for none.")
ONLY_EVENTS = only_parameter(
    (group for group in Group if group not in OF_TOUCHES),
    "Only these rows of groups of events: country:DE, …; no key for none.",
)
