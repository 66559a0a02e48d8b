"""`headwater demo`: the main job from end to end, through the public API only."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import httpx
import pytest

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models.nightly_runs import TRAINING_DAYS
from headwater.base.settings import read_settings
from headwater.demo import money
from headwater.demo.journeys import DAYS, journeys, written
from headwater.demo.pretend_platforms import ACCESS_TOKEN, PIXEL_ID, PretendPlatforms, answer
from headwater.demo.report import MODELS
from headwater.demo.shops import SHOPS, Shop
from headwater.demo.visits import WALK_INS, make_hits, passers_by
from headwater.sources.classify import explain
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.outcomes import Source
from tests.console.browsing import Forms
from tests.demo.share import SHARE
from tests.demo.walk import HOME, WITH_MODELS, Walk
from tests.support.campaigns import IS_LONG
from tests.support.processes import Serve, is_ready
from tests.support.waiting import wait_until

LAST_LINE = "It goes on serving; Ctrl-C stops it.\n"
HIGHEST_RATE = 5
"""The highest percentage of visits that lead to an order."""
NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@dataclass
class Demo:
    """A running demonstration, its output, and a login to its console."""

    output: str
    client: httpx.Client


class ServeDemo(Serve):
    """A demonstration. In an ordinary run it has fewer people."""

    module = "headwater" if IS_LONG else "tests.demo.small_demo"


@contextmanager
def demonstration(data_dir: Path) -> Iterator[Demo]:
    """Start a demonstration, yield it once it has printed everything, and stop it."""
    with ServeDemo(data_dir, command="demo") as demo:
        lines = [demo.line()]
        while lines[-1] != LAST_LINE:
            assert lines[-1], demo.log.read_text()
            lines.append(demo.line())
        output = "".join(lines)
        url = re.search(r"^Address +(\S+)$", output, re.MULTILINE)
        assert url is not None
        assert is_ready(url[1])
        with log_in(output) as client:
            yield Demo(output, client)
        demo.stop()
        wait_until(lambda: not is_ready(url[1]), description="the end of the service")


@contextmanager
def log_in(output: str) -> Iterator[httpx.Client]:
    """Log in with the printed login, which opens every sample Space."""
    login = dict(re.findall(r"^(Console|Login|Password) +(\S+)$", output, re.MULTILINE))
    console = login["Console"].removesuffix("/console")
    with httpx.Client(base_url=console, follow_redirects=True, timeout=60) as client:
        (form,) = Forms(client.get("/login").text).forms
        credentials = {"email": login["Login"], "password": login["Password"]}
        page = client.post(form.action, data={**dict(form.fields), **credentials})
        assert [shop.name for shop in SHOPS if shop.name not in unescape(page.text)] == []
        yield client


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "data"


@pytest.fixture(scope="module")
def first_output(data_dir: Path) -> str:
    """The output of the first run. Pages with the same figures in every run are tested in the second one."""
    with demonstration(data_dir) as demo:
        check_connections(demo.client)
        check_visits_and_imports(demo.client)
        check_changes(demo.client)
    return demo.output


@pytest.fixture(scope="module")
def second_output(data_dir: Path, first_output: str) -> Iterator[Demo]:
    """The second run, with the same data."""
    assert first_output
    with demonstration(data_dir) as demo:
        yield demo


def check_connections(client: httpx.Client) -> None:
    """Check that the first Space's ad platforms show every state of a destination and of its deliveries."""

    def page() -> str:
        return unescape(client.get("/console/spaces/1/platforms").text)

    def count_statuses() -> dict[str, int]:
        counts = re.findall(r'<data value="(\d+)">[\d,]+</data> (\w+)</a>', page())
        return {status: max(int(n) for n, label in counts if label == status) for _, status in counts}

    wait_until(lambda: ">Held</span>" in page(), description="a destination that is held")
    assert "invalid_grant: Token has been expired or revoked" in page()
    assert ">Active</span>" in page()
    states = {"delivered", "failed", "skipped", "queued"}
    wait_until(lambda: all(count_statuses().get(state) for state in states), description="all outcomes")


def check_visits_and_imports(client: httpx.Client) -> None:
    """Check that the first Space's site has page views and a successful test, that its import has refused
    rows, and that Live shows every visit of the last minutes.
    """
    base = "/console/spaces/1"

    def page(end: str) -> str:
        return unescape(client.get(base + end).text)

    assert re.search(r"<td[^>]*number[^>]*>(?:<[^>]+>)*[1-9]\d+", page("/sites")), "page views"
    assert "staging.nordlicht-outdoor.example" in page("/sites/1"), "what was refused lately"
    assert "Everything arrived." in page("/sites/1/test")
    assert page("/live?kind=visits").count("Page view") > WALK_INS
    import_text = re.sub("<[^>]+>", "", page("/orders/imports/1"))
    assert "18 of 22 rows stored, 4 refused" in " ".join(import_text.split())
    assert "frau.meyer(at)gmail.com" in import_text
    orders = page("/orders")
    assert "Shop orders" in orders
    assert "Telefonbestellungen.csv" in orders


