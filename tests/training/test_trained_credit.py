"""Credit by sources, in every answer that has credit: `markov` uses a trained model, `shapley_distinct` needs
none.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.support.exports import Exports
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.trained_models import plant_trained_model

DAY = timedelta(days=1)
PATH = ("google_ads", "email", "google_ads", "sms")
WEIGHTS = {"google_ads": 4, "email": 2, "facebook_ads": 4}
EXPECTED = {"google_ads": 66.67, "email": 33.33}
LACKING = (
    "The model markov needs a trained model: train one for {} on the page Attribution, with POST "
    "/trained-models or with headwater model train. It takes 300 conversions with a touchpoint."
)


@pytest.fixture
def event_id(stage: Stage) -> int:
    """A purchase of 100 after four touchpoints; the Space has another purchase, after no source with a
    weight.
    """
    contact_id, other_id = stage.contact(), stage.contact()
    for number, source in enumerate(PATH):
        stage.touchpoint(contact_id, source, occurred_at=NOON - (4 - number) * DAY)
    stage.touchpoint(other_id, "sms", occurred_at=NOON - DAY)
    stage.event(other_id, amount=7)
    return stage.event(contact_id, amount=100)


def add_model(stage: Stage, name: str = "May", **columns: Any) -> int:
    event_name, weights = columns.pop("event_name", "purchase"), columns.pop("weights", WEIGHTS)
    return plant_trained_model(stage.connection, stage.space_id, name, event_name, weights, **columns)


LIST = {"sources[]": ["google_ads", "email", "sms"], "attribution_model": "markov",
        "attribution_window": 30, "fields[]": ["source", "amount"]}  # fmt: skip
REPORT = {**RANGE, "measures[]": ["credited_revenue"], "group_by[]": "source",
          "attribution_model": "markov"}  # fmt: skip


def report(api: Api, **parameters: Any) -> dict[str, Any]:
    response = api.get("/reports", params={**REPORT, **parameters})
    assert response.status_code == 200, response.text
    return {name: value for name, value in response.json().items() if name != "snapshot"}


def sums_by_source(answer: dict[str, Any]) -> dict[str, float]:
    sums: dict[str, Decimal] = {}
    for source, amount in answer["rows"]:
        sums[source] = sums.get(source, Decimal()) + Decimal(str(amount))
    return {source: float(amount) for source, amount in sums.items()}


def test_it_works(api: Api, stage: Stage, event_id: int) -> None:
    """Every answer has the same credit, and cites the trained model."""
    trained_model_id = add_model(stage)
    citation = {
        "id": trained_model_id, "name": "May", "event_name": "purchase", "start_at": "2026-04-01T00:00:00Z",
        "end_at": "2026-05-01T00:00:00Z", "attribution_window": 30, "conversions": 300,
        "digest": "planted",
    }  # fmt: skip
    event_list = api.get("/events", params={**RANGE, **LIST}).json()
    assert [(row["source"], row["amount"]) for row in event_list["data"]] == [
        ("google_ads", 33.33), ("email", 33.33), ("google_ads", 33.34),
    ]  # fmt: skip
    answer = report(api)
    assert sums_by_source(answer) == EXPECTED
    assert answer["unattributed"]["credited_revenue"] == 7
    assert answer["unattributed"]["reasons"]["not_counted"]["credited_revenue"] == 7
    explanation = api.get(f"/events/{event_id}/attribution").json()
    (markov_result,) = (result for result in explanation["models"] if result["model"] == "markov")
    assert [credit["amount"] for credit in markov_result["credits"]] == [33.34, 33.33, 33.33]
    behind = api.get("/reports/credits", params={**RANGE, "attribution_model": "markov"}).json()
    spent = api.get("/reports/spend", params={**RANGE, "attribution_model": "markov"}).json()
    assert behind["totals"]["credited_revenue"] == spent["totals"]["credited_revenue"] == 100
    for reply in (event_list, answer, explanation, behind, spent):
        assert reply["trained_model"] == citation


def test_distinct_sources_need_no_training(api: Api, event_id: int) -> None:
    answer = report(api, attribution_model="shapley_distinct")
    assert sums_by_source(answer) == {"sms": 40.33, "google_ads": 33.34, "email": 33.33}
    assert answer["trained_model"] is None
    assert api.rows(**{**LIST, "attribution_model": "shapley_distinct"})
    assert api.get(f"/events/{event_id}/attribution").json()["trained_model"] is None


def test_a_named_model_before_the_current_one(api: Api, stage: Stage, event_id: int) -> None:
    """So an earlier answer can be reproduced, also next to other models."""
    add_model(stage)
    before = report(api)
    add_model(stage, "June", weights={"sms": 1, "email": 1})
    assert sums_by_source(report(api)) == {"sms": 57, "email": 50}
    assert report(api, trained_model="May") == before
    rows = api.get("/events", params={**RANGE, **LIST, "trained_model": "May"}).json()
    assert rows["trained_model"]["name"] == "May"
    assert len(rows["data"]) == 3
    several = report(
        api, **{"attribution_model": None, "attribution_models[]": ["markov", "linear"]}, trained_model="May"
    )
    assert {row[0]: row[1] for row in several["rows"] if row[1]} == EXPECTED
    explanation = api.get(f"/events/{event_id}/attribution", params={"trained_model": "June"}).json()
    (markov_result,) = (result for result in explanation["models"] if result["model"] == "markov")
    assert {credit["source"] for credit in markov_result["credits"]} == {"email", "sms"}


def test_the_current_model_belongs_to_the_events(api: Api, stage: Stage, event_id: int) -> None:
    add_model(stage, event_name="sign_up", weights={"sms": 1})
    assert report(api)["trained_model"]["event_name"] == "sign_up"
    add_model(stage, "bought")
    assert report(api, **{"event_names[]": "purchase"})["trained_model"]["name"] == "bought"
    assert api.get(f"/events/{event_id}/attribution").json()["trained_model"]["name"] == "bought"
    several = api.get("/reports", params=REPORT)
    assert several.status_code == 422
    rule = "There are current trained models for purchase and sign_up: choose one of them, or one event name."
    assert several.json()["errors"] == {"trained_model": [rule]}


@pytest.mark.parametrize("path", ["/reports", "/reports/credits", "/reports/spend", "/events"])
def test_bad_models_are_refused(api: Api, stage: Stage, path: str) -> None:
    parameters = {**RANGE, **(LIST if path == "/events" else {"attribution_model": "markov"})}

    def errors(**extra_parameters: Any) -> dict[str, list[str]]:
        response = api.get(path, params={**parameters, **extra_parameters})
        assert response.status_code == 422, response.text
        return response.json()["errors"]

    assert errors() == {"trained_model": [LACKING.format("any event")]}
    assert errors(**{"event_names[]": "purchase"}) == {"trained_model": [LACKING.format("purchase")]}
    assert errors(trained_model="May") == {"trained_model": ["There is no trained model of this name."]}
    add_model(stage)
    assert list(errors(trained_model="May", attribution_model="linear")) == ["trained_model"]
    assert list(errors(trained_model="x" * 101)) == ["trained_model"]


def test_an_event_without_a_trained_model(api: Api, event_id: int) -> None:
    explanation = api.get(f"/events/{event_id}/attribution").json()
    (markov_result,) = (result for result in explanation["models"] if result["model"] == "markov")
    assert (markov_result["unattributed_reason"], markov_result["credits"]) == ("not_trained", [])
    response = api.get(f"/events/{event_id}/attribution", params={"trained_model": "May"})
    assert response.json()["errors"] == {"trained_model": ["There is no trained model of this name."]}


def test_an_export_keeps_its_trained_model(exports: Exports, stage: Stage, event_id: int) -> None:
    parameters = {"date": f"{NOON.date()}", **{name.strip("[]"): value for name, value in LIST.items()}}
    assert exports.refusal(**parameters) == {"trained_model": [LACKING.format("any event")]}
    add_model(stage)
    export_id = exports.ask(**parameters)
    add_model(stage, "June", weights={"sms": 1})
    exports.work()
    lines = exports.lines(export_id)
    assert {line["id"] for line in lines} == {event_id}
    assert [line["amount"] for line in lines] == [33.33, 33.33, 33.34]


def test_trained_models_belong_to_a_space(api: Api, connection: psycopg.Connection) -> None:
    add_model(make_stage(connection))
    for parameters in (REPORT, {**REPORT, "trained_model": "May"}):
        assert list(api.get("/reports", params=parameters).json()["errors"]) == ["trained_model"]
