"""The page of one event: its contact, its path with the rule of each touch, credit under every model,
deliveries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape

import psycopg
import pytest
from psycopg.types.json import Jsonb

from headwater.attribution.models import MODELS
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.test_every_page import check
from tests.support.factories import NOON, Stage

HOSTILE = "<script>alert(1)</script>" + "x" * 200


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def show(owner: Person, space_id: int) -> Callable[..., str]:
    """A function that opens an event's page, and returns its text without tags."""

    def open_page(event_id: int, query: str = "", status: int = 200) -> str:
        page = owner.browser.get(f"/console/spaces/{space_id}/events/{event_id}{query}")
        assert page.status_code == status
        check(page)
        return page_text(page.text)

    return open_page


def page_text(html: str) -> str:
    """Return the text of a page, with spaces between blocks."""
    inline = re.sub(r"</?(?:a|bdi|code|data|q|span|strong|time)\b[^>]*>", "", html)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", inline)).split())


def days(number: float) -> object:
    return NOON - timedelta(days=number)


def test_it_works(stage: Stage, show: Callable[..., str]) -> None:
    buyer = stage.contact(name="Ann Ash", email="ann@ash.example")
    stage.touchpoint(
        buyer, "google_ads", source_rule="gclid", occurred_at=days(3), campaign_name="Boots",
        url="https://shop.example/?gclid=Cj0-1",
    )  # fmt: skip
    stage.touchpoint(
        buyer, "google_organic", source_rule="referrer", occurred_at=days(2),
        referrer_host="www.google.com",
    )  # fmt: skip
    stage.touchpoint(buyer, "direct", source_rule="direct", occurred_at=days(1))
    event_id = stage.event(buyer, amount="100", order_id="A-1", idempotency_key="key-1", sender="webhook")
    text = show(event_id)
    for fragment in (
        "Purchase 100.00 USD", "Ann Ash ann@ash.example", "13 May 2026, 12:00 UTC", "Order A-1",
        "a webhook", "key-1", f"Receipt {event_id}", "Google ads", "gclid=Cj0-1", "campaign Boots",
        "Its referrer is a known site: referrer google.com", "Why direct?",
        "Not sent to any ad platform",
    ):  # fmt: skip
        assert fragment in text, fragment
    assert "Why unattributed" not in text
    assert "touchpoints of its path are direct" not in text


def test_every_models_credits_add_up(stage: Stage, owner: Person) -> None:
    buyer = stage.contact()
    for number in range(3):
        stage.touchpoint(buyer, "email", occurred_at=days(number + 1))
    event_id = stage.event(buyer, amount="100")
    html = owner.browser.get(f"/console/spaces/{stage.space_id}/events/{event_id}").text
    table = html[html.index("credits") : html.index("</tfoot>")]
    assert len(re.findall(r'scope="col" class="number"', table)) == len(MODELS)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows[1:]]
    values = [[re.findall(r'value="([^"]*)"', cell) for cell in row] for row in cells]
    *credit_rows, total = values
    assert [cell[0] for cell in total] == ["100"] * len(MODELS)
    for column in range(len(MODELS)):
        parts = [float(row[column][0]) for row in credit_rows if row[column]]
        assert round(sum(parts), 4) == 100
    assert [row[2][0] for row in credit_rows[:3]] == ["33.34", "33.33", "33.33"]
    assert "only visits that the model ignores" in page_text(table)


def test_an_event_without_an_amount(stage: Stage, show: Callable[..., str]) -> None:
    contact = stage.contact()
    stage.touchpoint(contact, "email", occurred_at=days(1))
    text = show(stage.event(contact, event_name="sign_up"))
    assert "The event has no amount: a tick marks" in text
    assert "Amount none" in text


def test_a_direct_visit_is_explained(stage: Stage, show: Callable[..., str]) -> None:
    contact = stage.contact()
    stage.touchpoint(
        contact, "direct", source_rule="direct", occurred_at=days(1),
        url="https://shop.example/?ref=friend",
    )  # fmt: skip
    text = show(stage.event(contact, amount="5"))
    assert "Why direct? The one touchpoint of its path is a direct visit:" in text
    assert "It has ref, which no rule reads." in text
    assert "There is no referrer" in text


def test_why_unattributed_without_a_touchpoint(stage: Stage, show: Callable[..., str]) -> None:
    contact = stage.contact()
    stage.touchpoint(contact, "email", occurred_at=days(-2))
    text = show(stage.event(contact, amount="5", sender="api_key"))
    assert "Why unattributed? There is no touchpoint of this contact" in text
    assert "The first one after the event was E-mail, 2 days later" in text
    assert "The event was sent by an API key." in text
    assert "No touchpoints." in text


@pytest.mark.parametrize(
    ("has_page_view", "sentence"),
    [
        (True, "This contact has page views before the event, but none of them created a touchpoint."),
        (
            False,
            "This contact has a browser with a trk_token, but it reported no page view or touchpoint before.",
        ),
    ],
)
def test_why_unattributed_with_a_browser(
    stage: Stage, show: Callable[..., str], *, has_page_view: bool, sentence: str
) -> None:
    """Page views after the event explain nothing."""
    contact = stage.contact()
    stage.identifier(contact, "trk_token", "tok")
    visit = stage.visit(contact)
    stage.hit(contact, visit, occurred_at=days(0.1 if has_page_view else -0.1))
    text = show(stage.event(contact, amount="5"))
    assert sentence in text
    assert "no known browser" not in text