def check_rates(client: httpx.Client) -> None:
    """Check that some visits convert, now and at the beginning of the history. With all visitors, the rate is
    realistic.
    """
    maximum = HIGHEST_RATE if IS_LONG else HIGHEST_RATE * SHARE
    for space in (1, 2):
        for period in ("last 30 days", "last 90 days", "last 170 days"):
            page = client.get(f"/console/spaces/{space}", params={"period": period}).text
            rate = re.search(r"([\d.]+) % convert", page)
            assert rate is not None, (space, period)
            assert 1 < float(rate[1]) < maximum, (space, period)


def check_money(client: httpx.Client) -> None:
    """Check that spend and sales are in two currencies, and that both have rates."""
    page = client.get("/console/spaces/1/campaigns?period=last+90+days&group=campaign")
    assert page.status_code == 200, page.text
    text = unescape(page.text)
    assert "Autumn hikes" in text
    assert "Boots" in text
    assert re.search(r"Not broken down by campaign\s*<.{0,200}?>(?:240|360|480)\.00<", text, re.DOTALL)
    assert client.get("/console/spaces/2/campaigns").status_code == 200


def check_changes(client: httpx.Client) -> None:
    """Check that two saved views explain what came in after a report was read."""
    links = re.findall(
        r'href="([^"]+/changes(?:/since)?\?[^"]*since=[^"]+)"', client.get("/console/spaces/1").text
    )
    assert len(links) == 2
    for link in links:
        page = " ".join(re.sub("<[^>]+>", " ", unescape(client.get(unescape(link)).text)).split())
        assert "Late events" in page, page
        assert "Merges" in page
        assert "0 unexplained" in page or "0.00 unexplained" in page
        assert ("Restated spend" in page) == ("/campaigns/" in link)


def tables(output: str) -> list[list[str]]:
    """Return the reports' rows: a name and an amount for each model."""
    amount = r" +(-?[\d,]+\.\d\d)"
    rows = re.findall(rf"^(\w+){amount * len(MODELS)}$", output, re.MULTILINE)
    return [list(row) for row in rows]


def test_it_works_and_again_adds_nothing(first_output: str, second_output: Demo) -> None:
    for check in (check_connections, check_visits_and_imports, check_rates, check_money, check_changes):
        check(second_output.client)
    assert tables(first_output) == tables(second_output.output)
    assert len(re.findall(r"API key +trk_sk_", second_output.output)) == len(SHOPS)
    totals = [row[1:] for row in tables(first_output) if row[0] == "total"]
    sales = re.findall(r"^all sales: (.*)$", first_output, re.MULTILINE)
    assert totals == [[amount] * len(MODELS) for amount in sales]
    assert "set_up" not in first_output
    assert "unattributed" in first_output
    assert len(tables(first_output)) > 16


def test_no_page_of_the_demo_is_a_dead_end(second_output: Demo) -> None:
    client = second_output.client
    walk = Walk(client)
    walk.walk([HOME, *(HOME + end for end in WITH_MODELS)])
    assert [client.get(HOME + end).status_code for end in WITH_MODELS] == [200] * len(WITH_MODELS)
    assert not walk.faults, "\n".join(walk.faults)
    models_text = " ".join(re.sub("<[^>]+>", " ", client.get(f"{HOME}/trained-models").text).split())
    assert re.search(r"trained on \d+ \w+ \d+ from \d+ orders, next on", models_text)
    assert len(walk.visited_paths) > 40


def test_money_is_the_same_every_time() -> None:
    for shop in SHOPS:
        rows = money.spend(shop, NOW)
        assert rows == money.spend(shop, NOW)
        assert len({row["currency"] for row in rows}) == 2
        known_rates = {(rate["date"], rate["base"]) for rate in money.rates(shop, NOW)}
        own_currency = shop.settings["currency"]
        priced_events = [event for event in journeys(shop, NOW).events if "currency" in event]
        assert bool(priced_events) == (shop.abroad is not None)
        foreign = {(row["date"], row["currency"]) for row in rows if row["currency"] != own_currency}
        foreign |= {(event["event_time"][:10], event["currency"]) for event in priced_events}
        assert foreign <= known_rates


def test_the_pretend_platforms() -> None:
    event = {"event_id": "sample-nordlicht-1-0"}

    def sent(token: str, *events: dict[str, str]) -> tuple[int, dict[str, Any]]:
        path = f"/v25.0/{PIXEL_ID}/events?access_token={token}"
        return answer(path, json.dumps({"data": events}).encode())

    assert sent(ACCESS_TOKEN, event) == (200, {"events_received": 1, "messages": []})
    assert sent("another", event)[1]["error"]["code"] == 190
    statuses = {sent(ACCESS_TOKEN, {"event_id": str(number)})[0] for number in range(100)}
    assert statuses == {200, 400}
    assert answer("/token", b"")[1]["error"] == "invalid_grant"
    assert answer("/elsewhere", b"")[0] == 404


