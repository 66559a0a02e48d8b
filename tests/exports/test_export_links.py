"""Download links of local files: for one file, for fifteen minutes, for anyone who has the link."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from headwater.exports.links import Download
from headwater.exports.models import download_name
from tests.conftest import BASE_URL
from tests.support.exports import Exports

DAY = "2026-05-13"
KEY = b"k" * 32


@pytest.fixture
def link(exports: Exports) -> str:
    export_id = exports.ask(date=DAY)
    exports.work()
    return exports.status(export_id)["download_url"]


def change_query(link: str, **changes: str | None) -> str:
    parts = urlsplit(link)
    query = {**dict(parse_qsl(parts.query)), **changes}
    parameters = {name: value for name, value in query.items() if value is not None}
    return parts._replace(query=urlencode(parameters)).geturl()


def test_it_works(exports: Exports, link: str) -> None:
    assert link.startswith(f"{BASE_URL}/downloads/")
    answer = exports.fetch(link)
    assert answer.status_code == 200
    assert gzip.decompress(answer.content) == b""
    assert answer.headers["content-type"] == "application/gzip"
    name = urlsplit(link).path.rpartition("/")[2]
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert re.fullmatch(rf"events-2026-05-13-{uuid}\.ndjson\.gz", name)
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "no-store" in answer.headers["cache-control"]
    assert "content-encoding" not in answer.headers


def test_a_file_of_everything_has_no_dates_in_its_name() -> None:
    assert download_name("events", {"whole_range": True}, "x.csv") == "events-x.csv"
    assert download_name("events", {"date": "2026-05-13"}, "x.csv") == "events-2026-05-13-x.csv"


def test_it_expires_fifteen_minutes_after_the_answer_that_had_it(exports: Exports) -> None:
    export_id = exports.ask(date=DAY)
    exports.work()
    before = datetime.now(UTC).replace(microsecond=0)
    status = exports.status(export_id)
    expires = datetime.fromisoformat(status["expires_at"])
    assert before <= expires - timedelta(minutes=15) <= datetime.now(UTC)
    assert dict(parse_qsl(urlsplit(status["download_url"]).query))["expires"] == str(int(expires.timestamp()))
    later_status = exports.status(export_id)
    assert later_status["expires_at"] >= status["expires_at"]
    assert exports.fetch(later_status["download_url"]).status_code == 200


def test_names_cannot_be_guessed(exports: Exports) -> None:
    names = set()
    for _ in range(3):
        export_id = exports.ask(date=DAY)
        exports.work()
        names.add(urlsplit(exports.status(export_id)["download_url"]).path.rpartition("/")[2])
    assert len(names) == 3  # nor does one download overwrite another
    assert all(name.endswith(".ndjson.gz") for name in names)


@pytest.mark.parametrize(
    "change",
    [
        {"signature": None},
        {"signature": ""},
        {"signature": "0" * 64},
        {"signature": "é"},
        {"expires": None},
        {"expires": ""},
        {"expires": "99999999999"},
        {"expires": "99999999999999999999999"},
        {"expires": "-1"},
        {"expires": "1e9"},
    ],
)
def test_a_link_that_was_changed_is_refused(
    exports: Exports, link: str, change: dict[str, str | None]
) -> None:
    response = exports.fetch(change_query(link, **change))
    assert response.status_code == 403
    assert list(response.json()) == ["message"]


def test_a_link_opens_no_other_file(exports: Exports, link: str) -> None:
    export_id = exports.ask(date=DAY)
    exports.work()
    own_link, other_link = urlsplit(link), urlsplit(exports.status(export_id)["download_url"])
    assert exports.fetch(own_link._replace(path=other_link.path).geturl()).status_code == 403
    new_path = own_link.path.replace("events-2026-05-13", "harmless")
    assert exports.fetch(own_link._replace(path=new_path).geturl()).status_code == 403


@pytest.mark.parametrize(
    "path",
    ["/downloads/..%2F..%2Fetc%2Fpasswd/x", "/downloads/../etc/x", "/downloads/%2e%2e/x",
     "/downloads/x.ndjson.gz/x", "/downloads/a", "/downloads/"],
)  # fmt: skip
def test_a_path_leads_nowhere_else(exports: Exports, link: str, path: str) -> None:
    response = exports.fetch(urlsplit(link)._replace(path=path).geturl())
    assert response.status_code in (403, 404)
    assert "root:" not in response.text


def test_a_second_late_is_too_late() -> None:
    download = Download("00000000-0000-4000-8000-000000000000.ndjson.gz", "a.gz")
    url = urlsplit(download.url("http://x", KEY, 1000))
    query = dict(parse_qsl(url.query))
    assert download.admits(KEY, query, 999.9)
    assert not download.admits(KEY, query, 1000.0)
    assert not download.admits(b"x" * 32, query, 0)


def test_head_and_range(exports: Exports, link: str) -> None:
    full_response = exports.fetch(link)
    head = exports.fetch(link, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(full_response.content))
    assert head.headers["accept-ranges"] == "bytes"
    partial_response = exports.fetch(link, Range="bytes=2-5")
    assert (partial_response.status_code, partial_response.content) == (206, full_response.content[2:6])
    assert partial_response.headers["content-range"] == f"bytes 2-5/{len(full_response.content)}"
    beyond = exports.fetch(link, Range="bytes=99999-")
    assert beyond.status_code == 416
    assert exports.fetch(link, "POST").status_code == 405


def test_a_file_that_is_gone_is_not_found(exports: Exports, link: str) -> None:
    exports.storage.delete(urlsplit(link).path.split("/")[2])
    assert exports.fetch(link).status_code == 404
