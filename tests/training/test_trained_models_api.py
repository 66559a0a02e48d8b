"""`/trained-models`: created, listed, shown with their weights, and selected."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models import store
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.trained_models import plant_trained_model

DAY = timedelta(days=1)
MAY = {"name": "May", "event_name": "purchase", "start_date": "2026-05-01",
       "end_date": "2026-05-31"}  # fmt: skip
PATHS = (("google_ads", "email"), ("email",), ("google_ads", "google_ads", "direct"))


BUYERS = 30


@pytest.fixture
def buyers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A Space with just enough buyers for a training run, on three paths, and some lost visitors."""
    monkeypatch.setattr(store, "FEWEST_CONVERSIONS", BUYERS)
    for number in range(BUYERS):
        contact_id = stage.contact()
        for age, source in enumerate(reversed(PATHS[number % len(PATHS)])):
            stage.touchpoint(contact_id, source, occurred_at=NOON - age * DAY)
        stage.event(contact_id, amount=Decimal("33.33"))
    for _ in range(20):
        stage.touchpoint(stage.contact(), "google_ads", occurred_at=NOON)
    return stage


def make(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.send("POST", "/trained-models", json={**MAY, **fields})
    assert response.status_code == 201, response.text
    return response.json()


def errors(api: Api, **body: Any) -> dict[str, list[str]]:
    response = api.send("POST", "/trained-models", json=body)
    assert response.status_code == 422, response.text
    return response.json()["errors"]


@pytest.mark.usefixtures("buyers")
def test_it_works(api: Api) -> None:
    trained_model = make(api)
    assert (trained_model["conversions"], trained_model["lost"], trained_model["current"]) == (
        BUYERS,
        20,
        True,
    )
    assert (trained_model["start_at"], trained_model["attribution_window"]) == ("2026-05-01T00:00:00Z", 30)
    for model in ("markov", "shapley_distinct"):
        weights = [entry for entry in trained_model["weights"] if entry["model"] == model]
        assert sum(entry["weight"] for entry in weights) == pytest.approx(1)
        assert all(entry["low"] <= entry["weight"] <= entry["high"] for entry in weights)
    summary = {name: value for name, value in trained_model.items() if name != "weights"}
    assert api.get("/trained-models").json() == {"data": [summary]}
    assert api.get(f"/trained-models/{trained_model['id']}").json() == trained_model


def test_a_report_over_a_models_events_has_its_shapley_values(api: Api, buyers: Stage) -> None:
    """Splitting each conversion equally among its distinct sources gives exactly the Shapley value. Refunds
    and upsells are conversions for neither.
    """
    for columns in ({"amount": -10}, {"amount": 10, "is_upsell": True}, {"amount": None}):
        contact_id = buyers.contact()
        buyers.touchpoint(contact_id, "email", occurred_at=NOON - DAY)
        buyers.event(contact_id, **columns)
    trained_model = make(api)
    assert (trained_model["conversions"], trained_model["lost"]) == (BUYERS + 1, 20 + 2)
    values = {
        entry["source"]: entry["weight"] * trained_model["conversions"]
        for entry in trained_model["weights"]
        if entry["model"] == "shapley_distinct"
    }
    report = api.get("/reports", params={
        **RANGE, "measures[]": "credited_conversions", "attribution_model": "shapley_distinct",
    }).json()  # fmt: skip
    assert dict(report["rows"]) == {
        source: pytest.approx(value, abs=1e-4) for source, value in values.items()
    }


@pytest.mark.usefixtures("buyers")
def test_another_is_chosen(api: Api) -> None:
    """The first is current until another is selected."""
    first, second = make(api), make(api, name="narrow", attribution_window=1)
    assert (first["current"], second["current"]) == (True, False)
    assert credited_model(api) == "May"
    response = api.send("POST", f"/trained-models/{second['id']}/choose")
    assert (response.status_code, response.json()["current"]) == (200, True)
    assert credited_model(api) == "narrow"
    third = make(api, name="wide", attribution_window=0, current=True)
    assert [trained_model["current"] for trained_model in api.get("/trained-models").json()["data"]] == [
        True,
        False,
        False,
    ]
    assert credited_model(api) == third["name"]


def credited_model(api: Api) -> str:
    parameters = {**RANGE, "measures[]": "credited_revenue", "attribution_model": "markov"}
    return api.get("/reports", params=parameters).json()["trained_model"]["name"]


def test_a_model_stays_when_too_few_conversions_are_left(api: Api, buyers: Stage) -> None:
    """A model trained on just enough conversions is still used and cited after one was deleted; another
    training run is refused.
    """
    trained_model = make(api)
    parameters = {**RANGE, "measures[]": "credited_revenue", "attribution_model": "markov"}
    before = api.get("/reports", params=parameters).json()
    [event_id] = buyers.connection.execute(
        "SELECT min(id) FROM events WHERE space_id = %s", (buyers.space_id,)
    ).fetchone() or (0,)
    assert api.send("DELETE", f"/events/{event_id}").status_code in (200, 204)
    [few] = errors(api, **{**MAY, "name": "June"})["event_name"]
    assert few == (
        f"purchase has {BUYERS - 1} conversions with a touchpoint in this time and window; training"
        f" needs {BUYERS}."
    )
    assert api.get(f"/trained-models/{trained_model['id']}").json() == trained_model
    for more in ({}, {"trained_model": "May"}):
        after = api.get("/reports", params={**parameters, **more}).json()
        assert after["trained_model"] == before["trained_model"]
        assert after["trained_model"]["digest"] == trained_model["digest"]
    # A longer period has enough conversions again. Reports that cite the earlier model still have its
    # weights.
    buyers.event(buyers.contact(), amount=1)
    late = buyers.contact()
    buyers.touchpoint(late, "direct", occurred_at=NOON)
    buyers.event(late, amount=Decimal("33.33"))
    assert make(api, name="June", current=True)["digest"] != trained_model["digest"]
    assert (
        api.get("/reports", params={**parameters, "trained_model": "May"}).json()["trained_model"]
        == before["trained_model"]
    )
    assert api.get(f"/trained-models/{trained_model['id']}").json() == {**trained_model, "current": False}


def test_bad_requests_are_refused(api: Api) -> None:
    assert set(errors(api)) == {"name", "event_name", "start_date", "end_date"}
    [few] = errors(api, **MAY)["event_name"]
    assert few.startswith("purchase has 0 conversions with a touchpoint in this time and window;")
    assert few.endswith(f"training needs {FEWEST_CONVERSIONS}.")
    assert set(errors(api, **{**MAY, "end_date": "2026-04-30"})) == {"end_date"}
    wrong = {"name": " ", "event_name": "", "start_date": "May", "end_date": "2026-02-30",
             "attribution_window": 31, "current": "maybe"}  # fmt: skip
    assert set(errors(api, **wrong)) == set(wrong)
    for method, path in (("GET", "/trained-models/1"), ("POST", "/trained-models/1/choose")):
        assert api.send(method, path).status_code == 404


def test_a_name_is_taken_once(api: Api, buyers: Stage) -> None:
    plant_trained_model(buyers.connection, buyers.space_id, "May", "sign_up", {"email": 1})
    assert errors(api, **MAY) == {"name": ["There is already a trained model named May."]}


def test_another_space_has_its_own(api: Api, connection: psycopg.Connection) -> None:
    other_stage = make_stage(connection)
    trained_model_id = plant_trained_model(connection, other_stage.space_id, "May", "purchase", {"email": 1})
    assert api.get("/trained-models").json() == {"data": []}
    for method, path in (
        ("GET", f"/trained-models/{trained_model_id}"),
        ("POST", f"/trained-models/{trained_model_id}/choose"),
    ):
        assert api.send(method, path).status_code == 404
