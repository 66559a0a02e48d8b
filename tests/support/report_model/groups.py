"""Keys of groups, and their labels."""

from __future__ import annotations

from datetime import date, datetime
from math import floor

from tests.support.report_model.clock import time_key
from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Event, Facts, TagSet, Touchpoint
from tests.support.report_model.question import TIME_GROUPS, Question
from tests.support.report_model.ways import DAYS, TOUCHES, find_channel, find_range, touch_sequence

Key = str | None
Keys = tuple[Key, ...]


def named_key(kind: str, tags: TagSet) -> Key:
    """Return the key of a campaign, ad set or ad: its id, otherwise its name."""
    identity, name = getattr(tags, f"{kind}_id"), getattr(tags, f"{kind}_name")
    return identity if identity is not None else name


def make_page(url: str | None) -> Key:
    """Return a URL without query and fragment, or None if nothing remains."""
    return None if url is None else url.partition("#")[0].partition("?")[0] or None


def touch_key(group: str, touch: Touchpoint) -> Key:
    match group:
        case "source":
            return touch.source or None
        case "channel":
            return find_channel(touch.source) if touch.source else None
        case "platform":
            return get_platform(touch.source) if touch.source else None
        case "keyword":
            return touch.tags.keyword
        case "landing_page":
            return make_page(touch.url)
        case _:
            return named_key(group, touch.tags)


def event_key(group: str, conversion: Conversion, facts: Facts, question: Question) -> Key:
    event = conversion.event
    match group:
        case "event":
            return event.event_name
        case "country" | "self_reported_source":
            return getattr(facts.contacts[event.contact_id], group)
        case "company":
            return None if event.company_id is None else str(event.company_id)
        case "customer" | "kind":
            key_of_event = customer_key if group == "customer" else event_kind
            return key_of_event(event, facts, question)
        case "contact":
            return str(event.contact_id)
        case _:
            return path_key(group, conversion) if conversion.window else None


def path_key(group: str, conversion: Conversion) -> Key:
    """Return an event's key based on the touches in the window before it."""
    window = conversion.window
    match group:
        case "path":
            return str(touch_sequence(conversion, "source"))
        case "channel_path":
            return str(touch_sequence(conversion, "channel"))
        case "touch_range":
            return find_range(len(window), TOUCHES)
        case "days_range":
            return find_range(floor(conversion.days), DAYS)
        case _:
            return (window[0] if group == "first_source" else window[-1]).source


def name_key(
    group: str, conversion: Conversion | None, touch: Touchpoint | None, facts: Facts,
    question: Question,
) -> Key:  # fmt: skip
    """Return the key of an event, or of one of its touches, in a group."""
    if question.is_touch_group(group):
        assert touch is not None
        is_time_group = group in TIME_GROUPS
        return time_key(group, touch.occurred_at, facts.zone) if is_time_group else touch_key(group, touch)
    assert conversion is not None
    if group in TIME_GROUPS:
        return time_key(group, conversion.event.event_time, facts.zone)
    return event_key(group, conversion, facts, question)


def visit_key(group: str, visit: Touchpoint, facts: Facts) -> Key:
    if group in TIME_GROUPS:
        return time_key(group, visit.occurred_at, facts.zone)
    return touch_key(group, visit)


def customer_key(event: Event, facts: Facts, question: Question) -> Key:
    """Return "new" for a contact's first paid order and "returning" for a later one. A refund has the key of
    the order before it.
    """
    if not event.sign or event.event_name not in converting_names(facts, question):
        return None
    orders = paid_orders(event.contact_id, question, facts)
    if event.sign > 0:
        return "new" if event.id == orders[0].id else "returning"
    orders_so_far = [order for order in orders if _event_second(order) <= _event_second(event)]
    return None if not orders_so_far else "new" if len(orders_so_far) == 1 else "returning"


def first_order(contact_id: int, question: Question, facts: Facts) -> int | None:
    """Return the id of a contact's first order ever."""
    orders = paid_orders(contact_id, question, facts)
    return orders[0].id if orders else None


def paid_orders(contact_id: int, question: Question, facts: Facts) -> list[Event]:
    """Return a contact's paid orders, in order."""
    names = converting_names(facts, question)
    orders = [
        event
        for event in facts.events
        if event.contact_id == contact_id and event.sign > 0 and event.event_name in names
    ]
    return sorted(orders, key=lambda event: (_event_second(event), event.id))


def _event_second(event: Event) -> datetime:
    return event.event_time.replace(microsecond=0)


def sells(facts: Facts) -> bool:
    return any(event.event_name == "purchase" for event in facts.events)


STEPS_ON_THE_WAY = ("view_content", "add_to_cart", "initiate_checkout", "add_payment_info")


def converting_names(facts: Facts, question: Question) -> set[str]:
    """Return the names of events that can convert and bring revenue."""
    if question.event_names:
        return set(question.event_names)
    if question.converts_all:
        return {event.event_name for event in facts.events}
    if sells(facts) if question.sells is None else question.sells:
        return {"purchase", "upsell_purchase"}
    return {event.event_name for event in facts.events} - set(STEPS_ON_THE_WAY)


def event_kind(event: Event, facts: Facts, question: Question) -> Key:
    if event.event_name not in converting_names(facts, question):
        return None
    if event.sign < 0:
        return "refund"
    if event.is_upsell or event.event_name == "upsell_purchase":
        return "upsell"
    return "order" if event.event_name == "purchase" else "conversion"


PLATFORMS = {
    "facebook_ads": "meta", "instagram_ads": "meta", "google_ads": "google",
    "youtube_ads": "google", "bing_ads": "microsoft", "chatgpt_ads": "openai",
}  # fmt: skip


def get_platform(source: str) -> Key:
    """Return the platform that bills a source's clicks. A source that isn't an ad network bills its own."""
    if source == "direct" or source.endswith("_organic") or source.startswith("ai_"):
        return None
    return PLATFORMS.get(source) or source.removesuffix("_ads")


def format_label(group: str, key: Key, facts: Facts) -> Key:
    if key is None:
        return None
    if group in ("campaign", "adset", "ad"):
        matching_tags = [tags for tags in facts.tag_sets if named_key(group, tags) == key]
        names = [getattr(tags, f"{group}_name") for tags in matching_tags]
        known_names = [name for name in names if name is not None]
        least = min(known_names, key=str.encode) if known_names else None
        return least or facts.ad_names.get((group, key)) or key
    if group == "week":
        year, week, _ = date.fromisoformat(key).isocalendar()
        return f"{year:04}-W{week:02}"
    return _key_name(group, key, facts) or key


def _key_name(group: str, key: str, facts: Facts) -> Key:
    match group:
        case "company":
            return facts.companies[int(key)]
        case "contact":
            return facts.contacts[int(key)].name
        case "event":
            return facts.event_labels.get(key)
        case _:
            return None


def sort_key(key: Key) -> tuple[bool, bytes]:
    """Return the sort key of a key: its bytes, with None last."""
    return key is None, (key or "").encode()
