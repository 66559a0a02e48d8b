"""A Space's own source names: what its links call a source in utm_source."""

from __future__ import annotations

import psycopg
import pytest

from headwater.sources.catalogue import SOURCES
from headwater.sources.classify import classify
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.outcomes import Source
from headwater.sources.resolve import resolve
from headwater.sources.source_names import SourceNames
from tests.support.pipeline import Stage, event, hit, touch

PAGE = "https://shop.example/"
NAMES = SourceNames({
    "fb-paid": "facebook_ads", "letter.may": "email", "fb": "facebook_ads", "g brand": "google_ads",
})  # fmt: skip


def source(query: str, referrer: str | None = None, names: SourceNames = NAMES) -> Source:
    outcome = classify(Landing(f"{PAGE}?{query}", referrer), names=names)
    assert isinstance(outcome, Source)
    return outcome


def test_it_works() -> None:
    assert source("utm_source=fb-paid") == Source("facebook_ads", "own_utm_source", "fb-paid")
    assert source("utm_source=fb-paid", names=SourceNames({})).rule == "campaign"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("utm_source=%20FB-Paid%20", ("facebook_ads", "own_utm_source")),
        ("utm_source=g+brand&utm_medium=organic", ("google_ads", "own_utm_source")),
        # A Space's own name is exact, and wins over predefined names.
        ("utm_source=fb", ("facebook_ads", "own_utm_source")),
        ("utm_source=letter.may&utm_medium=sms", ("email", "own_utm_source")),
        ("utm_source=fb-paid&fbclid=1", ("facebook_ads", "own_utm_source")),
        # Predefined names keep their meaning.
        ("utm_source=klaviyo", ("email", "utm_source")),
        ("utm_source=fb-paid&trk_source=sms", ("sms", "trk_source")),
        # A click id counts as with any known name, unless the name belongs to another network.
        ("utm_source=g+brand&gclid=1", ("google_ads", "gclid")),
        ("utm_source=letter.may&gclid=1", ("email", "own_utm_source")),
    ],
)
def test_the_order_of_rules(query: str, expected: tuple[str, str]) -> None:
    outcome = source(query)
    assert (outcome.name, outcome.rule) == expected


def test_an_events_own_url() -> None:
    parameters, url = SourceParameters(type="cpc"), f"{PAGE}?utm_source=fb-paid"
    assert resolve(parameters, url, NAMES) == ("facebook_ads", "own_utm_source_paid")
    assert resolve(parameters, url) == ("paid_other", "paid_type")


def test_everything_that_arrives_goes_by_them(connection: psycopg.Connection, space_id: int) -> None:
    stage, url = Stage(connection, space_id), f"{PAGE}?utm_source=fb-paid"
    connection.execute(
        "INSERT INTO source_names (space_id, name, source) VALUES (%s, 'fb-paid', 'facebook_ads')",
        (space_id,),
    )
    stage.run(
        hit(url=url, trk_token="one"),
        touch(url=url, source=None, email="two@b.org"),
        event(url=url, email="three@b.org", trk_source=None, trk_type="cpc"),
    )
    number = SOURCES.index("facebook_ads") + 1
    rules = ["own_utm_source", "own_utm_source", "own_utm_source_paid"]
    expected = [(number, rule) for rule in rules]
    assert stage.rows("touchpoints", "source_id", "source_rule") == expected
    connection.execute("DELETE FROM source_names WHERE space_id = %s", (space_id,))
    stage.run(hit(url=url, trk_token="four"))
    assert stage.values("touchpoints", "source_rule").count("campaign") == 1
