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
from tests.imports.watching import CSV, WatchedFiles, open_engine
from tests.support.factories import Stage, make_stage
from tests.support.fake_platform import Answer, FakePlatform, Redirect
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wire import ReceivedRequest

URL = "https://reports.example/daily.csv"


@pytest.fixture
def watched(
    database_url: str, stage: Stage, connection: psycopg.Connection, tmp_path: Path
) -> Iterator[WatchedFiles]:
    connection.execute("UPDATE watched_files SET status = 'paused'")
    connection.execute(
        "UPDATE import_jobs SET status = 'cancelled' WHERE status IN ('checking', 'queued', 'running')"
    )
    with open_engine(database_url) as engine:
        yield WatchedFiles(database_url, stage, tmp_path, engine)


def table(text: str = CSV.format("5.50"), **headers: str) -> Answer:
    return Answer(body=text.encode(), headers={"Content-Type": "text/csv", **headers})


def test_it_works(watched: WatchedFiles) -> None:
    with FakePlatform(table(), table(), table(CSV.format("7")), default=table()) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL, secrets={"authorization": "Bearer abc"})
        watched.fetch()
        assert watched.amounts() == [Decimal("5.50")]
        state = watched.state(file)
        assert (state.status, state.fault, state.name) == ("active", None, "daily.csv")
        assert state.fetched_at == "2026-11-25T12:00:00Z"
        watched.fetch_later(file, days=1)  # unchanged
        watched.fetch_later(file, days=1)
        assert watched.amounts() == [Decimal(7)]
        watched.fetch_later(file, days=1)  # the first content again
        assert watched.amounts() == [Decimal("5.50")]
        jobs = watched.imports(file)
        assert [(job.status, job.taken, job.name) for job in jobs] == [("finished", 1, "daily.csv")] * 3
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer abc"}
        assert all(request.headers["accept"].startswith("text/csv") for request in server.requests)


def test_fetches_are_six_hours_apart(watched: WatchedFiles) -> None:
    with FakePlatform(default=table()) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL)
        watched.fetch()
        first = watched.state(file).next_fetch_at
        watched.fetch_later(file, hours=6)
        assert first[14:] == watched.state(file).next_fetch_at[14:]
        assert "2026-11-25T12:00" < first <= "2026-11-25T18:00:00Z"


def test_a_local_file_with_the_date_in_its_name(watched: WatchedFiles) -> None:
    (watched.folder / "meta").mkdir()
    (watched.folder / "meta" / "2026-11-24.csv").write_text(CSV.format("3"))
    file = watched.watch("file:///meta/{date}.csv")
    watched.fetch()
    assert watched.amounts() == [Decimal(3)]
    state = watched.fetch_later(file, days=1)
    assert (state.status, state.fault, state.failures) == ("active", "missing", 1)
    (watched.folder / "meta" / "2026-11-25.csv").write_text(CSV.format("4"))
    state = watched.fetch_later(file, minutes=1)
    assert (state.fault, state.failing_since, watched.amounts()) == (None, None, [Decimal(4)])


def test_the_date_is_yesterday_in_the_space(watched: WatchedFiles, connection: psycopg.Connection) -> None:
    far_watching = watched.watch_other_space(make_stage(connection, "Pacific/Kiritimati"))
    (far_watching.folder / "2026-11-25.csv").write_text(CSV.format("3"))
    far_watching.watch("file:///{date}.csv")
    far_watching.fetch()
    assert far_watching.amounts() == [Decimal(3)]


def test_settings_are_those_of_an_upload(watched: WatchedFiles) -> None:
    file = watched.folder / "x.csv"
    file.write_text("Tag;Kampagne;Kosten\n24.11.2026;1;1.234,50\n25.11.2026;1;2\n")
    settings: dict[str, Any] = {
        "columns": ["Tag:date", "Kampagne:campaign_id", "Kosten:amount"],
        "platform": "meta", "currency": "EUR", "dates": "dmy", "decimals": "comma",
    }  # fmt: skip
    held_id = watched.watch("file:///x.csv", settings={**settings, "currency": None})
    watched.fetch()
    state = watched.state(held_id)
    assert (state.status, state.fault) == ("held", "settings")
    assert "currency" in (state.fault_message or "")
    state = watched.change(held_id, settings=settings)
    assert (state.status, state.failures) == ("active", 0)
    assert watched.fetch_later(held_id, minutes=1).fault is None
    assert watched.amounts() == [Decimal("1234.50"), Decimal(2)]
    watched.change(held_id, settings={**settings, "platform": "tiktok"})
    watched.stage.connection.execute(
        "UPDATE watched_files SET next_fetch_at = %s WHERE id = %s", (watched.time, held_id)
    )
    watched.fetch()  # same content, other options
    assert len(watched.amounts()) == 4