def test_the_service_alone_is_told_of_them() -> None:
    """The fake platforms are on loopback, and only one process knows their addresses."""
    with PretendPlatforms() as platforms:
        settings = read_settings(platforms.environment())
        assert set(settings.platform_urls) == {"meta", "google", "meta_spend", "google_spend"}
        assert {urlsplit(url).hostname for url in settings.platform_urls.values()} == {"127.0.0.1"}
        assert not platforms.environment().keys() & os.environ.keys()


def test_journeys_are_the_same_every_time() -> None:
    for shop in SHOPS:
        sample_data = journeys(shop, NOW)
        assert sample_data == journeys(shop, NOW)
        events = sample_data.events
        keys = [event["idempotency_key"] for event in events]
        assert 0.01 < 1 - len(set(keys)) / len(keys) < 0.03  # some are sent twice
        assert any(event.get("amount", 0) < 0 for event in events)
        later_events = journeys(shop, NOW.replace(month=5)).events
        assert {event["idempotency_key"] for event in later_events} == set(keys)


def test_page_views_go_back_as_far_as_orders() -> None:
    for shop in SHOPS:
        visits = [*journeys(shop, NOW).visits, *passers_by(shop, NOW)][:: 1 if IS_LONG else 8]
        hits = make_hits(shop, visits, NOW)
        moments = [view.occurred_at for view in hits]
        assert moments == sorted(moments)
        assert moments[-1] < NOW.timestamp() * 1000
        views_by_week = Counter(int(moments[-1] - moment) // (7 * 86_400_000) for moment in moments)
        assert min(views_by_week[week] for week in range(DAYS // 7)) > 0.5 * len(hits) / (DAYS // 7)
        assert len({view.key for view in hits}) == len(hits) > len(visits)
        assert {view.device_type for view in hits} == {"desktop", "mobile"}
        assert hits == make_hits(shop, visits, NOW)


@pytest.mark.parametrize("days", [30, 90, 170])
def test_as_many_visits_convert_as_in_a_usual_shop(days: int) -> None:
    begin = written(NOW - timedelta(days=days))
    for shop in SHOPS:
        sample = journeys(shop, NOW)
        visits = sum(visit["occurred_at"] > begin for visit in [*sample.visits, *passers_by(shop, NOW)])
        orders = {
            event["idempotency_key"] for event in sample.events
            if event["event_name"] == "purchase" and event["amount"] > 0 and event["event_time"] > begin
        }  # fmt: skip
        assert 1 < 100 * len(orders) / visits < HIGHEST_RATE, shop.name


def test_two_periods_can_be_compared_and_today_has_something() -> None:
    for shop in SHOPS:
        event_times = [event["event_time"] for event in journeys(shop, NOW).events]
        middle = f"{NOW - timedelta(days=90):%Y-%m-%d}"
        older = sum(moment < middle for moment in event_times)
        assert 0.2 < older / len(event_times) < 0.6
        assert f"{NOW - timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}" < max(event_times)


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.slug)
def test_enough_orders_for_a_trained_model_at_every_hour(shop: Shop) -> None:
    """Too few end the command. A few orders get no touchpoint in the window, so more are needed."""
    for hour in range(24):
        now = NOW.astimezone(ZoneInfo(shop.settings["timezone"])).replace(hour=hour)
        today = now.replace(hour=0, minute=0)
        begin, end = written(today - timedelta(days=TRAINING_DAYS)), written(today)
        sample = journeys(shop, now)
        browsers = {visit["trk_token"] for visit in sample.visits}
        orders = {
            event["order_id"] for event in sample.events
            if event["event_name"] == "purchase" and event.get("trk_token") in browsers
            and begin <= event["event_time"] < end
        }  # fmt: skip
        assert len(orders) > 1.05 * FEWEST_CONVERSIONS, hour


def test_the_classifier_tells_where_visits_come_from() -> None:
    """No event names a source: the source of a visit is derived from its page and referrer."""
    rules: set[str] = set()
    for shop in SHOPS:
        sample_data = journeys(shop, NOW)
        assert not [event for event in sample_data.events if "trk_source" in event]
        for visit in sample_data.visits:
            explanation = explain(Landing(visit["url"], visit.get("referrer"), SourceParameters(None)))
            rules.add(explanation.outcome.rule if isinstance(explanation.outcome, Source) else "nothing")
    assert {"gclid", "utm_source_paid", "utm_source", "referrer", "other_site"} <= rules
