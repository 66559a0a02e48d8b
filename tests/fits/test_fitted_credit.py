"""Credit by sources, in every answer that has credit: `markov` by a fit, `shapley_distinct` without
one.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.support.exports import Exports
from tests.support.factories import NOON, Stage, make_stage
from tests.support.fits import plant_fit
from tests.support.reading_fixtures import RANGE, Api

DAY = timedelta(days=1)
PATH = ("google_ads", "email", "google_ads", "sms")
WEIGHTS = {"google_ads": 4, "email": 2, "facebook_ads": 4}
EXPECTED = {"google_ads": 66.67, "email": 33.33}
LACKING = (
    "The model markov needs a fit: make one of {} first, on the page Fits, by POST /fits or by"
    " headwater fit make. It takes 300 conversions with a touchpoint."
)


@pytest.fixture
def event_id(stage: Stage) -> int:
    """A purchase of 100 after four touchpoints, and one that no source with a weight led to."""
    contact_id, other = stage.contact(), stage.contact()
    for number, source in enumerate(PATH):
        stage.touchpoint(contact_id, source, occurred_at=NOON - (4 - number) * DAY)
    stage.touchpoint(other, "sms", occurred_at=NOON - DAY)
    stage.event(other, amount=7)
    return stage.event(contact_id, amount=100)


def fitted(stage: Stage, name: str = "May", **more: Any) -> int:
    event_name, weights = more.pop("event_name", "purchase"), more.pop("weights", WEIGHTS)
    return plant_fit(stage.connection, stage.space_id, name, event_name, weights, **more)


LIST = {"sources[]": ["google_ads", "email", "sms"], "attribution_model": "markov",
        "attribution_window": 30, "fields[]": ["source", "amount"]}  # fmt: skip
REPORT = {**RANGE, "measures[]": ["credited_revenue"], "group_by[]": "source",
          "attribution_model": "markov"}  # fmt: skip


def report(api: Api, **more: Any) -> dict[str, Any]:
    response = api.get("/reports", params={**REPORT, **more})
    assert response.status_code == 200, response.text
    return {name: value for name, value in response.json().items() if name != "snapshot"}


def by_source(answer: dict[str, Any]) -> dict[str, float]:
    sums: dict[str, Decimal] = {}
    for source, amount in answer["rows"]:
        sums[source] = sums.get(source, Decimal()) + Decimal(str(amount))
    return {source: float(amount) for source, amount in sums.items()}


def test_it_works(api: Api, stage: Stage, event_id: int) -> None:
    """Every answer has the same credit, and cites the fit."""
    fit_id = fitted(stage)
    cited = {
        "id": fit_id, "name": "May", "event_name": "purchase", "start_at": "2026-04-01T00:00:00Z",
        "end_at": "2026-05-01T00:00:00Z", "attribution_window": 30, "conversions": 300,
        "digest": "planted",
    }  # fmt: skip
    listed = api.get("/events", params={**RANGE, **LIST}).json()
    assert [(row["source"], row["amount"]) for row in listed["data"]] == [
        ("google_ads", 33.33), ("email", 33.33), ("google_ads", 33.34),
    ]  # fmt: skip
    answer = report(api)
    assert by_source(answer) == EXPECTED
    assert answer["unattributed"]["credited_revenue"] == 7
    assert answer["unattributed"]["reasons"]["not_counted"]["credited_revenue"] == 7
    explained = api.get(f"/events/{event_id}/attribution").json()
    (of_model,) = (each for each in explained["models"] if each["model"] == "markov")
    assert [credit["amount"] for credit in of_model["credits"]] == [33.34, 33.33, 33.33]
    behind = api.get("/reports/credits", params={**RANGE, "attribution_model": "markov"}).json()
    spent = api.get("/reports/spend", params={**RANGE, "attribution_model": "markov"}).json()
    assert behind["totals"]["credited_revenue"] == spent["totals"]["credited_revenue"] == 100
    for each in (listed, answer, explained, behind, spent):
        assert each["fit"] == cited


def test_distinct_sources_need_no_fit(api: Api, event_id: int) -> None:
    answer = report(api, attribution_model="shapley_distinct")
    assert by_source(answer) == {"sms": 40.33, "google_ads": 33.34, "email": 33.33}
    assert answer["fit"] is None
    assert api.rows(**{**LIST, "attribution_model": "shapley_distinct"})
    assert api.get(f"/events/{event_id}/attribution").json()["fit"] is None


def test_a_named_fit_before_the_current_one(api: Api, stage: Stage, event_id: int) -> None:
    """So that what was answered by one can be had again, also beside other models."""
    fitted(stage)
    before = report(api)
    fitted(stage, "June", weights={"sms": 1, "email": 1})
    assert by_source(report(api)) == {"sms": 57, "email": 50}
    assert report(api, fit="May") == before
    rows = api.get("/events", params={**RANGE, **LIST, "fit": "May"}).json()
    assert rows["fit"]["name"] == "May"
    assert len(rows["data"]) == 3
    several = report(
        api, **{"attribution_model": None, "attribution_models[]": ["markov", "linear"]}, fit="May"
    )
    assert {row[0]: row[1] for row in several["rows"] if row[1]} == EXPECTED
    explained = api.get(f"/events/{event_id}/attribution", params={"fit": "June"}).json()
    (of_model,) = (each for each in explained["models"] if each["model"] == "markov")
    assert {credit["source"] for credit in of_model["credits"]} == {"email", "sms"}


def test_the_current_fit_is_of_the_events(api: Api, stage: Stage, event_id: int) -> None:
    fitted(stage, event_name="sign_up", weights={"sms": 1})
    assert report(api)["fit"]["event_name"] == "sign_up"
    fitted(stage, "bought")
    assert report(api, **{"event_names[]": "purchase"})["fit"]["name"] == "bought"
    assert api.get(f"/events/{event_id}/attribution").json()["fit"]["name"] == "bought"
    several = api.get("/reports", params=REPORT)
    assert several.status_code == 422
    rule = "There are current fits of purchase and sign_up: name one of them, or one event name."
    assert several.json()["errors"] == {"fit": [rule]}


@pytest.mark.parametrize("path", ["/reports", "/reports/credits", "/reports/spend", "/events"])
def test_what_is_refused(api: Api, stage: Stage, path: str) -> None:
    asked = {**RANGE, **(LIST if path == "/events" else {"attribution_model": "markov"})}

    def errors(**more: Any) -> dict[str, list[str]]:
        response = api.get(path, params={**asked, **more})
        assert response.status_code == 422, response.text
        return response.json()["errors"]

    assert errors() == {"fit": [LACKING.format("any event")]}
    assert errors(**{"event_names[]": "purchase"}) == {"fit": [LACKING.format("purchase")]}
    assert errors(fit="May") == {"fit": ["There is no fit by this name."]}
    fitted(stage)
    assert list(errors(fit="May", attribution_model="linear")) == ["fit"]
    assert list(errors(fit="x" * 101)) == ["fit"]


def test_an_event_without_a_fit(api: Api, event_id: int) -> None:
    explained = api.get(f"/events/{event_id}/attribution").json()
    (of_model,) = (each for each in explained["models"] if each["model"] == "markov")
    assert (of_model["unattributed_reason"], of_model["credits"]) == ("not_fitted", [])
    named = api.get(f"/events/{event_id}/attribution", params={"fit": "May"})
    assert named.json()["errors"] == {"fit": ["There is no fit by this name."]}


def test_an_export_keeps_the_fit_it_was_asked_for_with(exports: Exports, stage: Stage, event_id: int) -> None:
    asked = {"date": f"{NOON.date()}", **{name.strip("[]"): each for name, each in LIST.items()}}
    assert exports.refused(**asked) == {"fit": [LACKING.format("any event")]}
    fitted(stage)
    export_id = exports.ask(**asked)
    fitted(stage, "June", weights={"sms": 1})
    exports.work()
    lines = exports.lines(export_id)
    assert {line["id"] for line in lines} == {event_id}
    assert [line["amount"] for line in lines] == [33.33, 33.33, 33.34]


def test_fits_are_of_a_space(api: Api, connection: psycopg.Connection) -> None:
    fitted(make_stage(connection))
    for asked in (REPORT, {**REPORT, "fit": "May"}):
        assert list(api.get("/reports", params=asked).json()["errors"]) == ["fit"]
