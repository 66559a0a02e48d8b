"""A Space's own paid networks act like listed paid sources: the same story with either gets the same answers,
under other names.
"""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import httpx
import psycopg
import pytest

from headwater.attribution.models import MODELS
from headwater.reports.engine.path_dimensions import MOST_MORE, StepNames, TouchPath, name_steps
from headwater.reports.query import Group
from headwater.sources.catalogue import SOURCES
from headwater.sources.networks import NUMBERS, PaidNetwork
from headwater.sources.source_names import make_source_names
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api

LISTED = sorted(source for source in SOURCES if source.endswith("_ads"))
OTHERS = ("email", "direct", "google_organic", "referral")
OWN = [f"network_{number:02}_ads" for number in range(24)]
PLAIN_MODELS = [model for model in MODELS if model != "markov"]


def store_story(stage: Stage, paid: list[str], story: int) -> None:
    """Store people who come through some of the sources and buy."""
    dice = Random(story)
    for _ in range(40):
        contact = stage.contact()
        for _ in range(dice.randint(1, 6)):
            touch_time = NOON - timedelta(hours=dice.randint(1, 900))
            source = dice.choice([*paid, *OTHERS, *OTHERS])
            stage.touchpoint(
                contact, source, occurred_at=touch_time, campaign_name=dice.choice(("Spring", "Summer"))
            )
        for _ in range(dice.randint(0, 2)):
            stage.event(contact, amount=Decimal(dice.randint(1, 9999)) / 100)


@pytest.fixture
def two_clients(client: httpx.Client, connection: psycopg.Connection) -> tuple[Api, Api, list[str]]:
    """The same story with listed sources, and with networks whose names sort in the same order."""
    names = dict(zip(LISTED, OWN, strict=False))
    apis: list[Api] = []
    for paid in (LISTED, list(names.values())):
        stage = make_stage(connection)
        for name in OWN:
            stage.network(name)
        store_story(stage, paid, 1)
        apis.append(Api(client, stage.key))
    return apis[0], apis[1], LISTED


def fetch_answer(api: Api, path: str, *, has_networks: bool, **parameters: Any) -> Any:
    """Return an answer without ids, with the listed names instead of the networks', and rows in one order."""
    response = api.get(path, params={**RANGE, **parameters})
    assert response.status_code == 200, response.text
    text = response.text
    for listed_name, name in zip(LISTED, OWN, strict=False):
        text = text.replace(name, listed_name) if has_networks else text
    answer = json.loads(text, object_hook=strip_spend)
    answer.pop("snapshot", None)
    return in_one_order(answer)


