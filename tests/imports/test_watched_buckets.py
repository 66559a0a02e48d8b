"""Files in buckets, read with the Space's own credentials, and signed like the cloud's own client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qs

import boto3
import msgspec
import psycopg
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from joserfc import jwt
from joserfc.jwk import RSAKey

from headwater.intake.watched.addresses import read_address
from headwater.intake.watched.requests import request_azure, request_s3
from tests.imports.watching import CSV, WatchedFiles, open_engine
from tests.support.factories import Stage
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import ReceivedRequest

KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "a secret"}
MOMENT = datetime(2026, 11, 25, 12, 30, 5, tzinfo=UTC)


@pytest.fixture
def watched_files(
    database_url: str, stage: Stage, connection: psycopg.Connection, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[WatchedFiles]:  # fmt: skip
    """Watched files. The operator's own credentials are present, and must not be used."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_SAS_KEY"):
        monkeypatch.setenv(name, "the operators")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    connection.execute("UPDATE watched_files SET status = 'paused'")
    with open_engine(database_url) as engine:
        yield WatchedFiles(database_url, stage, tmp_path, engine)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 server with a report in the bucket `files`."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import, so not in every process

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b",
        region_name="us-east-1",
    )  # fmt: skip
    client.create_bucket(Bucket="files")
    client.put_object(
        Bucket="files", Key="daily reports/2026-11-24 a+b.csv", Body=CSV.format("5.50").encode()
    )
    yield address
    server.stop()


def test_it_works(watched_files: WatchedFiles, s3: str) -> None:
    watched_files.origins["s3.us-east-1.amazonaws.com"] = s3
    file = watched_files.watch("s3://files/daily reports/{date} a+b.csv", secrets=KEYS)
    watched_files.fetch()
    assert watched_files.state(file).fault_message is None
    assert watched_files.amounts() == [Decimal("5.50")]
    missing = watched_files.watch("s3://files/other.csv", secrets=KEYS)
    watched_files.fetch()
    state = watched_files.state(missing)
    assert (state.status, state.fault) == ("active", "missing")
    assert "NoSuchKey" in (state.fault_message or "")


@pytest.mark.parametrize("key", ["daily.csv", "a b/c+d&e=f.csv", "x/%41~(1)'!*.csv"])
def test_requests_are_signed_as_botocore_signs_them(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = request_s3(read_address(f"s3://files/{key}"), "eu-central-1", KEYS, MOMENT)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: MOMENT.replace(tzinfo=None))
    client_request = AWSRequest("GET", call.url)
    credentials = Credentials(KEYS["access_key_id"], KEYS["secret_access_key"])
    S3SigV4Auth(credentials, "s3", "eu-central-1").add_auth(client_request)
    for name in ("Authorization", "X-Amz-Date", "X-Amz-Content-SHA256"):
        own_headers = {header.lower(): text for header, text in call.headers.items()}
        assert own_headers[name.lower()] == client_request.headers[name]


def test_a_bucket_of_another_region_names_it(watched_files: WatchedFiles) -> None:
    redirect = Answer(
        301, b"<Error><Code>PermanentRedirect</Code></Error>", {"x-amz-bucket-region": "eu-west-1"}
    )
    with FakePlatform(default=redirect) as server:
        watched_files.origins["s3.us-east-1.amazonaws.com"] = server.url
        file = watched_files.watch("s3://files/x.csv", secrets=KEYS)
        watched_files.fetch()
    state = watched_files.state(file)
    assert (state.status, state.fault) == ("held", "settings")
    assert "eu-west-1" in (state.fault_message or "")
    with FakePlatform(default=Answer(body=CSV.format("1").encode())) as server:
        watched_files.origins["s3.eu-west-1.amazonaws.com"] = server.url
        watched_files.change(file, settings={"region": "eu-west-1"})
        assert watched_files.fetch_later(file, minutes=1).fault is None


@pytest.fixture(scope="module")
def service_account() -> tuple[str, str]:
    """A key file, and its public key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    account = {"type": "service_account", "client_email": "a@b.example", "private_key": private}
    return msgspec.json.encode(account).decode(), public


def test_google(watched_files: WatchedFiles, service_account: tuple[str, str]) -> None:
    key_file, public = service_account

    def answer(request: ReceivedRequest) -> Answer:
        if request.target == "/token":
            assertion = parse_qs(request.body.decode())["assertion"][0]
            claims = jwt.decode(assertion, RSAKey.import_key(public)).claims
            assert claims["scope"].endswith("devstorage.read_only")
            return Answer(body={"access_token": "ya29", "expires_in": 3600})
        assert request.target == "/files/reports/daily.csv"
        if request.headers["authorization"] != "Bearer ya29":
            return Answer(401, b"")
        return Answer(body=CSV.format("5.50").encode())

    with FakePlatform(default=answer) as server:
        hosts = ("oauth2.googleapis.com", "storage.googleapis.com")
        watched_files.origins |= dict.fromkeys(hosts, server.url)
        file = watched_files.watch("gs://files/reports/daily.csv", secrets={"service_account_json": key_file})
        watched_files.fetch()
    assert watched_files.state(file).fault_message is None
    assert watched_files.amounts() == [Decimal("5.50")]


def test_a_google_account_that_gets_no_token(
    watched_files: WatchedFiles, service_account: tuple[str, str]
) -> None:
    refusal = Answer(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
    with FakePlatform(default=refusal) as server:
        watched_files.origins["oauth2.googleapis.com"] = server.url
        secrets = {"service_account_json": service_account[0]}
        file = watched_files.watch("gs://files/reports/daily.csv", secrets=secrets)
        watched_files.fetch()
    state = watched_files.state(file)
    assert (state.status, state.fault) == ("held", "credentials")
    assert "Invalid JWT" in (state.fault_message or "")


def test_azure(watched_files: WatchedFiles) -> None:
    def answer(request: ReceivedRequest) -> Answer:
        if request.target != "/box/daily%20report.csv?sv=2024&sig=a%2Bb":
            return Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>")
        return Answer(body=CSV.format("5.50").encode())

    with FakePlatform(default=answer) as server:
        watched_files.origins["shop.blob.core.windows.net"] = server.url
        good = watched_files.watch(
            "az://shop/box/daily report.csv", secrets={"sas_token": "?sv=2024&sig=a%2Bb"}
        )
        bad = watched_files.watch("az://shop/box/daily report.csv", secrets={"sas_token": "sv=2024&sig=x"})
        watched_files.fetch()
    assert watched_files.amounts() == [Decimal("5.50")]
    assert watched_files.state(good).fault is None
    state = watched_files.state(bad)
    assert (state.status, state.fault) == ("held", "credentials")


def test_a_signature_is_not_an_address() -> None:
    """The signature can't lead to another host."""
    call = request_azure(read_address("az://shop/box/x.csv"), "sv=1@evil.example/")
    assert call.url.startswith("https://shop.blob.core.windows.net/box/x.csv?")
