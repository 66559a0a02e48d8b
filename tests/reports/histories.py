"""Random histories of a Space: the items that arrive, and later changes to them.

A step is drawn as a number and always built from it in the same way. That is fast to draw, and failures
shrink by leaving steps and items out. The pools are small, so that values collide: people are merged, orders
repeated, times tie or are exactly at the end of a window, or a millisecond next to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from tests.support.pipeline import Accepted, add_sender, event, hit, person, touch

ZONES = ("UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu")
MODES = ("auto", "external_id")
EMAILS = ("a@acme.com", "b@acme.com", "c@corp.de", "d@gmail.com")
TRACKING_IDS = ("u1", "u2", "u3")
TOKENS = ("t1", "t2", "t3")
SOURCES = (
    "google_ads", "facebook_ads", "tiktok_ads", "google_organic", "ai_chat_gpt", "email",
    "referral", "direct", "taboola_ads", "criteo_ads",
)  # fmt: skip
NETWORKS = ("taboola_ads", "criteo_ads")
"""The Space's own paid networks among the sources."""
CAMPAIGNS: tuple[dict[str, str], ...] = (
    {}, {"campaign_id": "11", "campaign_name": "Spring"}, {"campaign_id": "11"},
    {"campaign_id": "11"},
    {"campaign_id": "11", "campaign_name": "Early spring"}, {"campaign_name": "Spring"},
    {"campaign_id": "12", "campaign_name": "spring & sons"}, {"campaign_name": "Été"},
)  # fmt: skip
URLS = (
    None,
    "https://a.example/x/?utm_source=newsletter",
    "https://a.example/x/?utm_source=fb-paid&utm_term=boots",
    "https://a.example/x",
    "https://a.example/x#y",
)
PAGE_QUERIES = ("", "?utm_source=facebook&utm_medium=cpc", "?utm_source=fb-paid&utm_term=boots")
SOURCE_NAMES = ("fb-paid", "fb-paid", "newsletter", "facebook")
NAMES = (
    "purchase", "purchase", "purchase", "upsell_purchase", "sign_up", "custom_event_1",
    "add_to_cart",
)  # fmt: skip
AMOUNTS = (
    None, "100", "100", "0", "0.01", "33.333", "-30", "-30", "-250.5", "-0.0003", "99.9999", "7.5",
    "100000000000000",
)  # fmt: skip
ORDERS = (None, None, None, "o1", "o2")

# Times on both sides of clock changes, midnights and ends of months in the zones above.
MOMENTS = tuple(
    datetime.fromisoformat(text).replace(tzinfo=UTC)
    for text in (
        "2026-03-29T01:00:00", "2026-03-29T01:00:00.250", "2026-10-25T00:30:00.250",
        "2026-10-25T01:30:00",
        "2026-03-31T22:00:00", "2026-04-01T00:00:00", "2026-04-30T23:59:59.999",
        "2025-03-30T00:59:59", "2025-11-02T05:00:00",
    )
)  # fmt: skip
WINDOWS = (1, 7, 14, 30, 60, 90)
_MILLISECOND = timedelta(milliseconds=1)
BEFORE = (
    timedelta(0), _MILLISECOND, -_MILLISECOND, timedelta(hours=3), timedelta(days=2, hours=5),
    *(timedelta(days=days) for days in WINDOWS),
    *(timedelta(days=days) + _MILLISECOND for days in WINDOWS),
    timedelta(days=200),
)  # fmt: skip


@dataclass(frozen=True)
class Arrive:
    """Items are accepted and processed, `batch` at a time."""

    items: tuple[Accepted, ...]
    batch: int


@dataclass(frozen=True)
class Reject:
    """An event is accepted that cannot be processed."""

    item: Accepted


@dataclass(frozen=True)
class Replay:
    """A rejected event is fixed and processed after all, under its old number."""


@dataclass(frozen=True)
class Change:
    """One of the existing contacts, events or companies is changed."""

    kind: str
    number: int
    other_number: int = 0
    value: str | None = None


@dataclass(frozen=True)
class Crash:
    """A step is carried out and rolled back, like the work of a process that dies before it commits."""

    step: Arrive | Change


Step = Arrive | Reject | Replay | Change | Crash


@dataclass(frozen=True)
class History:
    """A Space, and the steps carried out in it."""

    zone: str
    mode: str
    """How companies are recognized."""
    names: tuple[tuple[str, str], ...]
    """The campaign names in the catalogue from the beginning: ids and names."""
    steps: tuple[Step, ...]


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def some_identity(dice: Random) -> dict[str, str]:
    """Return one identifier, or two that may belong to different people."""
    pools = {"email": EMAILS, "tracking_id": TRACKING_IDS, "trk_token": TOKENS}
    kinds = dice.sample(sorted(pools), dice.choice((1, 1, 2)))
    return {kind: dice.choice(pools[kind]) for kind in kinds}


