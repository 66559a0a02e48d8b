"""Change source names, paid networks and hosts that aren't sources."""

from __future__ import annotations

from headwater.console.flash import FlashMessage
from headwater.console.forms import without_keys
from headwater.console.visits import PageVisit
from headwater.http.errors import Errors, Invalid, NotFound
from headwater.sources.catalogue import CHANNELS, SOURCES, find_channel
from headwater.sources.titles import format_title
from headwater.spaces.models import Space
from headwater.spaces.networks import put_network, read_network, remove_network
from headwater.spaces.settings_input import SOURCE_NAME, read_changes
from headwater.spaces.spaces import change_space

HOST_LISTS = ("own_domains", "excluded_referrers", "heeded_referrers")
GROUPED_SOURCES = [
    (
        format_title(channel),
        [(source, format_title(source)) for source in SOURCES if find_channel(source) == channel],
    )
    for channel in CHANNELS
]
"""Every source with its title, by channel title."""


async def add_source_name(visit: PageVisit) -> FlashMessage:
    """Raise Invalid for `name` and `source`."""
    name, source = visit.form.text("name").strip(), visit.form.text("source")
    errors: Errors = {}
    if not name:
        errors["name"] = ["Enter the utm_source of your links."]
    if not source:
        errors["source"] = ["Choose a source for this value."]
    if errors:
        raise Invalid(errors)
    await assign_source(visit, SOURCE_NAME, name, source, "name")
    return FlashMessage.SOURCE_NAMED


async def remove_source_name(visit: PageVisit) -> FlashMessage:
    await assign_source(visit, SOURCE_NAME, visit.form.text("name"), "", "name")
    return FlashMessage.SOURCE_NAME_REMOVED


async def add_network(visit: PageVisit) -> FlashMessage:
    """Add or change a paid network. Raise Invalid for `network`, `spellings` and `platform`."""
    spellings = [text.strip() for text in visit.form.text("spellings").split(",") if text.strip()]
    values = {
        "name": visit.form.text("network").strip(),
        "spellings": spellings,
        "platform": visit.form.text("platform").strip() or None,
    }
    try:
        await put_network(visit.connection, visit.space.id, read_network(values))
    except Invalid as error:
        fields = {"name": "network"}
        raise Invalid(
            {
                fields.get(key.partition(".")[0], key.partition(".")[0]): rules
                for key, rules in error.errors.items()
            }
        ) from None
    return FlashMessage.NETWORK_ADDED


async def drop_network(visit: PageVisit) -> FlashMessage:
    try:
        await remove_network(visit.connection, visit.space.id, visit.form.text("network"))
    except NotFound:
        return FlashMessage.NOTHING_CHANGED
    return FlashMessage.NETWORK_REMOVED


async def add_own_host(visit: PageVisit) -> FlashMessage:
    hosts = ",".join([*visit.space.own_domains, visit.form.text("host")])
    await _change(visit, {"own_domains": hosts})
    return FlashMessage.HOST_OWN


async def exclude_host(visit: PageVisit) -> FlashMessage:
    hosts = ",".join([*visit.space.excluded_referrers, visit.form.text("host")])
    await _change(visit, {"excluded_referrers": hosts})
    return FlashMessage.HOST_EXCLUDED


async def change_hosts(visit: PageVisit) -> FlashMessage:
    """Raise Invalid by list."""
    before = typed_hosts(visit.space)
    changed_texts = {
        key: visit.form.text(key) for key in HOST_LISTS if visit.form.text(key).strip() != before[key]
    }
    if not changed_texts:
        return FlashMessage.NOTHING_CHANGED
    await _change(visit, changed_texts)
    return FlashMessage.HOSTS_SAVED


def typed_hosts(space: Space) -> dict[str, str]:
    return {key: ", ".join(getattr(space, key)) for key in HOST_LISTS}


async def assign_source(visit: PageVisit, setting: str, text: str, source: str, field: str) -> None:
    """Set the source that a text stands for, or remove it without a source. Raise Invalid for `field`."""
    try:
        await change_space(visit.connection, visit.space.id, read_changes({f"{setting}.{text}": source}))
    except Invalid as error:
        # The key contains what was typed, truncated, followed by the rule.
        rules = [rule.rpartition(": ")[2] for message in error.errors.values() for rule in message]
        raise Invalid(without_keys({field: rules})) from None


async def _change(visit: PageVisit, texts: dict[str, str]) -> None:
    try:
        await change_space(visit.connection, visit.space.id, read_changes(texts))
    except Invalid as error:
        raise Invalid(without_keys(error.errors)) from None
