"""The parameter of the keys that a report is only about, as its rows have them."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.http.fields import written
from headwater.http.parameters import ListParameter
from headwater.reports.models import OF_TOUCHES, Group, KeyCondition

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


ONLY = only_parameter(Group, "Only these rows of groups: channel:paid, …; no key for none.")
ONLY_EVENTS = only_parameter(
    (group for group in Group if group not in OF_TOUCHES),
    "Only these rows of groups of events: country:DE, …; no key for none.",
)