def some_event(dice: Random, **values: Any) -> Accepted:
    who = {} if {"email", "tracking_id", "trk_token"} & {*values} else some_identity(dice)
    values = {
        **who, "event_name": dice.choice(NAMES), "event_time": _ms(dice.choice(MOMENTS)),
        "amount": dice.choice(AMOUNTS), "order_id": dice.choice(ORDERS), **values,
    }  # fmt: skip
    if values["event_name"] == "upsell_purchase" or dice.random() < 0.1:
        values["is_upsell"] = True
    if dice.random() < 0.3:
        campaign, keyword = dice.choice(("11", "Spring")), dice.choice((None, "boots"))
        source = dice.choice(SOURCES)
        values |= {"trk_source": source, "trk_campaign": campaign, "trk_keyword": keyword}
    if dice.random() < 0.3:
        values |= {"company_external_id": dice.choice("XYZ")}
    if dice.random() < 0.3:
        values |= {"profile_fields": {1: dice.choice(("gold", "silver")), 16: dice.choice("0123")}}
    if dice.random() < 0.2:
        values["heard_about_us"] = dice.choice(("a friend", "TikTok", "Radio", "no idea"))
    sender = dice.choice(("api_key", "api_key", "api_key", "import", "browser"))
    return add_sender(sender, event(**values))


def some_touch(dice: Random, moment: datetime | None = None, **identifiers: str) -> Accepted:
    url = dice.choice(URLS)
    source = None if url is not None and "fb-paid" in url else dice.choice(SOURCES)
    return touch(
        **(identifiers or some_identity(dice)), occurred_at=_ms(moment or _some_time(dice)), source=source,
        url=url, keyword=dice.choice((None, None, "boots")),
        ad_name=dice.choice((None, None, "Blue")), adset_id=dice.choice((None, None, "5")),
        **({} if source == "direct" else dice.choice(CAMPAIGNS)),
    )  # fmt: skip


def _some_time(dice: Random) -> datetime:
    """Return a time that may be the end of an event's window."""
    return dice.choice(MOMENTS) - dice.choice(BEFORE)


def some_hit(dice: Random) -> Accepted:
    return hit(
        key=str(UUID(int=dice.getrandbits(128), version=4)),
        trk_token=dice.choice(TOKENS),
        occurred_at=_ms(_some_time(dice)),
        url="https://shop.example/" + dice.choice(PAGE_QUERIES),
        referrer=dice.choice((None, "https://www.google.com/")),
        country=dice.choice((None, "DE", "FR")),
    )


def some_person(dice: Random) -> Accepted:
    identity = {**some_identity(dice), "trk_token": dice.choice(TOKENS)}
    return person(**identity, occurred_at=_ms(dice.choice(MOMENTS)))


def some_journey(dice: Random) -> list[Accepted]:
    """Return touches of one person, and the events they led to."""
    moment, who = dice.choice(MOMENTS), some_identity(dice)
    items: list[Accepted] = [
        some_touch(dice, moment - dice.choice(BEFORE), **who) for _ in range(dice.randrange(4))
    ]
    items += [some_event(dice, event_time=_ms(moment), **who) for _ in range(dice.choice((1, 1, 2)))]
    dice.shuffle(items)
    return items


def some_crowd(dice: Random) -> list[Accepted]:
    """Return one person's touches, enough of them that an event's shares are rounded."""
    moment, who = dice.choice(MOMENTS), some_identity(dice)
    return [
        some_touch(dice, moment - timedelta(minutes=31 * dice.randrange(60)), **who)
        for _ in range(dice.randrange(39, 47))
    ]


def some_items(number: int) -> list[Accepted]:
    """Return a journey, or a single item of a random person."""
    dice = Random(number)
    if dice.random() < 0.004:
        return some_crowd(dice)
    if dice.random() < 0.6:
        return some_journey(dice)
    make: Callable[[Random], Accepted] = dice.choice((some_event, some_touch, some_hit, some_person))
    return [make(dice)]


def some_change(number: int) -> Step:
    dice = Random(number)
    kind = dice.choice(
        ("unmerge", "unmerge", "attach", "detach", "amount", "amount", "delete", "erase", "name",
         "fields", "reject", "replay", "source_name", "source_name")
    )  # fmt: skip
    if kind == "reject":
        return Reject(some_event(dice, amount="secret"))
    if kind == "replay":
        return Replay()
    value = dice.choice(("55", "0", None)) if kind == "amount" else dice.choice(("gold", "spring"))
    return Change(kind, dice.randrange(100), dice.randrange(100), value)


def describe_step(step: Step) -> str:
    """Return a step in one line, its items without unset fields."""
    if isinstance(step, Crash):
        return f"broken off: {describe_step(step.step)}"
    if isinstance(step, Arrive):
        items = [msgspec.to_builtins(getattr(item, "item", item)) for item in step.items]
        return f"{step.batch} at a time: {items}"
    return f"{step}"


numbers = st.integers(0, 2**20)
arrivals = st.builds(
    lambda some, batch: Arrive(tuple(item for items in some for item in items), batch),
    st.lists(numbers.map(some_items), min_size=1, max_size=12),
    st.sampled_from([1, 3, 2000]),
)
changes = numbers.map(some_change)
crashes = (arrivals | changes.filter(lambda step: isinstance(step, Change))).map(Crash)
histories = st.builds(
    lambda zone, mode, names, first, steps: History(zone, mode, names, (first, *steps)),
    st.sampled_from(ZONES),
    st.sampled_from(MODES),
    st.sampled_from([(("11", "Aardvark"), ("12", "Zebra")), (("11", "Zebra"),), ()]),
    arrivals,
    st.lists(arrivals | arrivals | changes | changes | changes | crashes, max_size=7),
).filter(lambda history: any(not isinstance(step, Arrive) for step in history.steps))
"""Each has a change: the first example that hypothesis tries would otherwise be a single arrival."""