def test_other_kinds(watched: WatchedFiles) -> None:
    (watched.folder / "names.csv").write_text("kind,id,name,platform\ncampaign,1,Autumn,meta\n")
    file = watched.watch("file:///names.csv", kind="ads")
    watched.fetch()
    assert [job.taken for job in watched.imports(file)] == [1]


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
        ({"address": f"https://reports.example/{'x' * 2048}"}, "address"),
        ({"address": "https://reports.example/x.csv#part"}, "address"),
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
    watched: WatchedFiles, monkeypatch: pytest.MonkeyPatch, answer: Any, fault: str, status: str
) -> None:
    monkeypatch.setattr(content, "MOST_BYTES", 1000)
    with FakePlatform(default=answer) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL)
        watched.fetch()
    state = watched.state(file)
    assert (state.fault, state.status, state.failures) == (fault, status, 1)
    assert state.fault_message
    assert watched.imports(file) == []
    assert not list((watched.files / "store").glob("*"))


def test_retries_grow(watched: WatchedFiles) -> None:
    with FakePlatform(default=Answer(404, b"")) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL)
        watched.fetch()
        times = [watched.fetch_later(file, minutes=1).next_fetch_at[11:16] for _ in range(3)]
        state = watched.state(file)
    assert times == ["12:06", "12:17", "13:03"]
    assert (state.failures, state.failing_since) == (4, "2026-11-25T12:00:00Z")


def test_a_redirect_to_another_host_gets_no_secret(watched: WatchedFiles) -> None:
    def answer(request: ReceivedRequest) -> Any:
        if request.target == "/daily.csv":
            return Redirect("https://files.example/x?sig=1")
        return table()

    with FakePlatform(default=answer) as server:
        watched.origins |= {"reports.example": server.url, "files.example": server.url}
        watched.watch(URL, secrets={"authorization": "Bearer abc"})
        watched.fetch()
        first, second = server.requests
    assert first.headers["authorization"] == "Bearer abc"
    assert "authorization" not in second.headers
    assert watched.amounts() == [Decimal("5.50")]


def test_a_name_with_a_private_address_is_refused(watched: WatchedFiles) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return ["10.1.2.3"]

    class Sender:
        async def send(self, call: Any, seconds: float | None = None, **limits: Any) -> Any:
            async with Egress(resolver=resolve) as egress:
                return await egress.send(call, seconds, **limits)

    file = watched.watch(URL)
    watched.fetch(Sender())
    state = watched.state(file)
    assert (state.status, state.fault) == ("held", "address")


@pytest.mark.parametrize("trap", ["link", "folder link", "pipe", "folder"])
def test_links_and_other_things_in_the_folder_are_refused(watched: WatchedFiles, trap: str) -> None:
    outside = watched.files / "outside"
    outside.mkdir()
    (outside / "x.csv").write_text(CSV.format("9"))
    inside = watched.folder
    if trap == "link":
        (inside / "x.csv").symlink_to(outside / "x.csv")
    elif trap == "folder link":
        (inside / "sub").symlink_to(outside)
    elif trap == "pipe":
        os.mkfifo(inside / "x.csv")
    else:
        (inside / "x.csv").mkdir()
    file = watched.watch("file:///sub/x.csv" if trap == "folder link" else "file:///x.csv")
    watched.fetch()
    assert (watched.state(file).fault, watched.amounts()) == ("address", [])


