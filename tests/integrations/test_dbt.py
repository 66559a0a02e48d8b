"""The dbt package: its models over real exports have the same figures as reports, and its own tests pass, on
DuckDB and PostgreSQL.

dbt itself is not installed here. The models are rendered with stand-ins for the parts of dbt that they use.
If `HEADWATER_TEST_DBT` names a dbt with dbt-duckdb and dbt-postgres, it builds the package.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import psycopg
import pytest
import yaml
from jinja2 import Environment, StrictUndefined
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headwater.database.json_lines import LineColumn
from headwater.people.companies.export_lines import COLUMNS as COMPANY_COLUMNS
from headwater.people.contacts.export_lines import COLUMNS as CONTACT_COLUMNS
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
"""The package sums every event with an amount, but a report only the requested names."""


def render(text: str, source: str) -> str:
    """Return the SQL of a model or test as dbt would render it, with this address of the sources."""
    variables = {"headwater_timezone": ZONE}
    day = re.search(r"macro default__headwater_day\(moment\) %}(.*?){% endmacro", MACRO, re.DOTALL)
    assert day is not None
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    types = SimpleNamespace(type_bigint=lambda: "bigint", type_string=lambda: "text")
    context: dict[str, Any] = {
        "var": lambda name: variables[name],
        "dbt": types,
        "ref": lambda name: name,
        "source": lambda _, table: source.format(name=table),
    }
    context["headwater_day"] = lambda moment: environment.from_string(day[1]).render(
        {**context, "moment": moment}
    )
    return environment.from_string(text).render(context)


MACRO = (PACKAGE / "macros" / "headwater_day.sql").read_text()


def fill(stage: Stage) -> None:
    """Store a month of journeys, some without touchpoints, with refunds, without amounts, and in several
    currencies.
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
            currency = dice.choice([None, "USD", "EUR", "JPY", "KWD", "XAF"])
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
    stage.contact(
        created_at=NOON, profile_field_1="gold", profile_field_16="12.5",
        profile_field_26=datetime(2026, 3, 4, tzinfo=ZoneInfo(ZONE)),
    )  # fmt: skip


def put_rates(api: Api) -> None:
    """Set rates on two days a week. Other days use the last one; XAF has none."""
    dice = random.Random(8)
    rates = [
        {"date": f"2026-05-{day:02}", "base": "USD", "currency": currency,
         "rate": dice.randrange(1, 10**6) / 10**4}
        for day in range(4, 32) if day % 7 in (1, 4)
        for currency in ("EUR", "JPY", "KWD")
    ]  # fmt: skip
    assert api.send("PUT", "/rates", json={"rates": rates}).status_code == 200


def save(exports: Exports, folder: Path, file_format: str) -> None:
    """Write the four tables as files."""
    credit_options = {
        "attribution_model": "linear", "attribution_window": 30, "fields": FIELDS["credits"],
    }  # fmt: skip
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("events", "events", {"fields": FIELDS["events"]}),
        *(
            (f"credits-{first}", "events",
             {**credit_options, "sources": list(LISTED_SOURCES)[first : first + 15]})
            for first in range(0, len(LISTED_SOURCES), 15)
        ),
        ("contacts", "contacts", {}),
        ("companies", "companies", {}),
    ]  # fmt: skip
    compression = {} if file_format == "parquet" else {"compression": "none"}
    jobs = [
        (name, kind, exports.ask(kind, whole_range=True, format=file_format, **compression, **body))
        for name, kind, body in requests
    ]
    exports.work()
    for name, kind, export_id in jobs:
        link = exports.status(export_id, kind)["download_url"]
        (folder / f"{name}.{file_format}").write_bytes(exports.fetch(link).content)


@pytest.fixture
def duckdb_folder(stage: Stage, exports: Exports, tmp_path: Path) -> Path:
    fill(stage)
    put_rates(exports.api)
    save(exports, tmp_path, "parquet")
    return tmp_path


@pytest.fixture
def postgres_url(stage: Stage, exports: Exports, tmp_path: Path, young_url: str) -> str:
    """A database with the exports, loaded as the package's page describes."""
    if shutil.which("psql") is None:
        pytest.skip("no psql found: install it (Debian: apt-get install postgresql-client)")
    fill(stage)
    put_rates(exports.api)
    (tmp_path / "headwater").mkdir()
    save(exports, tmp_path / "headwater", "ndjson")
    options = conninfo_to_dict(young_url)
    options.pop("require_auth", None)  # older clients don't support it
    for _ in range(2):  # a second run replaces the rows
        subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--file", PACKAGE / "postgres.sql",
             make_conninfo(**options)],
            cwd=tmp_path, check=True, timeout=60,
        )  # fmt: skip
    return young_url


