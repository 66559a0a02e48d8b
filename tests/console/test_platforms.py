"""Ad platform pages: connecting step by step, testing, viewing, repairing and removing."""

from __future__ import annotations

import html as markup
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.console.forms import form_token
from headwater.forwarding.deliveries.delivery_counts import MOST_DAYS
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, Person
from tests.support.factories import Stage
from tests.support.fake_platform import FakePlatform
from tests.support.meta_account import CODE, PIXEL, TOKEN, meta_account

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def meta() -> Iterator[FakePlatform]:
    with meta_account() as platform:
        yield platform


@pytest.fixture(scope="module")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting,
    meta: FakePlatform,
) -> Iterator[Running]:  # fmt: skip
    """The application with a fake Meta, and nothing listening at the other platforms' address."""
    settings = Settings(
        rate_limit_factor=1000, data_dir=tmp_path_factory.mktemp("platforms"),
        trusted_proxies=(ip_network("127.0.0.1"),),
        platform_urls={**dict.fromkeys(PLATFORMS, "http://127.0.0.1:9"), "meta": meta.url},
    )  # fmt: skip
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


def page_text(html: str) -> str:
    """Return the text of a page, without its tags."""
    main = html[html.index("<main") :]
    return " ".join(markup.unescape(re.sub(r"<[^>]*>", " ", main)).split())


def connect(owner: Person, space_id: int, platform: str = "meta", **fields: str) -> str:
    """Fill in the first step, and return the path of the new destination."""
    path = f"/console/spaces/{space_id}/platforms/connect/{platform}"
    account = {"settings.pixel_id": PIXEL, "secrets.access_token": TOKEN,
               "settings.test_event_code": CODE}  # fmt: skip
    page = owner.browser.fill(path, path, **{**account, **fields})
    assert page.status_code == 200, page_text(page.text)
    assert page.url.path.endswith("/events"), page_text(page.text)
    return page.url.path.removesuffix("/events")


def test_it_works(owner: Person, space_id: int, meta: FakePlatform) -> None:
    """From an empty list to a connection that was tested and sends."""
    empty = owner.browser.get(f"/console/spaces/{space_id}/platforms")
    assert "Nothing is connected yet" in empty.text
    assert [f"/connect/{name}" in empty.text for name in PLATFORMS] == [True] * len(PLATFORMS)
    path = connect(owner, space_id, name="Shop pixel")
    events = owner.browser.get(f"{path}/events?connecting")
    (form,) = [candidate for candidate in owner.browser.forms(f"{path}/events?connecting")
               if candidate.action.startswith(path)]  # fmt: skip
    names = {name: value for name, value in form.fields if name.startswith("event_names.")}
    assert names["event_names.purchase"] == "Purchase"
    assert "are all sent to Meta Ads as" in events.text
    form_values = {"event_names.purchase": "Bought", "event_names.view_content": "",
                   "all_events": "yes", "settings.consent_denied": "skip"}  # fmt: skip
    page = owner.browser.send(form, **form_values)
    assert page.url.path == f"{path}/test"
    assert "Send the test event" in page.text
    page = owner.browser.fill(f"{path}/test?connecting", f"{path}/test?connecting")
    assert "It works" in page.text
    assert "Meta Ads accepted the test event." in page.text
    call = meta.requests[-1]
    assert call.json()["test_event_code"] == CODE
    assert call.json()["data"][0]["event_name"] == "Bought"
    page = owner.browser.fill(f"{path}/test", f"{path}/resume")
    assert page.url.path == path
    text = page_text(page.text)
    assert "Shop pixel Active" in text
    assert "Events are sent as they arrive." in text
    assert "purchase → Bought" in text
    assert "Not sent: " in text
    assert "view_content" in text[text.index("Not sent: ") :]
    assert TOKEN not in page.text
    assert TOKEN not in owner.browser.get(f"{path}/settings").text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"secrets.access_token": "EAABwrong"}, "Meta Ads rejected the token"),
        ({"settings.pixel_id": "99999"}, "Meta Ads does not know this pixel id, or the token has no"),
        ({"settings.test_event_code": ""}, "Set test_event_code first"),
    ],
)
def test_a_test_that_fails_says_what_to_do(
    owner: Person, space_id: int, fields: dict[str, str], sentence: str
) -> None:
    path = connect(owner, space_id, **fields)
    page = owner.browser.fill(f"{path}/test", f"{path}/test")
    assert "It does not work yet" in page.text
    assert [text in page_text(page.text) for text in (sentence, "Enter the test code")] == [
        True, "settings.test_event_code" in fields,
    ]  # fmt: skip
    assert "EAABwrong" not in page.text
    list_text = page_text(owner.browser.get(path.rpartition("/")[0]).text)
    assert "Last test failed" in list_text


