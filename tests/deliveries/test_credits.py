"""A model's credit for a platform's clicks, sent to Meta and OpenAI."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest
from psycopg.types.json import Jsonb

from headwater.attribution.models import MODELS
from headwater.forwarding.platforms.chatgpt_ads import ChatGPTAds
from headwater.forwarding.platforms.meta import Meta
from headwater.forwarding.platforms.microsoft_offline import MicrosoftOffline
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.settings import CreditModel
from tests.deliveries.staging import Sending
from tests.support.campaigns import campaign_size
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest, Step

CREDIT_MODELS = get_args(get_args(CreditModel)[0])[1:]  # without `off`

PATHS = campaign_size("HEADWATER_CREDIT_PATHS", 120, 10_000)
HOUR, DAY = 3600, 86_400
FBCLID = "IwAR0{number:06}abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNO"
SOURCES = {"facebook_ads": "fbclid", "google_ads": "gclid", "email": None, "direct": None}
CLICK_IDS = {**SOURCES, "bing_ads": "msclkid"}
PLATFORMS: dict[str, Platform] = {"meta": Meta(), "chatgpt_ads": ChatGPTAds()}


def accept(request: ReceivedRequest) -> Step:
    body = request.json()
    events = body.get("data") or body["events"]
    if "data" in body:
        return Answer(body={"events_received": len(events), "fbtrace_id": "t"})
    return Answer(body={"accepted_events": len(events)})


@pytest.fixture
def meta(sending: Sending) -> Iterator[FakePlatform]:
    sending.platform = PLATFORMS["meta"]
    with FakePlatform(default=accept) as platform:
        sending.urls["meta"] = platform.url
        yield platform


def account(sending: Sending, model: str = "linear", *, all_events: bool = True, window: int = 30) -> int:
    settings = f'{{"pixel_id": "1234567890", "credit_model": "{model}", "credit_window": {window}}}'
    return sending.destination(settings=settings, all_events=all_events)


@dataclass
class Path:
    contact: int
    event: int
    delivery: int


def buy(
    sending: Sending, destination: int, *touches: tuple[str, int], amount: str = "90", **columns: Any
) -> Path:
    """Store a purchase from a minute ago, with touches of these sources this many hours before it."""
    moment = columns.setdefault("event_time", sending.moment(-60))
    contact = sending.rows.contact(email=f"a{sending._number()}@example.com")
    for source, hours in touches:
        parameter = CLICK_IDS[source]
        number = sending._number()
        value = f"{number:032x}" if parameter == "msclkid" else FBCLID.format(number=number)
        url = f"https://shop.example/?{parameter}={value}" if parameter else None
        tags = sending.rows.tag_set(campaign_id="c1", adset_id="s1", ad_id="a1") if parameter else 0
        sending.rows.touchpoint(contact, source, url=url, tag_set_id=tags,
                                occurred_at=moment - timedelta(hours=hours))  # fmt: skip
    defaults = {"amount": amount, "currency": "EUR", "user_agent": "UA",
                "event_url": "https://shop.example/", "order_id": f"o{sending._number()}"}  # fmt: skip
    event = sending.rows.event(contact, **{**defaults, **columns})
    return Path(contact, event, sending.delivery(destination, event))


def sent(platform: FakePlatform) -> list[dict[str, Any]]:
    return [event for body in platform.bodies for event in body["data"]]


def read_credits(sending: Sending, event: int) -> list[tuple[Any, ...]]:
    return sending.connection.execute(
        "SELECT number, status, reason, (credit->>'share')::numeric, (credit->>'paid_share')::numeric"
        " FROM deliveries WHERE space_id = %s AND event_id = %s AND kind = 'credit' ORDER BY number",
        (sending.space_id, event),
    ).fetchall()


def test_it_works(sending: Sending, meta: FakePlatform) -> None:
    """Two of four touches are Meta's: each gets its share, with a reference to the sale."""
    destination = account(sending)
    touches = [("facebook_ads", 50), ("email", 40), ("google_ads", 30), ("facebook_ads", 20)]
    path = buy(sending, destination, *touches)
    sending.run()
    sale, *credit_events = sent(meta)
    assert [event["event_name"] for event in credit_events] == ["AppendAttribution"] * 2
    assert [event["event_id"] for event in credit_events] == [f"id-{path.event}:credit:{n}" for n in (1, 2)]
    assert credit_events[0]["original_event_data"] == {
        "event_name": "Purchase", "event_time": sale["event_time"], "event_id": sale["event_id"],
        "order_id": sale["custom_data"]["order_id"],
    }  # fmt: skip
    attribution = credit_events[0]["attribution_data"]
    assert attribution.pop("visit_time") == sale["event_time"] - 50 * HOUR
    assert attribution == {
        "campaign_id": "c1", "adset_id": "s1", "ad_id": "a1", "attribution_model": "linear",
        "attr_window": 30, "attribution_share": 0.25, "attribution_value": 22.5, "total_credit": 0.75,
    }  # fmt: skip
    assert [event["user_data"]["fbc"].startswith("fb.1.") for event in credit_events] == [True, True]
    assert credit_events[0]["user_data"]["fbc"] != credit_events[1]["user_data"]["fbc"]
    assert [row[:4] for row in read_credits(sending, path.event)] == [
        (1, "delivered", None, Decimal("0.25")), (2, "delivered", None, Decimal("0.25")),
    ]  # fmt: skip


