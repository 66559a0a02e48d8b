"""The dbt package: its models over real exports have the figures of reports, and its tests hold.

dbt itself is not installed here. The models are rendered with stand-ins for what they take of dbt,
and run by DuckDB; `HEADWATER_TEST_DBT` names a dbt with dbt-duckdb, which then builds the package.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from jinja2 import Environment, StrictUndefined

from headwater.sources.catalogue import LISTED_SOURCES
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api
from tests.support.sizes import ROOT

PACKAGE = ROOT / "integrations" / "dbt"
MODELS = {
    path.stem: path.read_text()
    for folder in ("staging", "marts")
    for path in sorted((PACKAGE / "models" / folder).glob("*.sql"))
}
ZONE = "America/New_York"
USED = ["google_ads", "facebook_ads", "email", "direct"]
FIELDS = {
    "events": ["profile_id", "company_id", "event_name", "amount", "currency",
               "amount_in_space_currency", "is_upsell", "order_id", "order_name"],
    "credits": ["event_name", "amount", "currency", "amount_in_space_currency", "campaign_id",
                "campaign_name"],
}  # fmt: skip
RANGE = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
NAMES = ["purchase", "sign_up"]
"""The package adds up every event with an amount, and a report those that it is asked for."""


def render(text: str, folder: Path) -> str:
    """The SQL of a model or a test, as dbt would make it for DuckDB."""
    variables = {"headwater_timezone": ZONE}
    day = re.search(r"macro default__headwater_day\(moment\) %}(.*?){% endmacro", MACRO, re.DOTALL)
    assert day is not None
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    types = SimpleNamespace(type_bigint=lambda: "bigint", type_string=lambda: "text")
    given: dict[str, Any] = {
        "var": lambda name: variables[name],
        "dbt": types,
        "ref": lambda name: name,
        "source": lambda _, table: f"read_parquet('{folder}/{table}*.parquet')",
    }
    given["headwater_day"] = lambda moment: environment.from_string(day[1]).render(
        {**given, "moment": moment}
    )
    return environment.from_string(text).render(given)


MACRO = (PACKAGE / "macros" / "headwater_day.sql").read_text()


def fill(stage: Stage) -> None:
    """A month of journeys, some of them without a touchpoint, with refunds, without amounts, and in
    several currencies.
    """
    dice = random.Random(7)
    stage.connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (ZONE, stage.space_id))
    for number in range(30):
        contact_id = stage.contact(name=f"={number}", created_at=NOON)
        for _ in range(dice.randrange(4)):
            stage.touchpoint(
                contact_id, dice.choice(USED), campaign_id=dice.choice(["7", "8", None]),
                occurred_at=NOON - timedelta(hours=dice.randrange(1, 300)),
            )  # fmt: skip
        for _ in range(dice.randrange(3)):
            moment = NOON + timedelta(hours=dice.randrange(240))
            currency = dice.choice([None, "USD", "EUR", "JPY", "KWD"])
            stage.event(
                contact_id, event_name=dice.choice(NAMES),
                amount=dice.choice([None, "100", "33.33", "-20", "0.01", "1234.567"]),
                event_time=moment, currency=currency,
            )  # fmt: skip
            stage.connection.execute(
                "INSERT INTO currency_days (space_id, currency, day) SELECT %s, %s, %s WHERE %s"
                " ON CONFLICT DO NOTHING",
                (stage.space_id, currency, moment.date(), currency is not None),
            )
    stage.company(name="Acme")


def put_rates(api: Api) -> None:
    """Rates of two days a week, so that others have those of days before."""
    dice = random.Random(8)
    rates = [
        {"date": f"2026-05-{day:02}", "base": "USD", "currency": currency,
         "rate": dice.randrange(1, 10**6) / 10**4}
        for day in range(4, 32) if day % 7 in (1, 4)
        for currency in ("EUR", "JPY", "KWD")
    ]  # fmt: skip
    assert api.send("PUT", "/rates", json={"rates": rates}).status_code == 200


def save(exports: Exports, folder: Path) -> None:
    """The four tables as files."""
    credited = {
        "attribution_model": "linear", "attribution_window": 30, "fields": FIELDS["credits"],
    }  # fmt: skip
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("events", "events", {"fields": FIELDS["events"]}),
        *(
            (f"credits-{first}", "events",
             {**credited, "sources": list(LISTED_SOURCES)[first : first + 15]})
            for first in range(0, len(LISTED_SOURCES), 15)
        ),
        ("contacts", "contacts", {}),
        ("companies", "companies", {}),
    ]  # fmt: skip
    jobs = [
        (name, kind, exports.ask(kind, whole_range=True, format="parquet", **body))
        for name, kind, body in asked
    ]
    exports.work()
    for name, kind, export_id in jobs:
        link = exports.status(export_id, kind)["download_url"]
        (folder / f"{name}.parquet").write_bytes(exports.fetch(link).content)


@pytest.fixture
def folder(stage: Stage, exports: Exports, tmp_path: Path) -> Path:
    fill(stage)
    put_rates(exports.api)
    save(exports, tmp_path)
    return tmp_path


@pytest.fixture
def warehouse(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, text in MODELS.items():
            connection.execute(f"CREATE VIEW {name} AS {render(text, folder)}")
        yield connection


def credited(api: Api) -> dict[tuple[str, str | None], Decimal]:
    """What a report has, by day and source, and of what is unattributed by None."""
    parameters = {
        **RANGE, "attribution_model": "linear", "attribution_window": 30,
        "measures": "credited_revenue", "limit": 1000,
    }  # fmt: skip
    answer = api.get(
        "/reports",
        params=[
            *parameters.items(), ("group_by", "day"), ("group_by", "source"),
            *(("event_names", name) for name in NAMES),
        ],
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    told = answer.json()
    found = {(row[0], row[1]): Decimal(str(row[-1])) for row in told["rows"]}
    return {**found, ("", None): Decimal(str(told["unattributed"]["credited_revenue"]))}


def test_it_works(warehouse: duckdb.DuckDBPyConnection, api: Api) -> None:
    rows = warehouse.execute(
        "SELECT event_day::text, source, sum(credited_revenue) FROM headwater__revenue_by_source GROUP BY ALL"
    ).fetchall()
    found: dict[tuple[str, str | None], Decimal] = {}
    for day, source, revenue in rows:
        key = ("", None) if source == "unattributed" else (day, source)
        found[key] = found.get(key, Decimal()) + (revenue or 0)
    expected = credited(api)
    assert {key: value for key, value in found.items() if value} == {
        key: value for key, value in expected.items() if value
    }
    assert len(expected) > 10


def test_customers_have_the_revenue_of_reports(warehouse: duckdb.DuckDBPyConnection, api: Api) -> None:
    (revenue,) = warehouse.execute("SELECT sum(revenue) FROM headwater__customers").fetchall()[0]
    told = api.get("/reports", params={**RANGE, "measures": "revenue", "event_names": NAMES}).json()
    assert revenue == Decimal(str(told["totals"]["revenue"]))


def test_its_own_test_finds_nothing_wrong(warehouse: duckdb.DuckDBPyConnection, folder: Path) -> None:
    query = render((PACKAGE / "tests" / "credits_add_up.sql").read_text(), folder)
    assert warehouse.execute(query).fetchall() == []


def test_every_model_and_column_is_described(warehouse: duckdb.DuckDBPyConnection) -> None:
    schema = (PACKAGE / "models" / "schema.yml").read_text()
    parts = re.split(r"^  - name: ", schema, flags=re.MULTILINE)[1:]
    described = {part.partition("\n")[0]: part for part in parts}
    assert described.keys() == MODELS.keys()
    for name, part in described.items():
        columns = {row[0] for row in warehouse.execute(f"DESCRIBE {name}").fetchall()}
        assert {*re.findall(r"^      - name: (\w+)", part, re.MULTILINE)} <= columns, name
    readme = (PACKAGE / "README.md").read_text()
    assert [name for name in MODELS if f"`{name}`" not in readme] == []


@pytest.mark.skipif("HEADWATER_TEST_DBT" not in os.environ, reason="HEADWATER_TEST_DBT is not set")
def test_dbt_builds_it(folder: Path) -> None:
    (folder / "profiles.yml").write_text(
        "headwater:\n  target: test\n  outputs:\n"
        f"    test: {{type: duckdb, path: '{folder}/test.duckdb', settings: {{TimeZone: UTC}}}}\n"
    )
    variables = f"{{headwater_files: '{folder}/{{name}}*.parquet', headwater_timezone: {ZONE}}}"
    ran = subprocess.run(
        [os.environ["HEADWATER_TEST_DBT"], "build", "--project-dir", str(PACKAGE),
         "--profiles-dir", str(folder), "--target-path", str(folder / "target"),
         "--log-path", str(folder / "logs"), "--vars", variables,
         "--no-send-anonymous-usage-stats"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WARN=0 ERROR=0" in ran.stdout
