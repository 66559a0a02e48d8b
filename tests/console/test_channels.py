"""The channels page: revenue by source, compared with the previous period."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headwater.console.report_pages.bar import COMPARISONS, WINDOW_TITLES
from headwater.console.report_pages.saved_views import MOST_VIEWS
from headwater.reports.query import Comparison
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.support.factories import Stage

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def days_ago(days: int) -> datetime:
    return NOON - timedelta(days=days)


def order(stage: Stage, source: str | None, amount: str, days: int = 3, **ad: str) -> int:
    """Store an order, a minute after a visit from a source."""
    contact = stage.contact()
    if source:
        columns = {"tag_set_id": stage.tag_set(**ad)} if ad else {}
        moment = days_ago(days) - timedelta(minutes=1)
        stage.touchpoint(contact, source, occurred_at=moment, **columns)
    return stage.event(contact, event_time=days_ago(days), amount=amount)


def make_page(person: Person, space_id: int, query: str = "") -> PageTables:
    answer = person.browser.get(f"/console/spaces/{space_id}/channels?{query}")
    assert answer.status_code == 200, answer.text
    return PageTables(answer.text)


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "100.50")
    order(stage, "google_ads", "50")
    order(stage, "ai_chat_gpt", "30.25")
    order(stage, None, "20")
    order(stage, "google_ads", "80", days=40)
    page = make_page(owner, space_id)
    assert page.headlines["Revenue"].value == "200.75"
    assert page.headlines["Orders"].value == "4"
    assert page.headlines["New customers"].value == "4"
    assert page.headlines["Unattributed"].text.split() == ["10.0", "%", "of", "revenue"]
    assert [cell.value for cell in page.row("channels", "Paid ads")[1:4]] == [
        "150.5", "0.7497", "2",
    ]  # fmt: skip
    assert page.row("channels", "AI answers")[1].value == "30.25"
    assert page.row("channels", "Credited")[1].value == "180.75"
    assert page.row("channels", "Unattributed")[1].value == "20"
    assert page.row("channels", "No visit seen")[1].value == "20"
    assert page.row("channels", "All")[1].value == "200.75"
    assert "88.1 %" in page.row("channels", "Paid ads")[-1].text


def test_the_text_before_the_chart_has_the_leading_channel_and_its_share(
    owner: Person, stage: Stage, space_id: int
) -> None:
    order(stage, "google_ads", "60")
    order(stage, "ai_chat_gpt", "20")
    text = owner.browser.get(f"/console/spaces/{space_id}/channels").text
    [label] = re.findall(r'<p class="sr">([^<]*the table below[^<]*)</p>', text)
    assert [part in label for part in ("80", "Paid ads", "75.0 %")] == [True] * 3


def test_the_unattributed_share_is_compared(owner: Person, stage: Stage, space_id: int) -> None:
    for days, credited, uncredited in ((3, "50", "50"), (40, "75", "25")):
        order(stage, "google_ads", credited, days=days)
        order(stage, None, uncredited, days=days)
    page = make_page(owner, space_id)
    card = page.html.split("<h2>Unattributed</h2>")[1].split("</div>")[0]
    assert page.headlines["Unattributed"].text.startswith("50.0 %")
    assert '<span class="sr">up </span> 100.0 %' in " ".join(card.split())


def test_a_share_is_rounded_once(owner: Person, stage: Stage, space_id: int) -> None:
    """11.046 % would be 11.05 and then 11.1."""
    order(stage, "google_ads", "88954")
    order(stage, None, "11046")
    page = make_page(owner, space_id)
    share_cell = page.row("channels", "Unattributed")[2]
    assert (share_cell.text, share_cell.value) == ("11.0 %", "0.1105")
    assert page.headlines["Unattributed"].text.startswith("11.0 %")


def test_deleted_visits_are_told(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "10")
    stage.visit(stage.contact(), source_id=stage.source_id("email"), started_at=days_ago(3))
    pages = [f"/console/spaces/{space_id}", f"/console/spaces/{space_id}/channels"]
    for page in pages:
        assert "by this Space's retention" not in owner.browser.get(page).text
    stage.connection.execute(
        "INSERT INTO retention_passes (space_id, kind, deleted_before) VALUES (%s, 'contacts', %s)",
        (space_id, days_ago(5)),
    )
    for page in pages:
        assert "were deleted by this Space's retention" in owner.browser.get(page).text.replace("&#39;", "'")


def test_visits_beside_the_money(owner: Person, stage: Stage, space_id: int) -> None:
    """The columns appear only in a Space with visits, and not with a filter that visits can't have."""
    order(stage, "google_ads", "10")
    assert "Conversion rate" not in owner.browser.get(f"/console/spaces/{space_id}").text
    for source in ("google_ads", "google_ads", "email"):
        stage.visit(stage.contact(), source_id=stage.source_id(source), started_at=days_ago(3))
    page = make_page(owner, space_id)
    assert [cell.value for cell in page.row("channels", "Paid ads")[5:7]] == ["2", "0"]
    assert page.row("channels", "Unattributed")[5].value == "0"
    assert page.row("channels", "All")[5].value == "3"
    answer = owner.browser.get(f"/console/spaces/{space_id}/channels?only=event:purchase")
    assert answer.status_code == 200
    assert "Conversion rate" not in answer.text


