"""The tracker script as served: small, cached by browsers, loadable from any origin."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import httpx
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings, read_settings
from headwater.intake.tracker.script import make_script
from tests.conftest import Running, run_application

MOST_BYTES = 5750


@pytest.fixture(scope="module")
def renamed_server(database_url: str) -> Iterator[Running]:
    """A Headwater whose tracker uses other paths."""
    settings = Settings(tracker_script="/assets/app.js", tracker_endpoint="/collect")
    application = run_application(settings, database_url)
    yield application
    application.stop()


def get(server: Running, path: str = "/t.js", **headers: str) -> httpx.Response:
    header_fields = {name.replace("_", "-"): text for name, text in headers.items()}
    return httpx.get(server.base_url + path, headers=header_fields)


def test_it_works(server: Running) -> None:
    response = get(server)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "trkFingerprint" in response.text
    assert "__ENDPOINT__" not in response.text


def test_it_is_small(server: Running) -> None:
    with httpx.stream("GET", f"{server.base_url}/t.js", headers={"Accept-Encoding": "gzip"}) as response:
        packed_script = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == "gzip"
    assert len(packed_script) == int(response.headers["content-length"])
    assert len(packed_script) < MOST_BYTES
    assert gzip.decompress(packed_script) == get(server, accept_encoding="identity").content


def test_its_comments_stay_at_home(server: Running) -> None:
    text = get(server).text
    assert "/*" not in text
    assert not re.search(r"//(?! ?['\")])", text)


@pytest.mark.parametrize(
    ("accepted_encodings", "encoding"),
    [("gzip", "gzip"), ("br, GZIP;q=0.5", "gzip"), ("*", "gzip"), ("", None), ("identity", None),
     ("gzip;q=0", None), ("gzip; q=0.0, br", None), ("br", None), ("x-gzip", None)],
)  # fmt: skip
def test_encodings(server: Running, accepted_encodings: str, encoding: str | None) -> None:
    response = get(server, accept_encoding=accepted_encodings)
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "Accept-Encoding"


def test_browsers_cache_the_script(server: Running) -> None:
    first = get(server)
    assert first.headers["cache-control"] == "public, max-age=3600, stale-while-revalidate=86400"
    second = get(server, if_none_match=f'"other", {first.headers["etag"]}')
    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["etag"] == first.headers["etag"]
    plain = get(server, accept_encoding="identity", if_none_match=first.headers["etag"])
    assert plain.status_code == 200
    assert plain.headers["etag"] != first.headers["etag"]


def test_head(server: Running) -> None:
    response = httpx.head(f"{server.base_url}/t.js")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 1000


def test_other_names(renamed_server: Running) -> None:
    assert "'../collect'" in get(renamed_server, "/assets/app.js").text
    assert get(renamed_server).status_code == 404
    answer = httpx.post(f"{renamed_server.base_url}/collect", headers={"Origin": "https://x.example"})
    assert answer.status_code == 422
    assert httpx.post(f"{renamed_server.base_url}/t").status_code == 404


@pytest.mark.parametrize(
    ("script", "endpoint", "resolved_endpoint"),
    [("/t.js", "/t", "t"), ("/a/b/t.js", "/a/t", "../t"), ("/a/t.js", "/a/t", "t")],
)
def test_the_endpoint_is_found_from_the_script(script: str, endpoint: str, resolved_endpoint: str) -> None:
    assert f"'{resolved_endpoint}'".encode() in make_script(script, endpoint)


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/public-api/v1/x",
        "/metrics",
        "/docs/t.js",
        "/shared/t.js",
        "/favicon.ico",
        "/x/../console",
    ],
)
@pytest.mark.parametrize("name", ["TRACKER_SCRIPT", "TRACKER_ENDPOINT"])
def test_no_path_that_headwater_needs(name: str, path: str) -> None:
    with pytest.raises(Failure, match=f"HEADWATER_{name}: must not"):
        read_settings({f"HEADWATER_{name}": path})
