"""The ad and page details of touchpoints are stored once per Space, under small numbers."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from headwater.database.jobs.connection import connect
from headwater.events.touchpoints.tag_sets import hash_tag_set, read_landing_page
from headwater.intake.pipeline import batch_runner
from headwater.sources.outcomes import Ad
from tests.support.pipeline import T0, Stage, event, hit, new_stage, touch

MINUTE = 60_000
COLUMNS = (*Ad.__struct_fields__, "landing_page")
SHOES = {"email": "ada@example.com", "trk_source": "google_ads", "trk_campaign": "12",
         "trk_keyword": "shoe", "url": "https://shop.example/shoes?gclid=1#top"}  # fmt: skip


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    with connect(database_url) as connection:
        yield new_stage(connection)


def stored_tag_sets(stage: Stage) -> dict[int, dict[str, str]]:
    """Return the tag sets by number, with their non-empty values."""
    return {
        row[0]: {name: value for name, value in zip(COLUMNS, row[1:], strict=True) if value}
        for row in stage.rows("tag_sets", "id", *COLUMNS)
    }


def test_it_works(stage: Stage) -> None:
    """Events, sent touchpoints and page views share tag sets."""
    event_id, later, direct, page_view = stage.run(
        event(**SHOES),
        event(**SHOES, event_time=T0 + 40 * MINUTE),
        touch(email="ben@example.com", source="direct"),
        hit(trk_token="t1", url="https://shop.example/shoes?utm_source=sms&utm_campaign=12"),
    )
    shoes = {"campaign_id": "12", "keyword": "shoe", "landing_page": "https://shop.example/shoes"}
    tag_set = {"campaign_id": "12", "landing_page": "https://shop.example/shoes"}
    numbers = dict(stage.rows("touchpoints", "id", "tag_set_id"))
    sets = stored_tag_sets(stage)
    assert sorted(sets) == [1, 2]
    assert numbers[event_id] == numbers[later]
    assert sets[numbers[event_id]] == shoes
    assert sets[numbers[page_view]] == tag_set
    assert numbers[direct] == 0


def test_a_set_keeps_its_number_in_later_batches(stage: Stage) -> None:
    stage.run(event(**SHOES))
    before = stage.rows("tag_sets", "id", "digest")
    stage.run(
        event(**SHOES, event_time=T0 + 40 * MINUTE),
        event(**{**SHOES, "trk_keyword": "boot"}, event_time=T0 + 80 * MINUTE),
    )
    stage.run(event(**SHOES, event_time=T0 + 120 * MINUTE))
    assert stage.rows("tag_sets", "id", "digest")[:1] == before
    assert stage.values("tag_sets", "id") == [1, 2]
    assert stage.values("touchpoints", "tag_set_id") == [1, 1, 1, 2]


def test_every_space_has_its_own(stage: Stage) -> None:
    other_stage = new_stage(stage.connection)
    stage.run(event(**SHOES))
    other_stage.run(event(**{**SHOES, "trk_keyword": "boot"}), event(**SHOES))
    assert stage.values("tag_sets", "id") == [1]
    assert other_stage.values("tag_sets", "id") == [1, 2]


def test_nothing_is_left_of_a_batch_that_fails(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its numbers are assigned when the batch is processed again, in any order."""
    boots = event(**{**SHOES, "trk_keyword": "boot"})
    with monkeypatch.context() as patch:
        patch.setattr(batch_runner, "empty_inbox", fail)
        stage.put(event(**SHOES), boots)
        with pytest.raises(ZeroDivisionError):
            batch_runner.run_batch(stage.connection, stage.space_id)
    assert stage.values("tag_sets", "id") == []
    stage.process(limit=1)
    assert [tags["keyword"] for tags in stored_tag_sets(stage).values()] == ["shoe", "boot"]
    assert stage.values("touchpoints", "tag_set_id") == [1, 2]


def fail(*_: object) -> None:
    raise ZeroDivisionError


def test_workers_take_turns(stage: Stage, database_url: str) -> None:
    """A worker with outdated knowledge of the stored tag sets never assigns a number twice."""
    with connect(database_url) as second:
        second_stage = Stage(second, stage.space_id)
        for number, worker in enumerate((stage, second_stage, stage, second_stage)):
            worker.run(touch(email="ada@example.com", campaign_id=str(number // 2),
                             occurred_at=T0 + number * 40 * MINUTE))  # fmt: skip
    rows = stage.rows("touchpoints", "occurred_at", "campaign_id", "tag_set_id")
    assert [row[1:] for row in rows] == [("0", 1), ("0", 1), ("1", 2), ("1", 2)]


@pytest.mark.parametrize(
    ("url", "page"),
    [
        (None, None),
        ("?a=1", None),
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/a/?b#c", "https://shop.example/a/"),
        ("https://shop.example/a/#c?b", "https://shop.example/a/"),
        ("https://shop.example/" + "ä" * 3000, "https://shop.example/" + "ä" * 2027),
    ],
)
def test_a_landing_page_is_a_url_without_query_and_fragment(url: str | None, page: str | None) -> None:
    assert read_landing_page(url) == page


def test_digests_tell_values_apart_wherever_they_stand() -> None:
    ads = [Ad(), Ad(ad_id=""), Ad(ad_id="1"), Ad(ad_name="1"), Ad(ad_id="1", ad_name="1"),
           Ad(ad_id="-1:1"), Ad(ad_id="-", ad_name="1")]  # fmt: skip
    digests = {hash_tag_set(ad, page) for ad in ads for page in (None, "", "1")}
    assert len(digests) == 3 * len(ads)


def test_digests_are_those_of_earlier_versions() -> None:
    ad = Ad(*[f"{name} ä" for name in Ad.__struct_fields__])
    assert msgspec.structs.asdict(ad)["keyword"] == "keyword ä"
    assert hash_tag_set(ad, "https://shop.example/") == "03d6ae8eaf6a8266f0e6964f1d2141e8"
