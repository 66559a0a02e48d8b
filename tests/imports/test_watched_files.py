"""Files at an address: imported once per change, with a message for every failure."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.base import failpoints
from headwater.base.egress.client import Egress
from headwater.cli import main
from headwater.http.errors import Invalid, NotFound
from headwater.intake.watched import content, watched_files
from headwater.intake.watched.inputs import read_new
from tests.imports.watching import CSV, Watching, open_engine
from tests.support.factories import Stage, make_stage
from tests.support.fake_platform import Answer, FakePlatform, Redirect
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wire import Received

URL = "https://reports.example/daily.csv"


@pytest.fixture
def watching(
    database_url: str, stage: Stage, connection: psycopg.Connection, tmp_path: Path
) -> Iterator[Watching]:
    connection.execute("UPDATE watched_files SET status = 'paused'")
    connection.execute(
        "UPDATE import_jobs SET status = 'cancelled' WHERE status IN ('checking', 'queued', 'running')"
    )
    with open_engine(database_url) as engine:
        yield Watching(database_url, stage, tmp_path, engine)


def table(text: str = CSV.format("5.50"), **headers: str) -> Answer:
    return Answer(body=text.encode(), headers={"Content-Type": "text/csv", **headers})


def test_it_works(watching: Watching) -> None:
    with FakePlatform(table(), table(), table(CSV.format("7")), otherwise=table()) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL, secrets={"authorization": "Bearer abc"})
        watching.fetch()
        assert watching.amounts() == [Decimal("5.50")]
        state = watching.state(file)
        assert (state.status, state.fault, state.name) == ("active", None, "daily.csv")
        assert state.fetched_at == "2026-11-25T12:00:00Z"
        watching.fetch_later(file, days=1)  # unchanged
        watching.fetch_later(file, days=1)
        assert watching.amounts() == [Decimal(7)]
        watching.fetch_later(file, days=1)  # the first content again
        assert watching.amounts() == [Decimal("5.50")]
        jobs = watching.imports(file)
        assert [(job.status, job.taken, job.name) for job in jobs] == [("finished", 1, "daily.csv")] * 3
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer abc"}
        assert all(request.headers["accept"].startswith("text/csv") for request in server.requests)


def test_fetches_are_six_hours_apart(watching: Watching) -> None:
    with FakePlatform(otherwise=table()) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL)
        watching.fetch()
        first = watching.state(file).next_fetch_at
        watching.fetch_later(file, hours=6)
        assert first[14:] == watching.state(file).next_fetch_at[14:]
        assert "2026-11-25T12:00" < first <= "2026-11-25T18:00:00Z"


def test_a_local_file_with_the_date_in_its_name(watching: Watching) -> None:
    (watching.folder / "meta").mkdir()
    (watching.folder / "meta" / "2026-11-24.csv").write_text(CSV.format("3"))
    file = watching.watch("file:///meta/{date}.csv")
    watching.fetch()
    assert watching.amounts() == [Decimal(3)]
    state = watching.fetch_later(file, days=1)
    assert (state.status, state.fault, state.failures) == ("active", "missing", 1)
    (watching.folder / "meta" / "2026-11-25.csv").write_text(CSV.format("4"))
    state = watching.fetch_later(file, minutes=1)
    assert (state.fault, state.failing_since, watching.amounts()) == (None, None, [Decimal(4)])


def test_the_date_is_yesterday_in_the_space(watching: Watching, connection: psycopg.Connection) -> None:
    far_watching = watching.beside(make_stage(connection, "Pacific/Kiritimati"))
    (far_watching.folder / "2026-11-25.csv").write_text(CSV.format("3"))
    far_watching.watch("file:///{date}.csv")
    far_watching.fetch()
    assert far_watching.amounts() == [Decimal(3)]


def test_settings_are_those_of_an_upload(watching: Watching) -> None:
    file = watching.folder / "x.csv"
    file.write_text("Tag;Kampagne;Kosten\n24.11.2026;1;1.234,50\n25.11.2026;1;2\n")
    settings: dict[str, Any] = {
        "columns": ["Tag:date", "Kampagne:campaign_id", "Kosten:amount"],
        "platform": "meta", "currency": "EUR", "dates": "dmy", "decimals": "comma",
    }  # fmt: skip
    held_id = watching.watch("file:///x.csv", settings={**settings, "currency": None})
    watching.fetch()
    state = watching.state(held_id)
    assert (state.status, state.fault) == ("held", "settings")
    assert "currency" in (state.fault_message or "")
    state = watching.change(held_id, settings=settings)
    assert (state.status, state.failures) == ("active", 0)
    assert watching.fetch_later(held_id, minutes=1).fault is None
    assert watching.amounts() == [Decimal("1234.50"), Decimal(2)]
    watching.change(held_id, settings={**settings, "platform": "tiktok"})
    watching.stage.connection.execute(
        "UPDATE watched_files SET next_fetch_at = %s WHERE id = %s", (watching.now, held_id)
    )
    watching.fetch()  # same content, other options
    assert len(watching.amounts()) == 4


def test_other_kinds(watching: Watching) -> None:
    (watching.folder / "names.csv").write_text("kind,id,name,platform\ncampaign,1,Autumn,meta\n")
    file = watching.watch("file:///names.csv", kind="ads")
    watching.fetch()
    assert [job.taken for job in watching.imports(file)] == [1]


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({}, "address"),
        ({"address": 5}, "address"),
        ({"address": "ftp://reports.example/x.csv"}, "address"),
        ({"address": "http://reports.example/x.csv"}, "address"),
        ({"address": "https://reports.example:8443/x.csv"}, "address"),
        ({"address": "https://user:word@reports.example/x.csv"}, "address"),
        ({"address": "https://{date}.example/x.csv"}, "address"),
        ({"address": "https://127.0.0.1/x.csv"}, "address"),
        ({"address": "https://[::1]/x.csv"}, "address"),
        ({"address": "https://169.254.169.254/latest"}, "address"),
        ({"address": "https://0x7f.1/x.csv"}, "address"),
        ({"address": "s3://bucket"}, "address"),
        ({"address": "s3://BUCKET/x.csv"}, "address"),
        ({"address": "s3://bucket/../other/x.csv"}, "address"),
        ({"address": "az://account/x.csv"}, "address"),
        ({"address": "file://host/x.csv"}, "address"),
        ({"address": "file:///../x.csv"}, "address"),
        ({"address": "file:////etc/passwd"}, "address"),
        ({"address": "file:///folder/"}, "address"),
        ({"address": URL, "kind": "order"}, "kind"),
        ({"address": URL, "name": ""}, "name"),
        ({"address": URL, "settings": []}, "settings"),
        ({"address": URL, "settings": {"currency": "euro"}}, "settings.currency"),
        ({"address": URL, "settings": {"event_name": "purchase"}}, "settings.event_name"),
        ({"address": URL, "settings": {"region": "moon"}}, "settings.region"),
        ({"address": URL, "settings": {"columns": ["Cost"]}}, "settings.columns"),
        ({"address": URL, "secrets": {"access_key_id": "a"}}, "secrets.access_key_id"),
        ({"address": URL, "secrets": {"authorization": "Bearer é"}}, "secrets.authorization"),
        ({"address": URL, "secrets": {"authorization": "a\r\nb: c"}}, "secrets.authorization"),
        ({"address": "s3://bucket/x.csv"}, "secrets.access_key_id"),
        ({"address": "gs://bucket/x.csv", "secrets": {"service_account_json": "{}"}}, "secrets"),
        ({"address": "az://account/box/x.csv"}, "secrets.sas_token"),
    ],
)
def test_bad_input_names_its_field(members: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as error_info:
        read_new(members, allows_files=True)
    assert list(error_info.value.errors) == [field] or field == "secrets.access_key_id"
    assert field in error_info.value.errors
    assert all(
        rule.startswith(f"The {name} ") for name, rules in error_info.value.errors.items() for rule in rules
    )


def test_local_files_need_the_operators_folder() -> None:
    with pytest.raises(Invalid) as error_info:
        read_new({"address": "file:///x.csv"}, allows_files=False)
    assert list(error_info.value.errors) == ["address"]


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (Answer(401, b"no"), "credentials", "held"),
        (Answer(403, b"<Error><Code>InvalidAccessKeyId</Code></Error>"), "credentials", "held"),
        (Answer(403, b"<Error><Code>AccessDenied</Code></Error>"), "missing", "active"),
        (Answer(404, b"no"), "missing", "active"),
        (Answer(500, b"no"), "unreachable", "active"),
        (Answer(204, b""), "unreachable", "active"),
        (table("x" * 2000), "too_large", "active"),
        (table(""), "content", "active"),
        (table("<html><body>Sign in</body></html>\n<p>Please</p>\n"), "content", "active"),
        (table("date,platform\n2026-11-24,meta\n"), "settings", "held"),
        (Redirect("http://reports.example/x.csv"), "address", "held"),
        (Redirect("https://10.0.0.1/x.csv"), "address", "held"),
        (Redirect(URL), "address", "held"),
    ],
)
def test_faults(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, answer: Any, fault: str, status: str
) -> None:
    monkeypatch.setattr(content, "MOST_BYTES", 1000)
    with FakePlatform(otherwise=answer) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL)
        watching.fetch()
    state = watching.state(file)
    assert (state.fault, state.status, state.failures) == (fault, status, 1)
    assert state.fault_message
    assert watching.imports(file) == []
    assert not list((watching.files / "store").glob("*"))


def test_retries_grow(watching: Watching) -> None:
    with FakePlatform(otherwise=Answer(404, b"")) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL)
        watching.fetch()
        times = [watching.fetch_later(file, minutes=1).next_fetch_at[11:16] for _ in range(3)]
        state = watching.state(file)
    assert times == ["12:06", "12:17", "13:03"]
    assert (state.failures, state.failing_since) == (4, "2026-11-25T12:00:00Z")


def test_a_redirect_to_another_host_gets_no_secret(watching: Watching) -> None:
    def answer(request: Received) -> Any:
        if request.target == "/daily.csv":
            return Redirect("https://files.example/x?sig=1")
        return table()

    with FakePlatform(otherwise=answer) as server:
        watching.origins |= {"reports.example": server.url, "files.example": server.url}
        watching.watch(URL, secrets={"authorization": "Bearer abc"})
        watching.fetch()
        first, second = server.requests
    assert first.headers["authorization"] == "Bearer abc"
    assert "authorization" not in second.headers
    assert watching.amounts() == [Decimal("5.50")]


def test_a_name_with_a_private_address_is_refused(watching: Watching) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return ["10.1.2.3"]

    class Sender:
        async def send(self, call: Any, seconds: float | None = None, **limits: Any) -> Any:
            async with Egress(resolver=resolve) as egress:
                return await egress.send(call, seconds, **limits)

    file = watching.watch(URL)
    watching.fetch(Sender())
    state = watching.state(file)
    assert (state.status, state.fault) == ("held", "address")


@pytest.mark.parametrize("trap", ["link", "folder link", "pipe", "folder"])
def test_links_and_other_things_in_the_folder_are_refused(watching: Watching, trap: str) -> None:
    outside = watching.files / "outside"
    outside.mkdir()
    (outside / "x.csv").write_text(CSV.format("9"))
    inside = watching.folder
    if trap == "link":
        (inside / "x.csv").symlink_to(outside / "x.csv")
    elif trap == "folder link":
        (inside / "sub").symlink_to(outside)
    elif trap == "pipe":
        os.mkfifo(inside / "x.csv")
    else:
        (inside / "x.csv").mkdir()
    file = watching.watch("file:///sub/x.csv" if trap == "folder link" else "file:///x.csv")
    watching.fetch()
    assert (watching.state(file).fault, watching.amounts()) == ("address", [])


def test_spaces_do_not_see_each_others_files(watching: Watching, connection: psycopg.Connection) -> None:
    other_watching = watching.beside(make_stage(connection))
    (other_watching.folder / "x.csv").write_text(CSV.format("9"))
    own_file = watching.watch("file:///x.csv")
    other_file = other_watching.watch("file:///x.csv")
    watching.fetch()
    assert (watching.state(own_file).fault, watching.amounts()) == ("missing", [])
    assert other_watching.amounts() == [Decimal(9)]
    for verb in (watched_files.fetch_watched_file, watched_files.pause_watched_file):
        with pytest.raises(NotFound):
            watching.act(other_file, verb)
    with pytest.raises(NotFound):
        watching.change(other_file, name="Mine")
    assert watching.imports(other_file) == []


def test_secrets_stay_with_their_host(watching: Watching) -> None:
    with FakePlatform(otherwise=table()) as server:
        watching.origins |= {"reports.example": server.url, "evil.example": server.url}
        file = watching.watch(URL, secrets={"authorization": "Bearer abc"})
        assert watching.change(file, address="https://reports.example/2.csv").secret_names == [
            "authorization"
        ]
        assert watching.change(file, address="https://evil.example/2.csv").secret_names == []
        watching.fetch_later(file, minutes=1)
        assert "authorization" not in server.requests[-1].headers
    row = watching.stage.connection.execute(
        "SELECT w::text FROM watched_files w WHERE w.id = %s", (file,)
    ).fetchone()
    assert row is not None
    assert "abc" not in row[0]


def test_a_paused_file_is_not_fetched(watching: Watching) -> None:
    with FakePlatform(otherwise=table()) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL)
        watching.act(file, watched_files.pause_watched_file)
        watching.fetch()
        assert server.requests == []
        watching.act(file, watched_files.resume_watched_file)
        watching.due(file)
        watching.fetch()
    assert watching.amounts() == [Decimal("5.50")]


def test_a_file_paused_while_it_is_fetched_is_not_imported(watching: Watching) -> None:
    file = 0

    def answer(request: Received) -> Answer:
        del request
        watching.stage.connection.execute("UPDATE watched_files SET status = 'paused' WHERE id = %s", (file,))
        return table()

    with FakePlatform(otherwise=answer) as server:
        watching.origins["reports.example"] = server.url
        file = watching.watch(URL)
        watching.fetch()
    assert (watching.state(file).fault, watching.imports(file)) == (None, [])


def test_a_failed_import_is_tried_again(watching: Watching) -> None:
    (watching.folder / "x.csv").write_text(CSV.format("3"))
    file = watching.watch("file:///x.csv")
    watching.fetch()
    connection, space_id = watching.stage.connection, watching.stage.space_id
    connection.execute("UPDATE import_jobs SET status = 'failed' WHERE space_id = %s", (space_id,))
    watching.fetch_later(file, hours=6)
    assert [job.status for job in watching.imports(file)] == ["finished", "failed"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize(
    "failpoint", ["watched_file_fetched", "watched_file_before_commit", "watched_file_queued"]
)
def test_a_killed_fetch_imports_once(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, failpoint: str
) -> None:
    """The puller is forked, because importing it takes longer than the rest of the test."""
    (watching.folder / "x.csv").write_text(CSV.format("3"))
    file = watching.watch("file:///x.csv")
    environment = {
        "HEADWATER_DATABASE_URL": watching.database_url,
        "HEADWATER_DATA_DIR": str(watching.files),
        "HEADWATER_STORAGE_URL": f"file://{watching.files / 'store'}",
        "HEADWATER_WATCHED_DIR": str(watching.files / "watched"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "_ARMED", failpoint)
        for name, value in environment.items():
            patch.setenv(name, value)
        puller = get_context("fork").Process(target=main, args=(["puller"],))
        puller.start()
    puller.join(PATIENCE_SECONDS)
    assert puller.exitcode == -signal.SIGKILL
    watching.work()
    watching.fetch_later(file, minutes=1)
    assert watching.amounts() == [Decimal(3)]
    assert [job.status for job in watching.imports(file)] == ["finished"]