def test_a_destination_removed_during_the_call(sending: Sending, meta: FakePlatform) -> None:
    """No credit waits for ever: contacts with unsent deliveries are kept."""
    destination = account(sending)
    path = buy(sending, destination, ("facebook_ads", 20))

    def remove(request: ReceivedRequest) -> Step:
        sending.connection.execute(
            "UPDATE destinations SET status = 'removed' WHERE space_id = %s", (sending.space_id,)
        )
        return accept(request)

    meta.append(remove)
    sending.run()
    assert sending.read_delivery(path.delivery, "status") == "delivered"
    assert read_credits(sending, path.event) == []


def test_each_credit_has_its_own_click(sending: Sending, meta: FakePlatform) -> None:
    """The cookie and address of the sale have the last click, which isn't the credited one."""
    last_click = FBCLID.format(number=sending._number())
    clicked_at = int(sending.moment(-HOUR).timestamp() * 1000)
    destination = account(sending)
    buy(
        sending, destination, ("facebook_ads", 50), ("facebook_ads", 20),
        cookies=Jsonb({"fbc": f"fb.1.{clicked_at}.{last_click}", "fbp": f"fb.1.{clicked_at}.1"}),
        event_url=f"https://shop.example/?fbclid={last_click}",
    )  # fmt: skip
    sending.run()
    sale, *credit_events = sent(meta)
    assert sale["user_data"]["fbc"].endswith(last_click)
    assert [last_click in str(event["user_data"]["fbc"]) for event in credit_events] == [False, False]
    assert len({event["user_data"]["fbc"] for event in credit_events}) == 2
    assert {event["user_data"]["fbp"] for event in credit_events} == {sale["user_data"]["fbp"]}


def test_it_is_off_unless_set(sending: Sending, meta: FakePlatform) -> None:
    destination = sending.destination(settings='{"pixel_id": "1234567890"}')
    buy(sending, destination, ("facebook_ads", 5))
    not_all = account(sending, all_events=False)
    buy(sending, not_all, ("facebook_ads", 5))
    sending.run()
    assert [event["event_name"] for event in sent(meta)] == ["Purchase"] * 2


