"""The object stores: a bucket of a real S3-compatible server, and a local folder."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import httpx
import obstore
import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings, read_settings
from headwater.base.storage import Bucket, LocalFolder, Storage, open_storage
from headwater.exports.worker import work
from tests.conftest import client_for, run_application
from tests.support.factories import Stage

SHOWN_AS = "events-2026-05-13.ndjson.gz"
FOLDER = "file://" + "/x/y"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3-compatible server with the bucket `files`."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import, for every test process

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b",
        region_name="us-east-1",
    ).create_bucket(Bucket="files")  # fmt: skip
    yield address
    server.stop()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> Storage:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3, "AWS_ALLOW_HTTP": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return open_storage(Settings(storage_url="s3://files/exports"))


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path / "exports")


def test_it_works(bucket: Storage) -> None:
    with bucket.create("one.gz", SHOWN_AS) as sink:
        for _ in range(3):
            sink.write(b"abc" * 4_000_000)  # several parts
    link = bucket.link("one.gz", timedelta(minutes=15))
    assert link is not None
    answer = httpx.get(link)
    assert (answer.status_code, len(answer.content)) == (200, 36_000_000)
    assert answer.headers["content-type"] == "application/gzip"
    assert SHOWN_AS in answer.headers["content-disposition"]
    assert urlsplit(link).path == "/files/exports/one.gz"
    assert "X-Amz-Expires=900" in link
    bucket.delete("one.gz")
    assert httpx.get(link).status_code == 404


@pytest.mark.parametrize("storage_name", ["bucket", "folder"])
def test_a_file_is_read_from_any_place(storage_name: str, request: pytest.FixtureRequest) -> None:
    storage: Storage = request.getfixturevalue(storage_name)
    with storage.create("up.upload", "up.upload") as sink:
        sink.write(b"head" + b"x" * 9_000_000 + b"end")
    assert storage.read_head("up.upload", 4) == b"head"
    with storage.open("up.upload") as file:
        assert (file.read(5), file.seek(-3, 2), file.read()) == (b"headx", 9_000_004, b"end")
    storage.delete("up.upload")
    with pytest.raises(FileNotFoundError):
        storage.read_head("up.upload", 4)
    with pytest.raises(FileNotFoundError), storage.open("up.upload"):
        pass


def names(storage: Storage) -> list[str]:
    if isinstance(storage, LocalFolder):
        return sorted(path.name for path in storage.folder.glob("*"))
    assert isinstance(storage, Bucket)
    return sorted(entry["path"] for batch in obstore.list(storage._store) for entry in batch)


@pytest.fixture(params=["bucket", "folder"])
def storage(request: pytest.FixtureRequest) -> Storage:
    return request.getfixturevalue(request.param)


def test_a_file_is_there_when_it_is_whole(storage: Storage) -> None:
    with storage.create("a.gz", SHOWN_AS) as sink:
        sink.write(b"x" * 20_000_000)
        assert "a.gz" not in names(storage)
    assert "a.gz" in names(storage)
    storage.delete("a.gz")
    storage.delete("a.gz")
    assert names(storage) == []


def test_an_error_leaves_nothing(storage: Storage) -> None:
    def fail() -> None:
        with storage.create("b.gz", SHOWN_AS) as sink:
            sink.write(b"x" * 20_000_000)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names(storage) == []


def test_what_a_killed_process_left_is_deleted_by_its_name(folder: LocalFolder) -> None:
    folder.folder.mkdir()
    folder.path("c.gz.partial").write_bytes(b"x")
    folder.delete("c.gz")
    assert names(folder) == []


def test_a_folder_is_served_by_headwater(folder: LocalFolder) -> None:
    assert folder.link("a.gz", timedelta(minutes=15)) is None


def test_an_export_to_a_bucket(
    bucket: Storage, stage: Stage, database_url: str, connection: psycopg.Connection
) -> None:
    connection.execute("UPDATE exports SET status = 'failed' WHERE status <> 'completed'")
    stage.event(stage.contact())
    application = run_application(Settings(storage_url="s3://files/exports"), database_url)
    try:
        with client_for(application, stage.key) as client:
            export = client.post("/events/exports", json={"date": "2026-05-13"}).json()
            work(connection, bucket, database_url)
            status = client.get(f"/events/exports/{export['export_id']}").json()
            second_status = client.get(f"/events/exports/{export['export_id']}").json()
    finally:
        application.stop()
    assert status["status"] == "completed"
    assert httpx.get(second_status["download_url"]).status_code == 200
    content = httpx.get(status["download_url"]).content
    assert len(gzip.decompress(content).splitlines()) == 1


def test_a_bucket_that_is_not_there_fails_the_job(
    s3: str, bucket: Storage, stage: Stage, database_url: str, connection: psycopg.Connection
) -> None:
    del bucket, s3  # used for the variables they set
    connection.execute("UPDATE exports SET status = 'failed' WHERE status <> 'completed'")
    row = connection.execute(
        "INSERT INTO exports (space_id, kind, request, range_start, range_end)"
        """ VALUES (%s, 'events', '{"date": "2026-05-13"}', now(), now()) RETURNING id""",
        (stage.space_id,),
    ).fetchone()
    work(connection, open_storage(Settings(storage_url="s3://nowhere/x")), database_url)
    error_row = connection.execute(
        "SELECT error FROM exports WHERE space_id = %s AND id = %s", (stage.space_id, *(row or ()))
    ).fetchone()
    assert error_row is not None
    assert "store" in error_row[0] or "written" in error_row[0]


@pytest.mark.parametrize("url", ["s3://bucket", "gs://b/path", "az://account/b", FOLDER])
def test_valid_urls_are_accepted(url: str) -> None:
    assert read_settings({"HEADWATER_STORAGE_URL": url}).storage_url == url


@pytest.mark.parametrize("url", ["bucket", "s3:///x", "http://x/y", "ftp://x", "file://x/y", "file:x"])
def test_bad_urls_are_refused(url: str) -> None:
    variables: Mapping[str, str] = {"HEADWATER_STORAGE_URL": url}
    with pytest.raises(Failure, match="HEADWATER_STORAGE_URL"):
        read_settings(variables)