def strip_spend(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of an answer without spend. Listed sources that share one platform's bill have no spend
    of their own; a network always has.
    """
    return {name: value for name, value in part.items() if name != "spend"}


def in_one_order(value: Any) -> Any:
    """Return lists sorted: rows with equal figures may be ordered by their names."""
    if isinstance(value, dict):
        return {name: in_one_order(member) for name, member in value.items()}
    return sorted(map(json.dumps, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("group", ["source", "channel", "campaign", "first_source", "path", "day"])
def test_reports(two_clients: tuple[Api, Api, list[str]], group: str) -> None:
    listed_api, own_api, _ = two_clients
    parameters = {"group_by[]": group, "measures[]": ["credited_revenue", "credited_events"],
                  "attribution_models[]": PLAIN_MODELS, "limit": 1000}  # fmt: skip
    if group in ("first_source", "path"):
        parameters |= {"measures[]": ["revenue", "events"], "attribution_models[]": ["last_touch"]}
    assert fetch_answer(own_api, "/reports", has_networks=True, **parameters) == fetch_answer(
        listed_api, "/reports", has_networks=False, **parameters
    )


def test_each_network_by_itself(two_clients: tuple[Api, Api, list[str]]) -> None:
    """Filters, models of paid touches, and lists of credit."""
    listed_api, own_api, names = two_clients
    for source, name in zip(names, OWN, strict=False):
        for model in ("linear_paid", "last_platform_touch", "first_platform_touch", "last_touch"):
            parameters = {"attribution_model": model, "attribution_window": 30}
            fields = {"fields[]": ["amount", "source"], "per_page": 1000}
            rows = [
                sorted(
                    (row["event_time_utc"], row["amount"])
                    for row in api.rows(**parameters, **fields, **{"sources[]": word})
                )
                for api, word in ((listed_api, source), (own_api, name))
            ]
            assert rows[0] == rows[1]
        only = {"only[]": f"source:{source}"}, {"only[]": f"source:{name}"}
        assert fetch_answer(own_api, "/reports", has_networks=True, **only[1]) == fetch_answer(
            listed_api, "/reports", has_networks=False, **only[0]
        )
    several = [
        {
            row["source"]
            for row in api.rows(**{
                "sources[]": words, "attribution_model": "linear", "fields[]": "source",
                "attribution_window": 0, "per_page": 1000,
            })
        }
        for api, words in ((listed_api, names[:12]), (own_api, OWN[:12]))
    ]  # fmt: skip
    assert several[1] == {OWN[names.index(source)] for source in several[0]}
    assert len(several[1]) > 6


def test_paths_and_credits(two_clients: tuple[Api, Api, list[str]]) -> None:
    listed_api, own_api, _ = two_clients
    for path in ("/reports/paths", "/reports/cohorts"):
        assert fetch_answer(own_api, path, has_networks=True) == fetch_answer(
            listed_api, path, has_networks=False
        )


def test_spend(api: Api, stage: Stage) -> None:
    stage.network("taboola_ads", platform="taboola")
    contact = stage.contact()
    stage.touchpoint(contact, "taboola_ads", campaign_id="1")
    stage.event(contact, amount=Decimal(30))
    row = {"date": "2026-05-13", "platform": "Taboola", "campaign_id": "1", "amount": 10,
           "currency": "USD"}  # fmt: skip
    assert api.send("PUT", "/spend", json={"spend": [row]}).status_code == 200
    answer = api.get("/reports/spend", params=RANGE | {"group_by": "source"}).json()
    (figures,) = answer["rows"]
    values = dict(zip(answer["columns"], figures, strict=True))
    assert (values["source"], values["spend"], values["roas"]) == ("taboola_ads", 10, 3)


def test_a_contact_and_an_event(api: Api, stage: Stage) -> None:
    stage.network("taboola_ads")
    contact = stage.contact()
    stage.touchpoint(contact, "taboola_ads")
    event = stage.event(contact, amount=Decimal(30))
    journey = api.get(f"/contacts/{contact}/journey").json()["data"]
    (touch,) = [item for item in journey if item["type"] == "touchpoint"]
    assert (touch["source"], touch["is_paid"], touch["is_direct"]) == ("taboola_ads", True, False)
    (touch,) = api.get(f"/events/{event}/attribution").json()["path"]
    assert (touch["source"], touch["is_paid"]) == ("taboola_ads", True)


def test_one_number_two_spaces(client: httpx.Client, connection: psycopg.Connection) -> None:
    for name in ("taboola_ads", "criteo_ads"):
        stage = make_stage(connection)
        assert stage.network(name) == NUMBERS[0]
        contact = stage.contact()
        stage.touchpoint(contact, name)
        stage.event(contact, amount=Decimal(1))
        rows = Api(client, stage.key).get("/reports", params=RANGE).json()["rows"]
        assert [row[0] for row in rows] == [name]


def names_with(count: int) -> StepNames:
    networks = [PaidNetwork(number, f"n{number}_ads", (), f"n{number}") for number in NUMBERS[:count]]
    return name_steps(Group.PATH, make_source_names((), tuple(networks)))


@pytest.mark.parametrize(("count", "steps"), [(0, 10), (6, 10), (40, 9), (100, 8), (190, 7)])
def test_paths_fit_a_number(count: int, steps: int) -> None:
    names = names_with(count)
    assert names.most_steps >= steps
    assert names.values**names.most_steps * (MOST_MORE + 1) <= 1 << 63
    dice = Random(count)
    sources = [*SOURCES, *(f"n{number}_ads" for number in NUMBERS[:count])]
    for _ in range(50):
        path_sources = tuple(dice.choices(sources, k=dice.randint(1, names.most_steps)))
        more = dice.randint(0, MOST_MORE) if len(path_sources) == names.most_steps else 0
        path = TouchPath(path_sources, more)
        key = names.key(path)
        assert key is not None
        assert names.path(key) == path