def test_it_is_frozen(sending: Sending, meta: FakePlatform) -> None:
    """A retry sends the same credit, and a replay of the sale sends no new credit."""
    destination = account(sending)
    path = buy(sending, destination, ("facebook_ads", 5), ("email", 4))
    meta.append(accept, Answer(500))
    sending.run()
    sending.rows.touchpoint(path.contact, "email", occurred_at=sending.moment(-2 * HOUR))
    sending.advance(11)
    sending.run()
    assert [event["attribution_data"]["attribution_share"] for event in sent(meta)[1:]] == [0.5, 0.5]
    sending.connection.execute(
        "UPDATE deliveries SET status = 'queued', due_at = to_timestamp(%s) WHERE space_id = %s"
        " AND kind = 'conversion'", (sending.clock.time, sending.space_id),
    )  # fmt: skip
    sending.run()
    assert [event["event_name"] for event in sent(meta)[3:]] == ["Purchase"]


def test_not_after_two_days(sending: Sending, meta: FakePlatform) -> None:
    destination = account(sending)
    late = buy(sending, destination, ("facebook_ads", 5), event_time=sending.moment(-2 * DAY))
    in_time = buy(sending, destination, ("facebook_ads", 5), event_time=sending.moment(-2 * DAY + 2 * HOUR))
    meta.append(accept, *[Answer(500)] * 4)
    sending.run()
    for _ in range(4):
        sending.advance(2 * HOUR)
        sending.run()
    assert read_credits(sending, late.event) == []
    ((_, status, _, _, _),) = read_credits(sending, in_time.event)
    assert status == "expired"
    assert len({event["event_id"] for event in sent(meta)}) == 3


@pytest.mark.parametrize("change", ["erased", "deleted", "no_consent", "not_attributed"])
def test_what_ends_it(sending: Sending, meta: FakePlatform, change: str) -> None:
    destination = sending.destination(
        settings='{"pixel_id": "1234567890", "credit_model": "linear", "consent_denied": "skip"}'
    )
    path = buy(sending, destination, ("facebook_ads", 5))
    meta.append(accept, Answer(500))
    sending.run()
    statement = {
        "erased": "INSERT INTO erasures (space_id, contact_id, receipt_mark)"
                  " VALUES (%(space)s, %(contact)s, nextval('receipt_ids'))",
        "deleted": "DELETE FROM events WHERE space_id = %(space)s AND id = %(event)s",
        "no_consent": "UPDATE events SET ad_user_data = false WHERE space_id = %(space)s AND id = %(event)s",
        "not_attributed": "DELETE FROM touchpoints"
                          " WHERE space_id = %(space)s AND contact_id = %(contact)s",
    }[change]  # fmt: skip
    values = {"space": sending.space_id, "contact": path.contact, "event": path.event}
    sending.connection.execute(statement, values)
    sending.advance(11)
    sending.run()
    assert len(sent(meta)) == 2
    assert [row[1:3] for row in read_credits(sending, path.event)] == [("skipped", change)]


def test_chatgpt_ads(sending: Sending) -> None:
    sending.platform = PLATFORMS["chatgpt_ads"]
    with FakePlatform(default=accept) as openai:
        sending.urls["chatgpt_ads"] = openai.url
        destination = sending.destination(settings='{"pixel_id": "p1", "credit_model": "last_touch"}')
        contact = sending.rows.contact(email="ada@example.com")
        oppref = "https://shop.example/?oppref=" + "a" * 40
        sending.rows.touchpoint(contact, "chatgpt_ads", url=oppref, occurred_at=sending.moment(-HOUR))
        event = sending.rows.event(contact, event_time=sending.moment(-60), amount="9", currency="EUR")
        sending.delivery(destination, event)
        sending.run()
        sending.advance(1)
        sending.run()
        sale, credit_event = [event for body in openai.bodies for event in body["events"]]
    assert credit_event["type"] == "attribution_appended"
    assert credit_event["id"] != sale["id"]
    assert credit_event["data"] == {
        "type": "attribution", "original_event_id": sale["id"], "original_event_type": sale["type"],
        "attribution_model": "last_touch", "attribution_share": 1,
    }  # fmt: skip