def test_every_choice_is_a_link(owner: Person, stage: Stage, space_id: int) -> None:
    """Each link leads to a page that shows the choice, and keeps the other choices."""
    order(stage, "google_ads", "10")
    address = f"/console/spaces/{space_id}/channels"
    page = owner.browser.get(f"{address}?attribution_model=u_shaped").text
    assert f"{address}?period=today&amp;attribution_model=u_shaped" in page
    assert f"{address}?attribution_model=u_shaped&amp;query_mode=company" in page
    assert 'aria-current="true"><span><strong>U-shaped' in page
    assert "compare=none" in page
    assert "compare=none" not in owner.browser.get(f"/console/spaces/{space_id}/events").text
    assert f"U-shaped, {WINDOW_TITLES['30']}" in page
    assert f">{COMPARISONS[Comparison.PREVIOUS_PERIOD]}</summary>" in page


def test_dates_can_be_chosen(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "10", days=3)
    order(stage, "google_ads", "70", days=5)
    day = days_ago(3).date()
    page = make_page(owner, space_id, f"start_date={day}&end_date={day}&period=today")
    assert page.headlines["Revenue"].value == "10"
    assert page.tables["course"][0][0].text == "Hour"


def test_hours_are_named(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "10")
    for start, end, days in (
        ("2026-05-13 10:00:00", "2026-05-13 10:59:59", "13 May 2026, 10:00 \u2013 10:59"),
        ("2026-05-13 22:00:00", "2026-05-14 01:59:59", "13 May 2026, 22:00 \u2013 14 May 2026, 01:59"),
        ("2026-05-13 00:00:00", "2026-05-13 00:59:59", "13 May 2026, 00:00 \u2013 00:59"),
        ("2026-05-13 00:00:00", "2026-05-14 11:59:59", "13\u201314 May 2026, until 11:59"),
        ("2026-05-13", "2026-05-14", "13\u201314 May 2026"),
    ):
        html = make_page(owner, space_id, f"start_date={start}&end_date={end}").html
        assert f">{days} (" in html
        assert f"</span>{days}</summary>" in html