@pytest.mark.parametrize(
    ("table", "columns"), [("contacts", CONTACT_COLUMNS), ("companies", COMPANY_COLUMNS)]
)
def test_postgresql_has_every_column_of_an_export(
    postgres_url: str, table: str, columns: Sequence[LineColumn]
) -> None:
    with psycopg.connect(postgres_url) as connection:
        cursor = connection.execute(f"SELECT * FROM headwater.{table} LIMIT 0")
        assert [column.name for column in cursor.description or ()] == [column.name for column in columns]


def test_postgresql_has_the_profile_fields(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(
            "SELECT profile_field_1, profile_field_16, profile_field_26 FROM headwater.contacts"
            " WHERE profile_field_1 IS NOT NULL"
        ).fetchall()
    assert rows == [("gold", Decimal("12.5"), "2026-03-04")]


Warehouse = duckdb.DuckDBPyConnection | psycopg.Connection


@pytest.fixture(params=["duckdb", "postgres"])
def warehouse(request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    """A connection to a warehouse with the models as views."""
    if request.param == "duckdb":
        source = f"read_parquet('{request.getfixturevalue('duckdb_folder')}/{{name}}*.parquet')"
        connect: Any = duckdb.connect
    else:
        source = "headwater.{name}"
        url = request.getfixturevalue("postgres_url")
        connect = lambda: psycopg.connect(url)  # noqa: E731
    with connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, text in MODELS.items():
            connection.execute(f"CREATE VIEW {name} AS {render(text, source)}")
        yield connection


def report_revenue(api: Api) -> dict[tuple[str, str | None], Decimal]:
    """Return the revenue of a report by day and source; None is unattributed."""
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
    report = answer.json()
    credit = {(row[0], row[1]): Decimal(str(row[-1])) for row in report["rows"]}
    return {**credit, ("", None): Decimal(str(report["unattributed"]["credited_revenue"]))}


def test_revenue_equals_the_report(warehouse: Warehouse, api: Api) -> None:
    rows = warehouse.execute(
        "SELECT CAST(event_day AS text), source, sum(credited_revenue) FROM headwater__revenue_by_source"
        " GROUP BY event_day, source"
    ).fetchall()
    revenues: dict[tuple[str, str | None], Decimal] = {}
    for day, source, revenue in rows:
        key = ("", None) if source == "unattributed" else (day, source)
        revenues[key] = revenues.get(key, Decimal()) + (revenue or 0)
    expected = report_revenue(api)
    assert {key: value for key, value in revenues.items() if value} == {
        key: value for key, value in expected.items() if value
    }
    assert len(expected) > 10


def test_customers_have_the_revenue_of_reports(warehouse: Warehouse, api: Api) -> None:
    (revenue,) = warehouse.execute("SELECT sum(revenue) FROM headwater__customers").fetchall()[0]
    report = api.get("/reports", params={**RANGE, "measures": "revenue", "event_names": NAMES}).json()
    assert revenue == Decimal(str(report["totals"]["revenue"]))


def test_every_amount_has_its_currency(warehouse: Warehouse) -> None:
    rows = warehouse.execute(
        "SELECT currency, count(*), count(amount_in_space_currency) FROM stg_headwater__events"
        " WHERE amount IS NOT NULL GROUP BY currency"
    ).fetchall()
    amount_counts = {currency: (amounts, known_count) for currency, amounts, known_count in rows}
    assert {"USD", "EUR", "JPY", "KWD", "XAF"} == amount_counts.keys()
    assert all(known_count == (0 if currency == "XAF" else amounts)
               for currency, (amounts, known_count) in amount_counts.items())  # fmt: skip


def test_its_own_test_finds_nothing_wrong(warehouse: Warehouse) -> None:
    query = render((PACKAGE / "tests" / "assert_credits_add_up.sql").read_text(), "")
    assert warehouse.execute(query).fetchall() == []


def test_every_model_and_column_is_described(warehouse: Warehouse) -> None:
    files = [PACKAGE / "models" / folder / "_headwater__models.yml" for folder in ("staging", "marts")]
    columns_by_model = {
        model["name"]: {column["name"] for column in model["columns"]}
        for file in files
        for model in yaml.safe_load(file.read_text())["models"]
    }
    assert columns_by_model.keys() == MODELS.keys()
    for name, columns in columns_by_model.items():
        cursor = warehouse.execute(f"SELECT * FROM {name} LIMIT 0")
        assert columns <= {column[0] for column in cursor.description or ()}, name
    readme = (PACKAGE / "README.md").read_text()
    assert [name for name in MODELS if f"`{name}`" not in readme] == []


def test_the_address_of_scheduled_exports_finds_every_folder(tmp_path: Path) -> None:
    readme = (PACKAGE / "README.md").read_text()
    (address,) = re.findall(r"`s3://bucket/(\S+)`", readme)
    parts = {
        "events": ["events/date=2026-05-01", "events/date=2026-05-02"],
        "credits": [f"credits-{number}/date=2026-05-01" for number in (1, 2)],
        "contacts": ["contacts"],
        "companies": ["companies"],
    }
    with duckdb.connect() as connection:
        for folder in chain.from_iterable(parts.values()):
            (tmp_path / "space=7" / folder).mkdir(parents=True)
            path = tmp_path / "space=7" / folder / "part-0001.parquet"
            connection.execute(f"COPY (SELECT '{folder}' AS folder) TO '{path}'")
        for name, folders in parts.items():
            files = f"{tmp_path}/{address.format(name=name)}"
            rows = connection.execute(f"SELECT folder FROM read_parquet('{files}') ORDER BY folder")
            assert [row[0] for row in rows.fetchall()] == folders


def test_the_export_script_requests_every_source_once(tmp_path: Path) -> None:
    (tmp_path / "headwater").write_text(
        '#!/bin/sh\necho "$@" >> calls\n'
        "[ $1 = network ] && printf 'name         spellings\ntaboola_ads  taboola\n' || true\n"
    )
    (tmp_path / "headwater").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(
        ["sh", PACKAGE / "export.sh", "7", "parquet", "linear", "30", "--data-dir", "data"],
        cwd=work, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True, timeout=60,
    )  # fmt: skip
    networks, *exports = (work / "calls").read_text().splitlines()
    assert networks == "network list --space 7 --data-dir data"
    assert all("--space 7 --whole-range" in line and line.endswith("--data-dir data") for line in exports)
    *credit_exports, events, contacts, companies = exports
    requests = [re.findall(r"--source (\S+)", line) for line in credit_exports]
    assert max(map(len, requests)) <= 15
    assert sorted(chain.from_iterable(requests)) == sorted([*LISTED_SOURCES, "taboola_ads"])
    outputs = [re.findall(r"--output headwater/(\S+)", line) for line in exports]
    assert outputs == [*([f"credits-{number}.parquet"] for number in range(1, len(credit_exports) + 1)),
                       ["events.parquet"], ["contacts.parquet"], ["companies.parquet"]]  # fmt: skip
    for line in credit_exports:
        assert "--attribution-model linear --attribution-window 30" in line
        assert re.findall(r"--field (\S+)", line) == FIELDS["credits"]
    assert re.findall(r"--field (\S+)", events) == FIELDS["events"]
    assert (contacts.split()[:2], companies.split()[:2]) == (["export", "contacts"], ["export", "companies"])


needs_dbt = pytest.mark.skipif("HEADWATER_TEST_DBT" not in os.environ, reason="HEADWATER_TEST_DBT is not set")


def dbt(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run dbt on the package, with the profile in a folder."""
    return subprocess.run(
        [os.environ["HEADWATER_TEST_DBT"], *command.split(), "--project-dir", str(PACKAGE),
         "--profiles-dir", str(folder), "--target-path", str(folder / "target"),
         "--log-path", str(folder / "logs"), "--no-send-anonymous-usage-stats",
         "--vars", yaml.safe_dump({"headwater_timezone": ZONE, **variables}, default_flow_style=True)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def write_profile(folder: Path, **output: Any) -> None:
    profile = {"headwater": {"target": "test", "outputs": {"test": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))


def check_build(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout + result.stderr
    assert "WARN=0 ERROR=0" in result.stdout
    assert "eprecat" not in re.sub(r"This version of dbt is deprecated", "", result.stdout), result.stdout


def check_stale(result: subprocess.CompletedProcess[str]) -> None:
    """Check that stale data is reported: the newest event is months old."""
    assert "ERROR STALE freshness of headwater.events" in result.stdout, result.stdout


@needs_dbt
def test_dbt_builds_it_on_duckdb(duckdb_folder: Path) -> None:
    folder = duckdb_folder
    write_profile(folder, type="duckdb", path=f"{folder}/test.duckdb", settings={"TimeZone": "UTC"})
    files = f"{folder}/{{name}}*.parquet"
    check_build(dbt(folder, "build", headwater_files=files))
    check_stale(dbt(folder, "source freshness", headwater_files=files))


@needs_dbt
def test_dbt_builds_it_on_postgresql(tmp_path: Path, postgres_url: str, api: Api) -> None:
    options = conninfo_to_dict(postgres_url)
    write_profile(
        tmp_path, type="postgres", host=options["host"], port=int(options.get("port") or 5432),
        user=options["user"], password=options.get("password") or "", dbname=options["dbname"],
        schema="analytics", threads=2,
    )  # fmt: skip
    check_build(dbt(tmp_path, "build"))
    with psycopg.connect(postgres_url) as connection:
        (revenue,) = connection.execute(
            "SELECT sum(credited_revenue) FROM analytics.headwater__revenue_by_source"
        ).fetchone() or (None,)
    report = api.get("/reports", params={**RANGE, "measures": "revenue", "event_names": NAMES}).json()
    assert revenue == Decimal(str(report["totals"]["revenue"]))
    check_stale(dbt(tmp_path, "source freshness"))
