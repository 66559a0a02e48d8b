"""Pages of watched addresses: adding, viewing, repairing and removing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.intake.watched.addresses import ADDRESS_KINDS
from headwater.intake.watched.faults import REMEDIES, WatchFault
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, Person
from tests.console.test_platforms import page_text
from tests.support.factories import Stage

URL = "https://reports.example/daily.csv?signature=hidden"
S3 = {"scheme": "s3", "address": "s3://bucket/daily.csv"}
SECRETS = {"secrets.access_key_id": "AKIA1", "secrets.secret_access_key": "confidential"}
COLUMNS = ("kind", "name", "address", "status", "settings", "secret_names")


@pytest.fixture(scope="module")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting
) -> Iterator[Running]:
    """The application, with local files allowed."""
    folder = tmp_path_factory.mktemp("watched")
    settings = Settings(
        rate_limit_factor=1000,
        data_dir=folder,
        watched_dir=folder,
        trusted_proxies=(ip_network("127.0.0.1"),),
    )
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def home(space_id: int) -> str:
    return f"/console/spaces/{space_id}/spend"


def watch(owner: Person, space_id: int, **fields: str) -> str:
    """Fill in the form, and return the next page."""
    form = f"{home(space_id)}/watch"
    query = f"?scheme={fields.get('scheme', 'https')}&kind={fields.get('kind', 'spend')}"
    return owner.browser.fill(form + query, form, **{"address": URL, **fields}).text


def stored_files(stage: Stage) -> list[dict[str, Any]]:
    rows = stage.connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM watched_files WHERE space_id = %s ORDER BY id", (stage.space_id,)
    )
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def test_it_works(owner: Person, space_id: int, stage: Stage) -> None:
    """From the list to an address that waits for its first fetch."""
    assert f"{home(space_id)}/watch" in owner.browser.get(f"{home(space_id)}/connections").text
    page = watch(
        owner, space_id, name="Meta", **{"secrets.authorization": "Bearer abc", "settings.currency": "EUR"}
    )
    assert "Meta" in page
    assert "Bearer abc" not in page
    assert "signature=hidden" not in page
    assert stored_files(stage) == [
        {
            "kind": "spend", "name": "Meta", "address": URL, "status": "active",
            "settings": {"currency": "EUR"}, "secret_names": ["authorization"],
        }
    ]  # fmt: skip
    list_text = owner.browser.get(f"{home(space_id)}/connections").text
    assert "Meta" in list_text
    assert "signature=hidden" not in list_text


@pytest.mark.parametrize(
    ("scheme", "secrets"),
    [("https", {}), ("s3", SECRETS), ("az", {"secrets.sas_token": "sv=1&sig=2"}), ("file", {})],
)
def test_kinds_of_addresses(
    owner: Person, space_id: int, stage: Stage, scheme: str, secrets: dict[str, str]
) -> None:
    example = ADDRESS_KINDS[scheme].example
    watch(owner, space_id, scheme=scheme, address=example, **secrets)
    (row,) = stored_files(stage)
    assert (row["address"], row["name"]) == (example, "daily.csv")
    assert [f"secrets.{name}" for name in row["secret_names"]] == sorted(secrets)


def test_settings_of_each_kind_of_import(owner: Person, space_id: int, stage: Stage) -> None:
    events = {"settings.event_name": "purchase", "settings.columns": "Mail:email\r\nNote:\r\n"}
    watch(owner, space_id, kind="events", **events)
    watch(owner, space_id, kind="spend", **S3, **SECRETS, **{"settings.region": "eu-central-1"})
    assert [(row["kind"], row["settings"]) for row in stored_files(stage)] == [
        ("events", {"event_name": "purchase", "columns": ["Mail:email", "Note:"]}),
        ("spend", {"region": "eu-central-1"}),
    ]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"address": ""}, "address"),
        ({"address": "https://127.0.0.1/x.csv"}, "address"),
        ({"address": "s3://bucket/daily.csv"}, "address"),  # not the kind of the form
        ({"scheme": "file", "address": "file:///../x.csv"}, "address"),
        (S3, "secrets-access_key_id"),
        ({**S3, **SECRETS, "settings.region": "moon"}, "settings-region"),
        ({"settings.currency": "euro"}, "settings-currency"),
        ({"settings.columns": "Cost"}, "settings-columns"),
        ({"name": "x" * 300}, "name"),
    ],
)
def test_refused_input(
    owner: Person, space_id: int, stage: Stage, fields: dict[str, str], field: str
) -> None:
    """Nothing is stored, the error is next to its field, and the input is kept, except secrets."""
    page = watch(owner, space_id, **{"name": "Kept name", "settings.platform": "kept_platform", **fields})
    assert f'id="{field}-refusal"' in page
    assert 'value="kept_platform"' in page
    assert 'value="Kept name"' in page or "name" in fields
    assert "confidential" not in page
    assert stored_files(stage) == []


def test_bad_secrets_are_refused(owner: Person, space_id: int, stage: Stage) -> None:
    google = {"scheme": "gs", "address": "gs://bucket/x.csv", "secrets.service_account_json": "{}"}
    assert 'id="secrets-service_account_json-refusal"' in watch(owner, space_id, **google)
    assert stored_files(stage) == []


def test_a_limit_of_addresses(owner: Person, space_id: int, stage: Stage) -> None:
    for _ in range(50):
        stage.watched_file()
    assert 'id="address-refusal"' in watch(owner, space_id)
    assert len(stored_files(stage)) == 50


def test_a_watched_file_is_changed(owner: Person, space_id: int, stage: Stage) -> None:
    """Secrets are kept while the host stays the same; cleared settings are removed."""
    watch(owner, space_id, **S3, **SECRETS, **{"settings.region": "eu-central-1", "settings.dates": "dmy"})
    page = f"{home(space_id)}/watched/{read_id(stage)}"
    form = f"{page}/settings"
    text = owner.browser.get(form).text
    assert S3["address"] in text
    assert "confidential" not in text
    owner.browser.fill(form, form, address="s3://bucket/2.csv", name="Second", **{"settings.dates": ""})
    (row,) = stored_files(stage)
    assert (row["name"], row["address"]) == ("Second", "s3://bucket/2.csv")
    assert row["settings"] == {"region": "eu-central-1"}
    assert row["secret_names"] == ["access_key_id", "secret_access_key"]
    refusal_text = owner.browser.fill(form, form, address="s3://another/2.csv", name="Third").text
    assert 'id="secrets-secret_access_key-refusal"' in refusal_text
    assert "s3://another/2.csv" in refusal_text
    owner.browser.fill(f"{form}?scheme=https", form, address=URL)
    (row,) = stored_files(stage)
    assert (row["address"], row["name"], row["secret_names"]) == (URL, "Second", [])
    assert 'id="name-refusal"' in owner.browser.fill(form, form, name="").text


def read_id(stage: Stage) -> int:
    row = stage.connection.execute(
        "SELECT id FROM watched_files WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("fault", list(WatchFault))
@pytest.mark.parametrize("status", ["held", "active"])
def test_a_fault_says_what_to_do(
    owner: Person, space_id: int, stage: Stage, fault: WatchFault, status: str
) -> None:
    columns = {"fault_message": "The server answered HTTP 400", "failures": 1, "failing_since": "2026-11-24"}
    file = stage.watched_file(fault=fault, status=status, **columns)
    page = page_text(owner.browser.get(f"{home(space_id)}/watched/{file}").text)
    assert REMEDIES[fault] in page
    general_state = {"held": "Stopped", "active": "Retrying"}[status]
    assert (general_state in page) == (fault is WatchFault.UNREACHABLE), "others name the fault"
    assert "The server answered HTTP 400" in page
    assert "The server answered HTTP 400" in owner.browser.get(f"{home(space_id)}/connections").text


def test_its_imports(owner: Person, space_id: int, stage: Stage) -> None:
    file = stage.watched_file(fetched_at="2026-11-24T12:00:00Z")
    jobs = [
        stage.connection.execute(
            "INSERT INTO import_jobs (space_id, kind, name, watched_file_id, status, taken, refused,"
            " ended_at) VALUES (%s, 'spend', 'x.csv', %s, 'finished', 1234, 56, now()) RETURNING id",
            (space_id, watched),
        ).fetchone()
        for watched in (file, stage.watched_file())
    ]
    page = owner.browser.get(f"{home(space_id)}/watched/{file}").text
    own_link, other_link = (f'/orders/imports/{row[0]}"' for row in jobs if row)
    assert own_link in page
    assert "1,234" in page_text(page)
    assert "56" in page_text(page)
    assert other_link not in page


def test_actions(owner: Person, space_id: int, stage: Stage) -> None:
    file = stage.watched_file()
    page = f"{home(space_id)}/watched/{file}"
    assert not is_due(stage)
    owner.browser.fill(page, f"{page}/fetch")
    assert is_due(stage)
    owner.browser.fill(page, f"{page}/pause")
    assert [row["status"] for row in stored_files(stage)] == ["paused"]
    owner.browser.fill(page, f"{page}/resume")
    assert [row["status"] for row in stored_files(stage)] == ["active"]
    owner.browser.fill(page, f"{page}/remove")
    assert stored_files(stage) == []


def is_due(stage: Stage) -> bool:
    row = stage.connection.execute(
        "SELECT next_fetch_at <= now() FROM watched_files WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row is not None
    return row[0]


def test_viewers_see_addresses_without_forms(
    person: Callable[..., Person], space_id: int, stage: Stage
) -> None:
    person(Role.OWNER)
    viewer = person(Role.VIEWER).browser
    page = f"{home(space_id)}/watched/{stage.watched_file()}"
    answer = viewer.get(page)
    assert answer.status_code == 200
    assert f'action="{page}' not in answer.text
    assert f'{home(space_id)}/watch"' not in viewer.get(f"{home(space_id)}/connections").text
    assert viewer.get(f"{home(space_id)}/watch").status_code == 403
    assert viewer.get(f"{page}/settings").status_code == 403


def test_another_space_has_no_such_address(
    owner: Person, space_id: int, connection: psycopg.Connection, make_space: Callable[..., int]
) -> None:
    other_file_id = Stage(connection, make_space(), "").watched_file()
    for end in ("", "/settings"):
        assert owner.browser.get(f"{home(space_id)}/watched/{other_file_id}{end}").status_code == 404