def test_rows_open_in_place(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "10", campaign_id="c/1", campaign_name=HOSTILE, ad_id="a1")
    order(stage, "facebook_ads", "5")
    page = make_page(owner, space_id)
    link = page.row("channels", "Paid ads")[0].link
    assert link
    for title in ("Google ads", HOSTILE, "a1"):
        answer = owner.browser.get(link)
        assert "<script>alert" not in answer.text
        page = PageTables(answer.text)
        row = page.row("channels", title)
        assert row[1].value == "10"
        link = row[0].link or link
    assert page.row("channels", "Facebook ads")[1].value == "5"
    closed_link = page.row("channels", "Paid ads")[0].link
    assert closed_link
    rows = PageTables(owner.browser.get(closed_link).text).tables["channels"]
    assert "Google ads" not in [row[0].text for row in rows]


def test_no_group(owner: Person, stage: Stage, space_id: int) -> None:
    """Orders without a campaign have a row, too, and opening it is safe."""
    order(stage, "google_ads", "10")
    page = make_page(owner, space_id, "open=paid&open=paid/google_ads&open=paid/google_ads/")
    assert page.row("channels", "No campaign")[1].value == "10"
    assert page.row("channels", "No ad")[1].value == "10"


def test_other_conversions(owner: Person, stage: Stage, space_id: int) -> None:
    """They are counted; no amount and no currency is on the page."""
    contact = stage.contact()
    stage.touchpoint(contact, "email", occurred_at=days_ago(4))
    stage.event(contact, event_name="sign_up", event_time=days_ago(3), amount=None)
    page = make_page(owner, space_id, "conversion=sign_up")
    assert page.headlines["Sign-ups"].value == "1"
    assert page.row("channels", "E-mail")[1].value == "1"
    assert "USD" not in page.html.replace("Currency", "")


def test_by_date_of_the_touch(owner: Person, stage: Stage, space_id: int) -> None:
    """Nothing is unattributed then: the credit of other touches is in other periods."""
    order(stage, "google_ads", "10")
    page = make_page(owner, space_id, "date_basis=touch")
    assert page.row("channels", "Credited")[1].value == "10"
    assert "Unattributed" not in page.headlines


def test_filters(owner: Person, stage: Stage, space_id: int) -> None:
    """With a filter on touchpoints, the figures at the top cover only their events; a chip removes the
    filter.
    """
    order(stage, "google_ads", "10", campaign_id="c1", campaign_name="Boots")
    order(stage, "email", "5")
    page = make_page(owner, space_id, "filter=campaign&key=c1&attribution_model=linear")
    assert page.headlines["Revenue"].value == "10"
    assert "Unattributed" not in page.headlines
    assert '<option value="campaign">' in page.html, "so such a filter can be chosen"
    assert "campaign: c1" in page.html
    assert "only=campaign%3Ac1" in page.html
    assert f'href="/console/spaces/{space_id}/channels?attribution_model=linear" title="Remove' in page.html
    assert make_page(owner, space_id, "only=channel:email").headlines["Revenue"].value == "5"


def test_csv_is_that_of_the_table(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "google_ads", "100.50")
    page = owner.browser.get(f"/console/spaces/{space_id}/channels?attribution_model=linear")
    link = next(
        fragment.split('"')[0].replace("&amp;", "&")
        for fragment in page.text.split('href="')
        if "/report.csv?" in fragment
    )
    answer = owner.browser.get(link)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(answer.text.splitlines())
    assert (row["channel"], row["credited_revenue"]) == ("paid", "100.5")


def test_an_empty_space(owner: Person, space_id: int) -> None:
    """It opens with the set-up list; a question about its data leads to no other empty page."""
    first = owner.browser.get(f"/console/spaces/{space_id}")
    assert str(first.url).endswith(f"/console/spaces/{space_id}/setup")
    page = make_page(owner, space_id, "period=today")
    assert page.headlines["Revenue"].value == "0"
    assert "No data in this period" in page.html
    assert "Show the latest events" not in page.html