def test_a_platform_that_is_not_reached(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/platforms/connect/pinterest"
    form_values = {"settings.ad_account_id": "549755885175", "secrets.access_token": "pina_token"}
    destination_path = owner.browser.fill(path, path, **form_values).url.path.removesuffix("/events")
    page = owner.browser.fill(f"{destination_path}/test", f"{destination_path}/test")
    assert "Pinterest Ads could not be reached" in page.text
    assert "check that this server can connect to 127.0.0.1" in page_text(page.text)


def test_a_refused_setting_says_what_a_right_one_looks_like(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/platforms/connect/meta"
    form_values = {"settings.pixel_id": "act_12", "secrets.access_token": "", "name": ""}
    page = owner.browser.fill(path, path, **form_values)
    assert page.status_code == 422
    text = page_text(page.text)
    assert "The pixel ID must be 5 to 20 digits and nothing else, such as" in text
    assert "The access token is required." in text
    assert "The name must be a text" in text
    assert 'value="act_12"' in page.text
    assert "regex" not in text


def test_a_browser_asks_for_what_must_be_given(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/platforms/connect/meta").text
    fields = {
        name: tag for tag in re.findall(r"<input[^>]+>", page) for name in re.findall(r'name="([^"]+)"', tag)
    }
    assert " required" in fields["settings.pixel_id"]
    assert " required" not in fields["settings.test_event_code"]


def test_a_token_is_replaced_and_otherwise_stays(owner: Person, space_id: int, meta: FakePlatform) -> None:
    path = connect(owner, space_id)
    page = owner.browser.fill(f"{path}/settings", f"{path}/settings", name="Renamed")
    assert "Renamed" in page.text
    owner.browser.fill(f"{path}/test", f"{path}/test")
    assert f"access_token={TOKEN}" in meta.requests[-1].target
    owner.browser.fill(f"{path}/settings", f"{path}/settings", **{"secrets.access_token": "EAABnew"})
    assert "none since the last change" in page_text(owner.browser.get(path).text)
    owner.browser.fill(f"{path}/test", f"{path}/test")
    assert "access_token=EAABnew" in meta.requests[-1].target


def test_names_go_back_to_the_platforms_own(owner: Person, space_id: int) -> None:
    path = connect(owner, space_id)
    form = f"{path}/events"
    owner.browser.fill(form, form, **{"event_names.purchase": "Bought"})
    owner.browser.fill(form, form, **{"event_names.purchase": "Purchase"})
    assert "set here" not in owner.browser.get(path).text
    page = owner.browser.fill(form, form, **{"event_names.purchase": "x" * 300})
    assert page.status_code == 422
    assert "must be null or a text of at most 255 characters" in page.text


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    """The data in the visitor's Space."""
    return Stage(connection, space_id, "")


@pytest.fixture
def busy_destination(stage: Stage) -> int:
    """A destination with a delivery of each status today, and a week-old delivery."""
    destination = stage.destination(name="Busy", platform="tiktok")
    for number, (status, reason) in enumerate([
        ("delivered", None), ("failed", None), ("skipped", "not_attributed"),
        ("skipped", "do_not_capi"), ("queued", None),
    ]):  # fmt: skip
        columns = {"finished_at": None} if status == "queued" else {}
        stage.add_delivery(
            destination, stage.event(stage.contact(), event_time="now", order_id=f"o{number}"),
            status=status, reason=reason, error="Bad <b>value" if status == "failed" else None,
            request='{"event": "Purchase", "user": "***"}', answer='{"code": 40002}', **columns,
        )  # fmt: skip
    before = stage.event(stage.contact(), event_time="now")
    stage.add_delivery(destination, before, status="delivered", created_at=NOW - timedelta(days=7))
    return destination


def test_every_figure_leads_to_its_deliveries(owner: Person, busy_destination: int, space_id: int) -> None:
    base = f"/console/spaces/{space_id}/platforms"
    page = owner.browser.get(base).text
    links = re.findall(
        rf'href="({base}/{busy_destination}\?status=(\w+)&amp;from=[^"]*)"><data value="(\d+)"', page
    )
    total = 0
    for link, status, number in links:
        list_text = owner.browser.get(markup.unescape(link)).text
        rows = re.findall(rf"{base}/{busy_destination}/deliveries/\d+", list_text)
        assert len(rows) == int(number), link
        assert f"<strong>{status}</strong>" in list_text or not rows
        total += int(number)
    assert total == 12  # in total, and by day


def test_what_helps_and_replay(owner: Person, busy_destination: int, space_id: int, stage: Stage) -> None:
    path = f"/console/spaces/{space_id}/platforms/{busy_destination}"
    text = page_text(owner.browser.get(path).text)
    assert "No ad of the platform is credited with it" in text
    assert "send it all events (all_events)" in text
    assert "Bad <b>value" in text
    replay = f"{path}/replay"
    page = owner.browser.fill(path, replay, hidden_values={"reason": "not_attributed"})
    assert "Queued again" in page.text
    assert not [form for form in owner.browser.forms(path)
                if ("reason", "do_not_capi") in form.fields]  # fmt: skip
    page = owner.browser.fill(path, replay, hidden_values={"status": "failed"})
    status_counts = dict(stage.connection.execute(
        "SELECT status, count(*) FROM deliveries WHERE destination_id = %s GROUP BY 1", (busy_destination,)
    ).fetchall())  # fmt: skip
    assert status_counts == {"delivered": 2, "skipped": 1, "queued": 3}
    stored_counts = dict(stage.connection.execute(
        "SELECT status, sum(deliveries)::int FROM delivery_counts WHERE destination_id = %s"
        " GROUP BY 1 HAVING sum(deliveries) <> 0", (busy_destination,)
    ).fetchall())  # fmt: skip
    assert stored_counts == status_counts


def test_one_delivery(owner: Person, busy_destination: int, space_id: int, stage: Stage) -> None:
    path = f"/console/spaces/{space_id}/platforms/{busy_destination}"
    (link,) = re.findall(rf"{path}/deliveries/\d+", owner.browser.get(f"{path}?status=failed").text)
    page = owner.browser.get(link)
    text = page_text(page.text)
    assert '"event": "Purchase"' in text
    assert '"code": 40002' in text
    stage.connection.execute("UPDATE deliveries SET answer = repeat('[', 4096)")
    assert "[[[[" in owner.browser.get(link).text
    stage.attempt(int(link.rpartition("/")[2]), attempted_at="2026-04-03T10:00Z", error="Too busy")
    assert re.search("3 Apr 2026.*Too busy", page_text(owner.browser.get(link).text))
    page = owner.browser.fill(link, f"{path}/replay")
    assert "Queued again" in page.text
    for other_id in (999_999, stage.destination()):
        assert owner.browser.get(link.replace(f"/{busy_destination}/", f"/{other_id}/")).status_code == 404


def test_only_deliveries_that_may_end_otherwise_can_be_replayed(
    owner: Person, busy_destination: int, space_id: int, stage: Stage
) -> None:
    path = f"/console/spaces/{space_id}/platforms/{busy_destination}"
    rows = stage.connection.execute(
        "SELECT id, coalesce(reason, status) FROM deliveries WHERE destination_id = %s", (busy_destination,)
    ).fetchall()
    pages = {text: owner.browser.get(f"{path}/deliveries/{number}").text for number, text in rows}
    replayable = {text for text, page in pages.items() if f'action="{path}/replay"' in page}
    assert replayable == {"failed", "not_attributed"}


def test_from_an_event_to_its_deliveries(
    owner: Person, busy_destination: int, space_id: int, stage: Stage
) -> None:
    (event_id,) = stage.connection.execute(
        "SELECT event_id FROM deliveries WHERE destination_id = %s AND status = 'failed'", (busy_destination,)
    ).fetchone() or (0,)
    page = owner.browser.get(f"/console/spaces/{space_id}/events/{event_id}").text
    (link,) = re.findall(rf"/console/spaces/{space_id}/platforms/{busy_destination}/deliveries/\d+", page)
    assert owner.browser.get(link).status_code == 200


def test_pages_of_deliveries(owner: Person, space_id: int, stage: Stage) -> None:
    destination = stage.destination()
    ids = [stage.add_delivery(destination, stage.event(stage.contact())) for _ in range(26)]
    path = f"/console/spaces/{space_id}/platforms/{destination}"
    first = owner.browser.get(f"{path}?status=failed").text
    (older,) = re.findall(r'href="([^"]*)" rel="next"', first)
    second = owner.browser.get(markup.unescape(older).partition("#")[0]).text
    assert re.findall(r"/deliveries/(\d+)", second) == [str(ids[0])]
    (newer,) = re.findall(r'href="([^"]*)" rel="prev"', second)
    back_page = owner.browser.get(markup.unescape(newer).partition("#")[0]).text
    assert re.findall(r"/deliveries/(\d+)", back_page) == re.findall(r"/deliveries/(\d+)", first)


@pytest.mark.parametrize(
    "query",
    [
        "status=lost",
        "reason=x",
        "from=2020-01-01&to=2020-01-02",
        "from=x",
        "cursor=x",
        "from=2026-01-01",
        "to=2026-01-01",
    ],
)
def test_bad_parameters(owner: Person, busy_destination: int, space_id: int, query: str) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/platforms/{busy_destination}?{query}")
    assert page.status_code == 422
    assert "All deliveries are shown." in page.text


def test_the_earliest_day_that_can_be_chosen(
    owner: Person, busy_destination: int, space_id: int, stage: Stage
) -> None:
    stage.connection.execute("UPDATE spaces SET timezone = 'UTC' WHERE id = %s", (space_id,))
    today = datetime.now(UTC).date()
    path = f"/console/spaces/{space_id}/platforms/{busy_destination}"
    for days, status in ((MOST_DAYS - 1, 200), (MOST_DAYS, 422)):
        day = today - timedelta(days=days)
        assert owner.browser.get(f"{path}?from={day}&to={day}").status_code == status


def test_roles(person: Callable[..., Person], space_id: int, busy_destination: int) -> None:
    person(Role.OWNER)
    viewer = person(Role.VIEWER)
    base = f"/console/spaces/{space_id}/platforms"
    for path in (base, f"{base}/{busy_destination}"):
        page = viewer.browser.get(path)
        assert page.status_code == 200
        assert f'action="{base}' not in page.text
        assert "/connect/" not in page.text
    for end in (
        "connect/meta",
        f"{busy_destination}/settings",
        f"{busy_destination}/events",
        f"{busy_destination}/test",
    ):
        assert viewer.browser.get(f"{base}/{end}").status_code == 403
    token = form_token(viewer.form_key, "destination state")
    for verb in ("pause", "resume", "replay", "remove"):
        response = viewer.browser.client.post(f"{base}/{busy_destination}/{verb}", data={"form_token": token})
        assert response.status_code == 403


def test_another_space(owner: Person, space_id: int, make_space: Callable[..., int],
                       stage: Stage) -> None:  # fmt: skip
    other_stage = Stage(stage.connection, make_space(), "")
    other_destination = other_stage.destination()
    delivery = other_stage.add_delivery(other_destination, other_stage.event(other_stage.contact()))
    own_destination = stage.destination()
    base = f"/console/spaces/{space_id}/platforms"
    for end in ("", "/settings", "/events", "/test", f"/deliveries/{delivery}"):
        assert owner.browser.get(f"{base}/{other_destination}{end}").status_code == 404
    assert owner.browser.get(f"{base}/{own_destination}/deliveries/{delivery}").status_code == 404
    assert owner.browser.get(f"{base}/connect/nothing").status_code == 404
    token = form_token(owner.form_key, "destination state")
    for verb in ("pause", "resume", "replay", "remove"):
        response = owner.browser.client.post(f"{base}/{other_destination}/{verb}", data={"form_token": token})
        assert response.status_code == 404


def test_hostile_names(owner: Person, space_id: int, stage: Stage) -> None:
    name = "<script>alert(1)</script>" + "W" * 180
    destination = stage.destination(name=name)
    base = f"/console/spaces/{space_id}/platforms"
    for end in ("", f"/{destination}", f"/{destination}/settings", f"/{destination}/events"):
        page = owner.browser.get(base + end).text
        assert "<script>alert" not in page
        assert name in markup.unescape(page)


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_platform_has_a_form(owner: Person, space_id: int, name: str) -> None:
    path = f"/console/spaces/{space_id}/platforms/connect/{name}"
    (form,) = [candidate for candidate in owner.browser.forms(path) if candidate.action == path]
    fields = {field for field, _ in form.fields}
    assert {f"secrets.{secret}" for secret in PLATFORMS[name].secrets} <= fields
    assert owner.browser.send(form).status_code == 422  # a value that only the user knows is missing