def test_spaces_do_not_see_each_others_files(watched: WatchedFiles, connection: psycopg.Connection) -> None:
    other_watching = watched.watch_other_space(make_stage(connection))
    (other_watching.folder / "x.csv").write_text(CSV.format("9"))
    own_file = watched.watch("file:///x.csv")
    other_file = other_watching.watch("file:///x.csv")
    watched.fetch()
    assert (watched.state(own_file).fault, watched.amounts()) == ("missing", [])
    assert other_watching.amounts() == [Decimal(9)]
    for verb in (watched_files.fetch_watched_file, watched_files.pause_watched_file):
        with pytest.raises(NotFound):
            watched.act(other_file, verb)
    with pytest.raises(NotFound):
        watched.change(other_file, name="Mine")
    assert watched.imports(other_file) == []


def test_secrets_stay_with_their_host(watched: WatchedFiles) -> None:
    with FakePlatform(default=table()) as server:
        watched.origins |= {"reports.example": server.url, "evil.example": server.url}
        file = watched.watch(URL, secrets={"authorization": "Bearer abc"})
        assert watched.change(file, address="https://reports.example/2.csv").secret_names == ["authorization"]
        assert watched.change(file, address="https://evil.example/2.csv").secret_names == []
        watched.fetch_later(file, minutes=1)
        assert "authorization" not in server.requests[-1].headers
    row = watched.stage.connection.execute(
        "SELECT w::text FROM watched_files w WHERE w.id = %s", (file,)
    ).fetchone()
    assert row is not None
    assert "abc" not in row[0]


def test_a_paused_file_is_not_fetched(watched: WatchedFiles) -> None:
    with FakePlatform(default=table()) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL)
        watched.act(file, watched_files.pause_watched_file)
        watched.fetch()
        assert server.requests == []
        watched.act(file, watched_files.resume_watched_file)
        watched.make_due(file)
        watched.fetch()
    assert watched.amounts() == [Decimal("5.50")]


def test_a_file_paused_while_it_is_fetched_is_not_imported(watched: WatchedFiles) -> None:
    file = 0

    def answer(request: ReceivedRequest) -> Answer:
        del request
        watched.stage.connection.execute("UPDATE watched_files SET status = 'paused' WHERE id = %s", (file,))
        return table()

    with FakePlatform(default=answer) as server:
        watched.origins["reports.example"] = server.url
        file = watched.watch(URL)
        watched.fetch()
    assert (watched.state(file).fault, watched.imports(file)) == (None, [])


def test_a_failed_import_is_tried_again(watched: WatchedFiles) -> None:
    (watched.folder / "x.csv").write_text(CSV.format("3"))
    file = watched.watch("file:///x.csv")
    watched.fetch()
    connection, space_id = watched.stage.connection, watched.stage.space_id
    connection.execute("UPDATE import_jobs SET status = 'failed' WHERE space_id = %s", (space_id,))
    watched.fetch_later(file, hours=6)
    assert [job.status for job in watched.imports(file)] == ["finished", "failed"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize(
    "failpoint", ["watched_file_fetched", "watched_file_before_commit", "watched_file_queued"]
)
def test_a_killed_fetch_imports_once(
    watched: WatchedFiles, monkeypatch: pytest.MonkeyPatch, failpoint: str
) -> None:
    """The puller is forked, because importing it takes longer than the rest of the test."""
    (watched.folder / "x.csv").write_text(CSV.format("3"))
    file = watched.watch("file:///x.csv")
    environment = {
        "HEADWATER_DATABASE_URL": watched.database_url,
        "HEADWATER_DATA_DIR": str(watched.files),
        "HEADWATER_STORAGE_URL": f"file://{watched.files / 'store'}",
        "HEADWATER_WATCHED_DIR": str(watched.files / "watched"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "_ARMED", failpoint)
        for name, value in environment.items():
            patch.setenv(name, value)
        puller = get_context("fork").Process(target=main, args=(["puller"],))
        puller.start()
    puller.join(PATIENCE_SECONDS)
    assert puller.exitcode == -signal.SIGKILL
    watched.work()
    watched.fetch_later(file, minutes=1)
    assert watched.amounts() == [Decimal(3)]
    assert [job.status for job in watched.imports(file)] == ["finished"]