@pytest.mark.parametrize(("seconds", "is_offered"), [(-1, False), (0, True)])
def test_a_period_that_ends_before_all_events_leads_to_them(
    owner: Person, stage: Stage, space_id: int, seconds: int, *, is_offered: bool
) -> None:
    midnight = days_ago(3).replace(hour=0)
    first_at = midnight + timedelta(seconds=seconds)
    stage.event(stage.contact(), event_name="sign_up", event_time=first_at)
    day = (midnight - timedelta(days=1)).date()
    page = make_page(owner, space_id, f"start_date={day}&end_date={day}&conversion=sales")
    assert "No data in this period" in page.html
    assert ("Show the latest events" in page.html) == is_offered
    assert (f"start_date={midnight.date()}" in page.html) == is_offered


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("attribution_model=magic", "attribution_model"),
        ("attribution_window=5", "attribution_window"),
        ("period=whenever", "period"),
        ("start_date=2026-02-30&end_date=2026-03-01", "start_date"),
        ("conversion=wish", "conversion"),
        ("only=nothing:x", "only"),
        ("compare=mars", "compare"),
    ],
)
def test_bad_input_is_refused(owner: Person, space_id: int, query: str, name: str) -> None:
    """The page keeps its filter bar, and states the rule that was broken."""
    answer = owner.browser.get(f"/console/spaces/{space_id}/channels?{query}")
    assert answer.status_code == 422
    assert f"The {name}" in answer.text
    assert "Last 7 days" in answer.text


def test_hostile_choices_are_text(owner: Person, space_id: int) -> None:
    answer = owner.browser.get(f"/console/spaces/{space_id}/channels")
    assert answer.status_code == 200
    for name in ("period", "conversion", "only", "open", "start_date", "attribution_model"):
        answer = owner.browser.client.get(
            f"/console/spaces/{space_id}/channels", params={name: f"source:{HOSTILE}"}
        )
        assert "<script>alert" not in answer.text


def test_saved_views(owner: Person, person: Callable[..., Person], space_id: int) -> None:
    """A view belongs to its member: others can't see or remove it."""
    path = f"/console/spaces/{space_id}/channels?attribution_model=linear"
    save_page = owner.browser.fill(path, f"/console/spaces/{space_id}/views/save", name=HOSTILE)
    assert save_page.status_code == 200
    assert str(save_page.url).endswith("?attribution_model=linear")
    assert "&lt;script&gt;alert(1)" in save_page.text
    viewer = person(Role.VIEWER)
    assert "alert(1)" not in viewer.browser.get(path).text
    removal_page = owner.browser.fill(path, f"/console/spaces/{space_id}/views/remove")
    assert "alert(1)" not in removal_page.text
    assert "The view is removed." in removal_page.text


def test_views_have_names(owner: Person, space_id: int) -> None:
    action = f"/console/spaces/{space_id}/views/save"
    path = f"/console/spaces/{space_id}/channels?period=today"
    form = owner.browser.form(path, action)
    for values in ({"name": "  "}, {"name": "x" * 81}, {"name": "x", "page": "/keys"}):
        assert owner.browser.send(form, **values).status_code == 422
    refusal = owner.browser.send(form, name="  ")
    assert f'href="{path}"' in refusal.text
    for number in range(MOST_VIEWS):
        owner.browser.send(form, follow=False, name=f"View {number}")
    refusal = owner.browser.send(form, name="One more")
    assert (refusal.status_code, f'href="{path}"' in refusal.text) == (422, True)


def test_new_and_returning_customers_stand_beside_each_other(
    owner: Person, stage: Stage, space_id: int
) -> None:
    contact = stage.contact()
    for days, amount in ((40, "80"), (3, "60"), (2, "20")):
        stage.event(contact, event_time=days_ago(days), amount=amount)
    order(stage, "google_ads", "100.50")
    page = make_page(owner, space_id)
    new, returning = (page.row("customers", kind)[1:4] for kind in ("New", "Returning"))
    assert [cell.value for cell in new] == ["100.5", "1", "100.5"]
    assert [cell.value for cell in returning] == ["80", "2", "40"]
