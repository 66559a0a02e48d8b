"""Half a year of visits, sign-ups, orders and refunds, identical in every run. Pure.

Visits are reported with a page and its referrer, so Headwater determines their source. Every event has an
idempotency key built from the shop and a number, so sending it again adds nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from headwater.demo.shops import Shop

Payload = dict[str, Any]

DAYS = 180
"""Two periods of ninety days, so that the second can be compared with the first."""
LATEST = 6
"""Visitors of the last minutes, so that a report of the current day has data."""
FIRST = (
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Elif",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kim",
    "Lena",
    "Mats",
    "Nora",
    "Omar",
    "Paula",
    "Quinn",
    "Rosa",
    "Sami",
    "Tara",
)
LAST = (
    "Becker",
    "Costa",
    "Dahl",
    "Evans",
    "Fischer",
    "Garcia",
    "Hansen",
    "Ito",
    "Jensen",
    "Keller",
    "Lopez",
    "Meyer",
    "Novak",
    "Olsen",
    "Price",
    "Rossi",
    "Schmidt",
    "Turner",
)
COMPANIES = (
    "Alder",
    "Birch",
    "Cedar",
    "Dogwood",
    "Elm",
    "Fir",
    "Ginkgo",
    "Hazel",
    "Ivy",
    "Juniper",
    "Larch",
    "Maple",
    "Oak",
    "Pine",
    "Rowan",
    "Spruce",
)
SPORTS = ("hiking", "climbing", "running", "skiing")
PLANS = ("starter", "team", "enterprise")
ANSWERS = (
    "A friend told me",
    "Google",
    "Saw you on Instagram",
    "heard it in a podcast",
    "ChatGPT",
    "my sister's birthday present",
    "Google ad",
    "YouTube video",
    "don't remember",
    "read about you in a magazine",
    "facebook",
)
"""Answers to the checkout's question about how customers heard of the shop."""
ANSWERING = 3
"""One in this many visitors answers."""
REGULARS = 0.2
"""The share of monthly buyers, so that cohorts have data."""
REPEATED = 0.02
ABROAD = 9
"""One in this many buyers pays in another currency, if the shop sells abroad."""