def test_microsoft(sending: Sending) -> None:
    """Microsoft's clicks are sent as conversions with a share each. The conversion itself isn't sent."""
    sending.platform = change_platform(MicrosoftOffline(), token_request=lambda *_: None)
    with FakePlatform(default=Answer(body={"PartialErrors": []})) as microsoft:
        sending.urls["microsoft_offline"] = microsoft.url
        destination = sending.destination(
            settings='{"customer_id": "1", "account_id": "2", "credit_model": "linear"}',
            event_names='{"purchase": "Sale"}',
            all_events=False,
        )
        path = buy(sending, destination, ("bing_ads", 9), ("email", 8), ("bing_ads", 7))
        path_without_click = buy(sending, destination, ("email", 8))
        sending.run()
        sending.advance(1)
        sending.run()
        (body,) = microsoft.bodies
    assert [row[:4] for row in read_credits(sending, path.event)] == [
        (1, "delivered", None, Decimal("0.333334")), (2, "delivered", None, Decimal("0.333333")),
    ]  # fmt: skip
    sent_clicks = body["OfflineConversions"]
    assert [click["ExternalAttributionCredit"] for click in sent_clicks] == [0.333334, 0.333333]
    assert {click["ExternalAttributionModel"] for click in sent_clicks} == {"Linear"}
    assert {click["ConversionValue"] for click in sent_clicks} == {90}
    assert len({click["MicrosoftClickId"] for click in sent_clicks}) == 2
    reasons = [
        sending.read_delivery(delivery, "reason") for delivery in (path.delivery, path_without_click.delivery)
    ]
    assert reasons == ["sent_as_credit", "not_attributed"]


def test_only_models_without_training() -> None:
    assert set(MODELS) - set(CREDIT_MODELS) == {"markov", "shapley_distinct"}


@pytest.mark.usefixtures("meta")
def test_many_paths(sending: Sending) -> None:
    """Meta gets the share of its touches with a click id. The shares of all platforms and the rest add up to
    exactly one. Nothing is sent for people without consent, or for sales older than two days.
    """
    draw = random.Random(PATHS)
    destinations = {
        model: sending.destination(settings='{"pixel_id": "1234567890", "consent_denied": "skip",'
                                            f' "credit_model": "{model}"}}')
        for model in CREDIT_MODELS
    }  # fmt: skip
    expected: dict[int, tuple[bool, list[str]]] = {}
    for _ in range(PATHS):
        names = [draw.choice([*SOURCES]) for _ in range(draw.randrange(7))]
        hours = sorted(draw.sample(range(1, 700), len(names)), reverse=True)
        is_late, is_refused = draw.random() < 0.1, draw.random() < 0.1
        path = buy(sending, destinations[draw.choice(CREDIT_MODELS)], *zip(names, hours, strict=True),
                   event_time=sending.moment(-3 * DAY if is_late else -60),
                   ad_user_data=not is_refused)  # fmt: skip
        expected[path.event] = (is_late or is_refused, names)
    sending.run()
    sending.advance(HOUR)
    sending.run()
    actual: dict[int, list[tuple[Decimal, Decimal]]] = {}
    for event, (is_empty, _) in expected.items():
        rows = read_credits(sending, event)
        assert {row[1:3] for row in rows} <= {("delivered", None)}
        assert not (is_empty and rows)
        actual[event] = [row[3:] for row in rows]
    assert sum(map(len, actual.values())) > PATHS / 4
    assert_shares(actual, expected)


def assert_shares(
    sent_amounts: dict[int, list[tuple[Decimal, Decimal]]], expected: dict[int, tuple[bool, list[str]]]
) -> None:
    for event, shares in sent_amounts.items():
        total_share, paid = sum((share for share, _ in shares), Decimal(0)), {paid for _, paid in shares}
        names = expected[event][1]
        if not shares:
            continue
        (paid_share,) = paid
        assert 0 < total_share <= paid_share <= 1
        if set(names) <= {"facebook_ads"}:
            assert total_share == paid_share == 1
        if "google_ads" not in names:
            assert total_share == paid_share