def test_why_unattributed_outside_the_window(stage: Stage, show: Callable[..., str]) -> None:
    contact = stage.contact()
    stage.touchpoint(contact, "email", occurred_at=days(20))
    event_id = stage.event(contact, amount="5")
    assert "Why unattributed" not in show(event_id)
    text = show(event_id, "?attribution_window=7")
    assert "The last touchpoint before it was E-mail, 20 days earlier" in text
    assert "only those within 7 days count" in text
    assert "Remove the time limit" in text
    assert "Why unattributed" not in show(event_id, "?attribution_window=0")


def test_the_whole_companys_path(stage: Stage, show: Callable[..., str]) -> None:
    company = stage.company(name="Acme & Co")
    buyer, colleague = (stage.contact(company_id=company) for _ in range(2))
    stage.touchpoint(colleague, "email", occurred_at=days(1), company_id=company)
    event_id = stage.event(buyer, amount="5", company_id=company)
    assert "Other contacts of its company have touchpoints" in show(event_id)
    text = show(event_id, "?query_mode=company")
    assert "Acme & Co" in text
    assert "another contact" in text
    assert "Why unattributed" not in text


def test_bad_parameters_are_named(stage: Stage, show: Callable[..., str]) -> None:
    event_id = stage.event(stage.contact(), amount="5")
    text = show(event_id, "?attribution_window=8&query_mode=x", status=422)
    assert "attribution_window must be one of" in text
    assert "query_mode must be one of" in text


def test_what_became_of_it_at_ad_platforms(stage: Stage, show: Callable[..., str]) -> None:
    event_id = stage.event(stage.contact(), amount="5")
    skipping_id = stage.destination(name="Pixel")
    stage.add_delivery(skipping_id, event_id, status="skipped", reason="no_identifier")
    held_id = stage.destination(
        name="Held one", status="held", status_reason="Token refused.", held_since=NOON
    )
    stage.add_delivery(held_id, event_id, status="queued", finished_at=None)
    failing_id = stage.destination(name="Failing")
    stage.add_delivery(failing_id, event_id, status="failed", error="Bad value", http_status=400)
    text = show(event_id)
    for fragment in (
        "it has no identifier that the platform could match",
        "send an email or a phone number with events", "The destination is held: Token refused.",
        "resume the destination", "Bad value (HTTP 400)", "fix the cause, then replay it",
    ):  # fmt: skip
        assert fragment in text, fragment


def test_a_long_path_is_listed_from_both_ends(stage: Stage, show: Callable[..., str]) -> None:
    contact = stage.contact()
    for number in range(205):
        stage.touchpoint(contact, "email", occurred_at=NOON - timedelta(minutes=number + 1))
    text = show(stage.event(contact, amount="205"))
    assert "5 more touchpoints are not listed" in text
    assert "Not listed" in text


def test_hostile_values_are_text(stage: Stage, owner: Person) -> None:
    contact = stage.contact(name=HOSTILE, email=HOSTILE)
    stage.touchpoint(
        contact, "referral", source_rule="campaign", occurred_at=days(1), campaign_name=HOSTILE,
        url=f"javascript:alert(1)?utm_source={HOSTILE}", referrer_host=HOSTILE,
    )  # fmt: skip
    event_id = stage.event(
        contact, amount="5", order_id=HOSTILE, event_url="javascript:alert(2)",
        user_agent=HOSTILE, warnings=[HOSTILE],
    )  # fmt: skip
    page = owner.browser.get(f"/console/spaces/{stage.space_id}/events/{event_id}")
    check(page)
    assert "<script>alert" not in page.text
    assert 'href="javascript' not in page.text


@pytest.mark.parametrize("role", list(Role))
def test_everybody_in_the_space_may_see_it(stage: Stage, person: Callable[..., Person], role: Role) -> None:
    person(Role.OWNER)
    event_id = stage.event(stage.contact(), amount="5")
    path = f"/console/spaces/{stage.space_id}/events/{event_id}"
    assert person(role).browser.get(path).status_code == 200


def test_another_spaces_event_is_as_an_unknown_one(
    stage: Stage, owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    other_stage = Stage(connection, make_space(), "")
    other_event_id = other_stage.event(other_stage.contact(), amount="5")
    events_path = f"/console/spaces/{stage.space_id}/events"
    answers = [
        owner.browser.get(path)
        for path in (
            f"{events_path}/{other_event_id}", f"{events_path}/999999999",
            f"{events_path}/x", f"{events_path}/{'9' * 19}",
            f"/console/spaces/{other_stage.space_id}/events/{other_event_id}",
        )
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {404}
    for answer in answers:
        check(answer)


def test_credit_told_and_now(stage: Stage, show: Callable[..., str]) -> None:
    """The page shows the credit sent to a platform earlier, and next to it the model's credit now."""
    buyer = stage.contact()
    touchpoint_id = stage.touchpoint(buyer, "facebook_ads", source_rule="fbclid", occurred_at=days(3))
    stage.touchpoint(buyer, "direct", source_rule="direct", occurred_at=days(2))
    stage.touchpoint(buyer, "email", source_rule="utm", occurred_at=days(1))
    event_id = stage.event(buyer, amount="90", order_id="A-1")
    credit = {"share": 0.5, "paid_share": 0.5, "model": "linear", "window_days": 30}
    stage.add_delivery(stage.destination(), event_id, kind="credit", number=1, status="delivered",
                       credit=Jsonb(credit), touchpoint_id=touchpoint_id)  # fmt: skip
    assert "Credit, 50.00 % by linear, 33.33 % now, delivered" in show(event_id)
    assert "Credit, 50.00 % by linear, delivered" in show(event_id, "?attribution_window=7")
