"""The page of one contact: its profile, its timeline page by page, undoing merges, erasing people."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from headwater.console.forms import form_token
from headwater.console.people_pages import contact as contact_page
from headwater.database.jobs.connection import connect
from headwater.privacy.erasure_job import erase_next
from headwater.spaces.accounts.roles import Role
from tests.console.browsing import Forms
from tests.console.conftest import Person
from tests.console.test_event import HOSTILE, page_text
from tests.console.test_every_page import check
from tests.support.factories import NOON, Stage
from tests.support.people import merge
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import event


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def merged_ids(connection: psycopg.Connection, space_id: int) -> tuple[int, int]:
    """Store a contact with a laptop and a phone. Return its id, and the id that the phone's contact had
    before the merge.
    """
    queue = Queue(connection, space_id)
    queue.run(event(event_name="sign_up", email="ann@ash.example", trk_token="laptop-1"))
    first = queue.run(event(event_name="view_content", trk_token="phone-1", trk_source="fb"))
    (anonymous,) = (queue.find_contact(number) for number in first)
    last = queue.run(event(email="ann@ash.example", trk_token="phone-1", amount="9"))
    return queue.find_contact(last[0]), anonymous


def list_path(space_id: int, contact_id: int) -> str:
    return f"/console/spaces/{space_id}/contacts/{contact_id}"


def show(visitor: Person, path: str, status: int = 200) -> str:
    page = visitor.browser.get(path)
    assert page.status_code == status
    check(page)
    return page_text(page.text)


def test_it_works(stage: Stage, owner: Person) -> None:
    stage.label_field("profile_field_1", "Plan")
    company = stage.company(name="Ash Ltd")
    ann = stage.contact(
        name="Ann Ash", email="ann@ash.example", company_id=company, profile_field_1="Pro",
        city="Bonn", browser="Firefox",
    )  # fmt: skip
    event_id = stage.event(ann, amount="20", order_id="A-1", company_id=company, sender="api_key")
    stage.event(ann, amount="-5", event_time=NOON + timedelta(days=1))
    stage.identifier(ann, "email", "ann@ash.example", recency=event_id)
    stage.touchpoint(
        ann, "google_ads", source_rule="gclid", occurred_at=NOON - timedelta(days=1),
        url="https://shop.example/?gclid=7", company_id=company,
    )  # fmt: skip
    visit = stage.visit(ann)
    for number in range(3):
        stage.hit(ann, visit, url=f"https://shop.example/{number}",
                  occurred_at=NOON - timedelta(hours=1, minutes=number))  # fmt: skip
    stage.add_delivery(stage.destination(name="Pixel"), event_id, status="delivered")
    text = show(owner, list_path(stage.space_id, ann))
    for fragment in (
        "Ann Ash", "ann@ash.example", "Ash Ltd", "Plan Pro", "Firefox, Bonn", "15.00 USD",
        "First source Google ads", "Purchase 20.00 USD order A-1 by an API key",
        "Pixel: delivered", "gclid=7", "Visit 3 pages", "https://shop.example/2",
        "E-mail", "purchase, an API key", "Erase this person",
    ):  # fmt: skip
        assert fragment in text, fragment
    assert text.index("Purchase -5.00") < text.index("Purchase 20.00")
    assert text.index("Purchase 20.00") < text.index("Visit 3") < text.index("gclid=7")


def test_the_empty_state(stage: Stage, owner: Person) -> None:
    contact = stage.contact()
    text = show(owner, list_path(stage.space_id, contact))
    assert f"Contact {contact}" in text
    assert "No activity yet." in text
    assert "this contact has no e-mail address, id or browser" in text


def test_the_timeline_goes_on_page_by_page(stage: Stage, owner: Person) -> None:
    """Every item is listed once and in order, even among items of one moment; and the same backward."""
    contact = stage.contact()
    visit = stage.visit(contact)
    for number in range(60):
        moment = NOON - timedelta(minutes=number // 8)
        stage.event(contact, order_id=f"event-{number}-", event_time=moment)
        stage.touchpoint(contact, "email", campaign_name=f"touch-{number}-", occurred_at=moment)
        stage.hit(contact, visit, url=f"https://shop.example/hit-{number}-", occurred_at=moment)
    expected = {f"{kind}-{number}-" for kind in ("event", "touch", "hit") for number in range(60)}
    path, pages = list_path(stage.space_id, contact), []
    while path:
        html = owner.browser.get(path).text
        pages.append([label for label in expected if label in html])
        path = link(html, "Older")
    assert [len(page) for page in pages] == [50, 50, 50, 30]
    assert sorted(label for page in pages for label in page) == sorted(expected)
    back = owner.browser.get(link(html, "Newer")).text
    assert {label for label in expected if label in back} == set(pages[-2])


def link(html: str, text: str) -> str:
    before, _, _ = html.partition(f">{text}</a>")
    return before.rpartition('href="')[2].partition('"')[0] if f">{text}</a>" in html else ""


def test_revenue_of_many_events_is_of_the_latest(
    stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_page, "MOST_EVENTS", 2)
    contact_id = stage.contact()
    for day, amount in enumerate(("1", "20", "300")):
        text = show(owner, list_path(stage.space_id, contact_id))
        assert "of the last" not in text
        stage.event(contact_id, amount=amount, event_time=NOON + timedelta(days=day))
    text = show(owner, list_path(stage.space_id, contact_id))
    assert "320.00" in text
    assert "2+" in text
    assert "of the last 2 events" in text


@pytest.mark.parametrize("cursor", ["x", "%20", "AAAA"])
def test_a_wrong_cursor_is_refused(stage: Stage, owner: Person, cursor: str) -> None:
    contact = stage.contact()
    show(owner, list_path(stage.space_id, contact) + f"?cursor={cursor}", status=422)


def test_a_merged_id_leads_to_the_surviving_contact(stage: Stage, owner: Person) -> None:
    survivor, merged_id = stage.contact(name="Ann"), stage.contact()
    merge(stage, merged_id, survivor)
    page = owner.browser.get(list_path(stage.space_id, merged_id))
    assert page.url.path == list_path(stage.space_id, survivor)


def test_a_merge_has_its_cause_and_can_be_undone(
    merged_ids: tuple[int, int], owner: Person, space_id: int
) -> None:
    ann, phone = merged_ids
    path = list_path(space_id, ann)
    text = show(owner, path)
    assert f"Contact {phone} became part of contact {ann}: an event of a known contact" in text
    assert "Merged into this contact" in text
    undone = owner.browser.fill(path, f"{path}/unmerge", confirm=" ANN@ash.example ")
    assert undone.url.path == list_path(space_id, phone)
    assert "The merge is undone" in undone.text
    assert "Undone" in show(owner, path)
    assert "Merged into this contact" not in show(owner, path)


@pytest.mark.parametrize("confirmation", ["", "somebody@else.example", "0"])
@pytest.mark.parametrize("action", ["unmerge", "erase"])
def test_what_is_not_confirmed_does_not_happen(
    merged_ids: tuple[int, int], owner: Person, stage: Stage, action: str, confirmation: str
) -> None:
    ann, _ = merged_ids
    path = list_path(stage.space_id, ann)
    page = owner.browser.fill(path, f"{path}/{action}", confirm=confirmation)
    assert page.status_code == 422
    check(page)
    assert "not an e-mail address or the id of this contact" in page.text
    assert "Merged into this contact" in page.text
    erasure = stage.connection.execute(
        "SELECT FROM erasures WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert erasure is None


def test_an_erasure_and_what_it_leaves(
    merged_ids: tuple[int, int], owner: Person, space_id: int, database_url: str
) -> None:
    ann, _ = merged_ids
    path = list_path(space_id, ann)
    page = owner.browser.fill(path, f"{path}/erase", confirm=str(ann))
    assert page.url.path == f"{path}/erasure"
    check(page)
    assert "Refresh" in page.text
    waiting_text = show(owner, path)
    assert "erasure is in progress." in waiting_text
    assert "Erase this person" not in waiting_text
    unmerged = owner.browser.fill(path, f"{path}/unmerge", confirm=str(ann))
    assert unmerged.status_code == 409
    assert "is part of a contact that is being erased" in page_text(unmerged.text)
    with connect(database_url) as connection:
        assert erase_next(connection, space_id)
    text = show(owner, f"{path}/erasure")
    assert "What was deleted" in text
    assert "What stays" in text
    after = show(owner, path)
    assert "This person was erased on" in after
    assert "ann@ash.example" not in after
    assert "Purchase 9.00" in after


def test_what_an_erasure_would_delete_can_be_read_before(stage: Stage, owner: Person) -> None:
    path = list_path(stage.space_id, stage.contact())
    text = show(owner, f"{path}/erasure")
    assert "Erasure has not been requested for this contact." in text
    assert "What is deleted" in text


def test_viewers_see_it_and_change_nothing(
    merged_ids: tuple[int, int], person: Callable[..., Person], space_id: int
) -> None:
    ann, phone = merged_ids
    path = list_path(space_id, ann)
    owner, viewer = person(Role.OWNER), person(Role.VIEWER)
    assert "Erase this person" not in show(viewer, path)
    assert [form.action for form in Forms(viewer.browser.get(path).text).forms] == [
        "/logout",
        f"/console/spaces/{space_id}/people",
    ]
    for action, values in (("erase", {}), ("unmerge", {"merged": str(phone)})):
        form = owner.browser.form(path, f"{path}/{action}")
        refusal = viewer.browser.send(form, confirm=str(ann), **values)
        assert refusal.status_code == 403
    admin = person(Role.ADMIN)
    assert "Erase this person" in show(admin, path)


def test_a_viewers_own_token_does_not_help(
    merged_ids: tuple[int, int], person: Callable[..., Person], space_id: int
) -> None:
    ann, phone = merged_ids
    path = list_path(space_id, ann)
    person(Role.OWNER)
    viewer = person(Role.VIEWER)
    for action, name in (("erase", "erase contact"), ("unmerge", "unmerge contact")):
        data = {
            "form_token": form_token(viewer.form_key, name), "confirm": str(ann),
            "merged": str(phone),
        }  # fmt: skip
        assert viewer.browser.client.post(f"{path}/{action}", data=data).status_code == 403


def test_another_spaces_contact_is_as_an_unknown_one(
    stage: Stage, owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    other_stage = Stage(connection, make_space(), "")
    other_contact = other_stage.contact(email="secret@else.example")
    for contact in (str(other_contact), "999999999", "x"):
        show(owner, f"/console/spaces/{stage.space_id}/contacts/{contact}", status=404)
    show(owner, list_path(other_stage.space_id, other_contact), status=404)


def test_only_parts_of_the_contact_can_be_taken_out(
    merged_ids: tuple[int, int], owner: Person, stage: Stage
) -> None:
    ann, _ = merged_ids
    other_id = stage.contact()
    path = list_path(stage.space_id, ann)
    form = owner.browser.form(path, f"{path}/unmerge")
    page = owner.browser.send(form, confirm=str(ann), merged=str(other_id))
    assert page.status_code == 404


def test_hostile_values_are_text(stage: Stage, owner: Person) -> None:
    stage.label_field("profile_field_1", HOSTILE[:100])
    contact = stage.contact(name=HOSTILE, profile_field_1=HOSTILE)
    stage.identifier(contact, "trk_token", HOSTILE)
    stage.identifier(contact, "name", HOSTILE)
    stage.hit(contact, stage.visit(contact), url=f"javascript:{HOSTILE}", referrer_host=HOSTILE)
    page = owner.browser.get(list_path(stage.space_id, contact))
    check(page)
    assert "<script>alert" not in page.text
    assert 'href="javascript' not in page.text