@dataclass
class SamplePerson:
    shop: Shop
    number: int
    dice: random.Random
    at: datetime
    token: str
    events: list[Payload] = field(default_factory=list[Payload])
    visits: list[Payload] = field(default_factory=list[Payload])

    @property
    def email(self) -> str:
        first, last = self._name
        if self.shop.business or self.number % 6 == 0:
            company = COMPANIES[self.number % len(COMPANIES)].lower()
            return f"{first}.{last}{self.number}@{company}-{self.shop.slug}.com".lower()
        return f"{first}.{last}{self.number}@gmail.com".lower()

    @property
    def _name(self) -> tuple[str, str]:
        return FIRST[self.number % len(FIRST)], LAST[self.number // 3 % len(LAST)]

    @property
    def _paid(self) -> Payload:
        """Return the currency if it is not the shop's."""
        is_abroad = self.shop.abroad is not None and self.number % ABROAD == ABROAD - 1
        return {"currency": self.shop.abroad} if is_abroad else {}

    @property
    def _answer(self) -> Payload:
        if self.number % ANSWERING:
            return {}
        return {"heard_about_us": ANSWERS[self.number // ANSWERING % len(ANSWERS)]}

    def later(self, hours: float) -> None:
        self.at += timedelta(hours=self.dice.uniform(0.05, hours))

    def visit(self) -> None:
        channel = self.dice.choices(self.shop.channels, [channel.weight for channel in self.shop.channels])[0]
        campaign, advert = self.dice.choice(channel.campaigns)
        click = f"{self.shop.slug}-{self.number}-{len(self.visits)}"
        parameters = {
            name: text.format(campaign=campaign, advert=advert, click=click)
            for name, text in channel.parameters.items()
        }
        url = f"{self.shop.origin}/{self.shop.pages[self.number % len(self.shop.pages)]}"
        url += f"?{urlencode(parameters)}" if parameters else ""
        visit = {"occurred_at": self._moment(), "url": url, "trk_token": self.token}
        self.visits.append(visit | ({"referrer": channel.referrer} if channel.referrer else {}))
        self.act("view_content", url=url, trk_token=self.token)

    def sign_up(self) -> None:
        """Use the browser of the visits."""
        first, last = self._name
        person = {"first_name": first, "last_name": last, "trk_token": self.token}
        if self.shop.business:
            self.act_known("lead_generated", profile_field_1=PLANS[self.number % 3], **person)
            self.later(24)
            self.act_known("custom_event_1", profile_field_16=5 + self.number % 40)
        else:
            person |= {"phone": f"0151 2{self.number:07d}"}
            self.act_known("sign_up", profile_field_1=SPORTS[self.number % 4], **person)
            self.act_known("custom_event_1", profile_field_26=self.at.date().isoformat())

    def buy(self) -> None:
        """Add to the order or return it, sometimes."""
        order = f"{self.shop.slug}-{self.number}-{len(self.events)}"
        amount = round(self.dice.choice(self.shop.prices) * self.dice.choice((1, 1, 1, 2)), 2)
        self.act_known(
            "purchase", amount=amount, order_id=order, trk_token=self.token, **self._paid, **self._answer
        )
        if self.dice.random() < 0.15:
            self.later(1)
            extra = round(amount * 0.3, 2)
            self.act_known(
                "upsell_purchase",
                amount=extra,
                order_id=order,
                is_upsell=True,
                upsell_common_id=order,
                **self._paid,
            )
        if self.dice.random() < 0.08:
            self.later(24 * 7)
            self.act_known("purchase", amount=-amount, order_id=f"{order}-refund", **self._paid)

    def act_known(self, name: str, **values: Any) -> None:
        """Use the person's own e-mail address."""
        company = COMPANIES[self.number % len(COMPANIES)]
        if self.shop.business:
            values |= {"company_external_id": f"acc-{company.lower()}", "company_name": company}
        self.act(name, email=self.email, **values)

    def act(self, name: str, **values: Any) -> None:
        key = f"sample-{self.shop.slug}-{self.number}-{len(self.events)}"
        self.events.append(
            {"event_name": name, "event_time": self._moment(), "idempotency_key": key, **values}
        )

    def _moment(self) -> str:
        return written(self.at)


class Journeys(Struct, frozen=True):
    """The visits and events of a shop, in order of time."""

    visits: list[Payload]
    events: list[Payload]


def journeys(shop: Shop, current_time: datetime) -> Journeys:
    """Return DAYS of journeys; some events are repeated, like a careful client's retries."""
    dice = random.Random(shop.seed)  # noqa: S311 # repeatable on purpose
    people = [_journey(shop, number, current_time) for number in range(shop.people)]
    people += [_newcomer(shop, shop.people + number, current_time) for number in range(LATEST)]
    end = written(current_time)
    visits = [visit for person in people for visit in person.visits if visit["occurred_at"] <= end]
    events = [event for person in people for event in person.events if event["event_time"] <= end]
    events += dice.sample(events, round(len(events) * REPEATED))
    return Journeys(
        sorted(visits, key=lambda visit: visit["occurred_at"]),
        sorted(events, key=lambda event: event["event_time"]),
    )


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _newcomer(shop: Shop, number: int, current_time: datetime) -> SamplePerson:
    dice = random.Random(f"{shop.seed}/{number}")  # noqa: S311 # repeatable on purpose
    start = current_time - timedelta(minutes=2 + number % LATEST)
    person = SamplePerson(shop, number, dice, start, f"{shop.slug}-browser-{number}")
    person.visit()
    person.at += timedelta(seconds=90)
    person.buy()
    return person


def _journey(shop: Shop, number: int, current_time: datetime) -> SamplePerson:
    dice = random.Random(f"{shop.seed}/{number}")  # noqa: S311 # repeatable on purpose
    start = current_time - timedelta(days=dice.uniform(0.2, DAYS))
    person = SamplePerson(shop, number, dice, start, f"{shop.slug}-browser-{number}")
    is_unseen = dice.random() < 0.08  # came by word of mouth and ordered by phone
    for _ in range(0 if is_unseen else dice.choice((1, 1, 2, 2, 3, 4, 6))):
        person.visit()
        person.later(24 * 4)
    if not is_unseen and dice.random() < 0.2:  # a second device, which only the e-mail address will join
        person.token = f"{shop.slug}-phone-{number}"
        person.visit()
        person.later(24)
    if dice.random() < 0.75:
        person.sign_up()
        person.later(24 * 3)
    if is_unseen or dice.random() < 0.55:
        person.buy()
    if dice.random() < 0.25:
        person.later(24 * 20)
        person.visit()
        person.later(4)
        person.buy()
    if dice.random() < REGULARS:
        for _ in range(dice.choice((1, 2, 3))):
            person.later(24 * 45)
            person.visit()
            person.buy()
    return person
