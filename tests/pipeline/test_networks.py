"""A Space's own paid networks, in new data and in data processed earlier."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from headwater.http.errors import Invalid, NotFound
from headwater.intake.pipeline.reclassification import reclassify_next
from headwater.sources.catalogue import SOURCE_IDS, source_bit
from headwater.sources.networks import FIRST_NUMBER, NUMBERS
from headwater.spaces.networks import MAX_NETWORKS, fetch_sources, put_network, read_network, remove_network
from tests.support.pipeline import T0, Stage, event, hit, new_stage, touch

PAGE = "https://shop.example/"
LINK = f"{PAGE}?utm_source=taboola&utm_medium=cpc&utm_campaign=spring"
OTHER = SOURCE_IDS["paid_other"]
STEMS = [f"network{letter}" for letter in "abcdefghijklmnopqrstuvwx"]

Change = Callable[..., None]


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def run(database_url: str) -> Callable[[Callable[[psycopg.AsyncConnection], Any]], Any]:
    def run(work: Callable[[psycopg.AsyncConnection], Any]) -> Any:
        async def main() -> Any:
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                return await work(connection)

        return asyncio.run(main())

    return run


@pytest.fixture
def add_network(run: Callable[..., Any]) -> Change:
    def add_network(stage: Stage, name: str, *spellings: str, platform: str | None = None) -> None:
        network = read_network({"name": name, "spellings": [*spellings], "platform": platform})
        run(lambda connection: put_network(connection, stage.space_id, network))

    return add_network


@pytest.fixture
def remove(run: Callable[..., Any]) -> Change:
    def remove(stage: Stage, name: str) -> None:
        run(lambda connection: remove_network(connection, stage.space_id, name))

    return remove


def reclassify(stage: Stage) -> None:
    while reclassify_next(stage.connection, stage.space_id, 2000):
        pass


def sources(stage: Stage) -> list[int]:
    return [row[0] for row in stage.rows("touchpoints", "source_id")]


def send(stage: Stage, link: str = LINK) -> None:
    """Send a link by every route that accepts links."""
    stage.run(
        hit(url=link, trk_token="one"),
        touch(url=link, source=None, email="two@b.org"),
        event(url=link, email="three@b.org", trk_type="cpc"),
        event(email="one@b.org", trk_token="one", event_time=T0 + 1),
    )


def test_it_works(stage: Stage, add_network: Change, remove: Change) -> None:
    send(stage)
    assert sources(stage) == [OTHER] * 3
    add_network(stage, "taboola_ads")
    reclassify(stage)
    assert sources(stage) == [FIRST_NUMBER] * 3
    assert stage.rows("hits", "source_id", "touch->>'rule'") == [(FIRST_NUMBER, "own_network_paid")]
    source_mask = source_bit(FIRST_NUMBER)
    assert all(mask & source_mask for mask in stage.values("contacts", "source_mask"))
    send(stage, LINK.replace("spring", "summer"))
    assert set(sources(stage)) == {FIRST_NUMBER}
    remove(stage, "taboola_ads")
    reclassify(stage)
    assert set(sources(stage)) == {OTHER}
    add_network(stage, "taboola_ads")
    reclassify(stage)
    assert set(sources(stage)) == {FIRST_NUMBER}, "it has its number again"


def test_the_past_is_what_it_would_have_been(connection: psycopg.Connection, add_network: Change) -> None:
    """Two dozen networks, added before or after their links were received, give the same sources."""
    early, late = new_stage(connection), new_stage(connection)
    links = [
        f"{PAGE}?{query.format(stem)}"
        for stem in STEMS
        for query in (
            "utm_source={}&utm_medium=cpc", "utm_source={}", "utm_source={}-ads",
            "trk_source={}&trk_type=paid", "utm_source={}.example&utm_medium=display",
        )
    ]  # fmt: skip
    for stem in STEMS:
        add_network(early, f"{stem}_ads", f"{stem}.example")
    for stage in (early, late):
        stage.run(
            *[
                item
                for index, link in enumerate(links)
                for item in (
                    hit(url=link, trk_token=f"{index}"),
                    event(url=link, email=f"{index}@b.org", trk_type="cpc"),
                )
            ]
        )
    for stem in STEMS:
        add_network(late, f"{stem}_ads", f"{stem}.example")
    reclassify(late)
    columns = ("source_id", "source_rule")
    assert late.rows("touchpoints", *columns) == early.rows("touchpoints", *columns)
    assert late.rows("hits", *columns[:1]) == early.rows("hits", *columns[:1])
    assert len(set(sources(early)) - {*SOURCE_IDS.values()}) == len(STEMS)


def test_what_was_declared_beside_a_link_is_turned_back(
    stage: Stage, add_network: Change, remove: Change
) -> None:
    add_network(stage, "taboola_ads", "tbl")
    named_event, paid_event, sent_touchpoint, unpaid_event = stage.run(
        event(email="a@b.org", trk_source="taboola_ads"),
        event(email="b@b.org", trk_source="TBL", trk_type="cpc"),
        touch(source="taboola_ads", email="c@b.org"),
        event(email="d@b.org", trk_source="tbl"),
    )
    sources = dict(stage.rows("touchpoints", "id", "source_id"))
    assert [sources[touchpoint] for touchpoint in (named_event, paid_event, sent_touchpoint)] == [
        FIRST_NUMBER
    ] * 3
    assert sources[unpaid_event] == SOURCE_IDS["referral"], "nothing says paid"
    add_network(stage, "criteo_ads")
    reclassify(stage)
    assert dict(stage.rows("touchpoints", "id", "source_id")) == sources, "of no concern to others"
    remove(stage, "taboola_ads")
    reclassify(stage)
    sources = dict(stage.rows("touchpoints", "id", "source_id"))
    assert FIRST_NUMBER not in sources.values()
    assert sources[paid_event] == OTHER, "it was paid for"


def test_another_spelling(stage: Stage, add_network: Change) -> None:
    send(stage, LINK.replace("=taboola", "=tbl"))
    add_network(stage, "taboola_ads", "tbl")
    reclassify(stage)
    assert sources(stage) == [FIRST_NUMBER] * 3
    add_network(stage, "taboola_ads", "tab")
    reclassify(stage)
    assert sources(stage) == [OTHER] * 3


def test_the_same_number_means_another_network_in_another_space(
    connection: psycopg.Connection, add_network: Change, run: Callable[..., Any]
) -> None:
    first, second = new_stage(connection), new_stage(connection)
    add_network(first, "taboola_ads")
    add_network(second, "criteo_ads")
    send(first)
    send(second)
    assert sources(first) == [FIRST_NUMBER] * 3
    assert sources(second) == [OTHER] * 3
    names = [
        run(lambda connection, stage=stage: fetch_sources(connection, stage.space_id))
        for stage in (first, second)
    ]
    assert [space_names.get_name(FIRST_NUMBER) for space_names in names] == ["taboola_ads", "criteo_ads"]


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"name": name}, "name", "_ads")
        for name in (
            "", "taboola", "Taboola_ads", "taboola ads", "_ads", "a__b_ads", "tabóola_ads",
            "x" * 61 + "_ads", "taboola-ads", "taboola_ads_", 'tab"oola_ads', "taboola_ADS",
        )
    ]
    + [
        ({"name": "google_ads"}, "name", "google_ads"),
        ({"name": "fb_ads"}, "name", "facebook_ads"),
        ({"name": "tt_new_ads", "spellings": ["tiktok"]}, "spellings", "tiktok"),
        ({"name": "a_new_ads", "spellings": ["google.com"]}, "spellings", "google"),
        ({"name": "a_new_ads", "spellings": ["our-name"]}, "spellings", "email"),
        ({"name": "a_new_ads", "spellings": ["Cri-Teo"]}, "spellings", "criteo_ads"),
        ({"name": "cri_teo_ads"}, "name", "criteo_ads"),
        ({"name": "a_new_ads", "spellings": ["?!"]}, "spellings.0", "letter"),
        ({"name": "a_new_ads", "spellings": ["x"] * 21}, "spellings", "20"),
        ({"name": "a_new_ads", "platform": "Meta"}, "platform", "facebook_ads"),
        ({"name": "a_new_ads", "platform": "google"}, "platform", "google_ads"),
        ({"name": "a_new_ads", "platform": "criteo"}, "platform", "criteo_ads"),
        ({}, "name", "required"),
    ],
)  # fmt: skip
def test_bad_networks_are_refused(
    stage: Stage, add_network: Change, run: Callable[..., Any], values: dict[str, Any], field: str,
    message: str,
) -> None:  # fmt: skip
    add_network(stage, "criteo_ads")
    stage.connection.execute(
        "INSERT INTO source_names (space_id, name, source) VALUES (%s, 'our-name', 'email')",
        (stage.space_id,),
    )
    with pytest.raises(Invalid) as error_info:
        run(lambda connection: put_network(connection, stage.space_id, read_network(values)))
    assert field in error_info.value.errors
    assert message in " ".join(error_info.value.errors[field])


@pytest.mark.parametrize(
    "host", ["taboola.com", "criteo.com", "criteo.net", "adform.net", "adroll.com", "teads.tv"]
)
def test_hosts_of_ad_servers_are_free_to_be_named(stage: Stage, add_network: Change, host: str) -> None:
    """Hosts of ad servers are only listed as PAID_OTHER, the source for networks without their own."""
    add_network(stage, "server_ads", host)
    send(stage, f"{PAGE}?utm_source={host}&utm_medium=cpc")
    assert set(sources(stage)) == {FIRST_NUMBER}


def test_the_limits(stage: Stage, add_network: Change, remove: Change) -> None:
    stage.connection.execute(
        "INSERT INTO paid_networks (space_id, number, name, spellings, platform)"
        " SELECT %s, 64 + n, 'n' || n || '_ads', '{}', 'n' || n FROM generate_series(0, %s) n",
        (stage.space_id, MAX_NETWORKS - 1),
    )
    with pytest.raises(Invalid):
        add_network(stage, "one_more_ads")
    remove(stage, "n0_ads")
    add_network(stage, "one_more_ads")
    with pytest.raises(Invalid):
        add_network(stage, "n0_ads")
    with pytest.raises(NotFound):
        remove(stage, "n0_ads")
    with pytest.raises(NotFound):
        remove(stage, "google_ads")


def test_a_number_is_never_given_to_another(stage: Stage, add_network: Change) -> None:
    stage.connection.execute(
        "INSERT INTO paid_networks (space_id, number, name, spellings, platform, removed_at)"
        " SELECT %s, number, 'old' || number || '_ads', '{}', 'p' || number, now()"
        " FROM generate_series(%s::int, %s::int) number",
        (stage.space_id, NUMBERS[0], NUMBERS[-2]),
    )
    add_network(stage, "last_ads")
    with pytest.raises(Invalid) as error_info:
        add_network(stage, "beyond_ads")
    assert str(len(NUMBERS)) in error_info.value.errors["name"][0]
    add_network(stage, "old64_ads")
    assert stage.rows("paid_networks", "number", "name")[0] == (64, "old64_ads")
