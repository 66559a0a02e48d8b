"""Sites: `headwater site …`, their origins, and how soon a change takes effect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.cli import main
from headwater.spaces.sites.origins import is_among, parse_origin, sent_host
from tests.conftest import Running
from tests.support.factories import Stage
from tests.support.sites import ORIGIN, Site, event, page
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)


class Terminal:
    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self.capsys, self.space = capsys, ["--space", str(space_id)]

    def json(self, command: str, *arguments: str) -> Any:
        code = main(["site", command, *arguments, *self.space, "--json"])
        out, err = self.capsys.readouterr()
        assert (code, err) == (0, ""), err
        return json.loads(out)

    def fails(self, command: str, *arguments: str) -> str:
        assert main(["site", command, *arguments, *self.space]) == 2
        return self.capsys.readouterr().err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], stage: Stage, _no_service: None) -> Terminal:
    return Terminal(capsys, stage.space_id)


def test_it_works(terminal: Terminal, stage: Stage, server: Running) -> None:
    answer = terminal.json("create", "--name", "Shop", "--origin", "HTTPS://Shop.example:443/",
                           "--origin", "https://*.shop.example")  # fmt: skip
    key = answer["site_key"]
    assert key.startswith("trk_pk_")
    assert answer["origins"] == [ORIGIN, "https://*.shop.example"]
    assert answer["snippet"] == (
        f'<script async src="http://127.0.0.1:8080/t.js" data-site="{key}"></script>'
    )
    site = Site(stage.connection, server.base_url, stage.space_id, answer["id"], key)
    assert site.report(page()).status_code == 202
    (entry,) = terminal.json("list")
    assert entry == {name: answer[name] for name in answer if name != "signing_secret"}
    assert (entry["bot_hits"], entry["revoked_at"]) == (0, None)


def test_the_snippet_has_the_public_names(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_BASE_URL", "https://hw.shop.example")
    monkeypatch.setenv("HEADWATER_TRACKER_SCRIPT", "/a.js")
    answer = terminal.json("create", "--name", "Shop", "--origin", ORIGIN)
    assert 'src="https://hw.shop.example/a.js"' in answer["snippet"]


@pytest.fixture
def _long_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep cached sites for an hour, unless a change is announced."""
    monkeypatch.setattr("headwater.spaces.credential_cache.FRESH_SECONDS", 3600.0)


@pytest.mark.usefixtures("_long_cache")
def test_a_change_of_origins_is_prompt(terminal: Terminal, site: Site) -> None:
    assert site.report(page()).status_code == 202
    answer = terminal.json("set", str(site.id), "--origin", "https://new.example")
    assert answer["origins"] == ["https://new.example"]
    wait_until(lambda: site.report(page()).status_code == 403)
    assert site.report(page(), headers={"origin": "https://new.example"}).status_code == 202


@pytest.mark.usefixtures("_long_cache")
def test_amounts_are_refused_from_then_on(terminal: Terminal, site: Site) -> None:
    assert site.report(event(amount=1)).status_code == 202
    answer = terminal.json("set", str(site.id), "--amounts", "refuse")
    assert (answer["accepts_amounts"], answer["origins"]) == (False, [ORIGIN])
    wait_until(lambda: site.report(event(amount=1)).status_code == 422)
    assert terminal.json("set", str(site.id), "--amounts", "accept")["accepts_amounts"]
    words = ("--name", "Shop", "--origin", ORIGIN, "--amounts", "refuse")
    assert not terminal.json("create", *words)["accepts_amounts"]


@pytest.mark.usefixtures("_long_cache")
def test_revocation_is_prompt_and_final(terminal: Terminal, site: Site) -> None:
    assert site.report(page()).status_code == 202
    first = terminal.json("revoke", str(site.id))["revoked_at"]
    assert first
    wait_until(lambda: site.report(page()).status_code == 401)
    assert terminal.json("revoke", str(site.id))["revoked_at"] == first


def test_revocation_works_when_the_notice_is_lost(site: Site) -> None:
    assert site.report(page()).status_code == 202
    site.connection.execute("UPDATE sites SET revoked_at = now() WHERE id = %s", (site.id,))
    wait_until(lambda: site.report(page()).status_code == 401)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "--name", " ", "--origin", ORIGIN], "name: must not be empty"),
        (["create", "--name", "Shop", "--origin", "shop"], "origin: 'shop' must begin with http"),
        (["create", "--name", "Shop", *["--origin", ORIGIN, "--origin", "*"]], "origin: '*'"),
        (["set", "999999", "--origin", ORIGIN], "Site not found."),
        (["set", "1"], "nothing to change"),
        (["revoke", "999999"], "Site not found."),
    ],
)
def test_what_cannot_be_done_is_told(terminal: Terminal, arguments: list[str], message: str) -> None:
    assert message in terminal.fails(*arguments)


def test_too_many_origins(terminal: Terminal) -> None:
    words = [word for number in range(51) for word in ("--origin", f"https://{number}.example")]
    assert "must be 1 to 50 origins" in terminal.fails("create", "--name", "Shop", *words)


def test_another_space_s_site_is_unknown(terminal: Terminal, site: Site, make_space: Any) -> None:
    terminal.space = ["--space", str(make_space())]
    assert terminal.json("list") == []
    assert "Site not found." in terminal.fails("revoke", str(site.id))
    terminal.space = ["--space", "999999"]
    assert "Space not found." in terminal.fails("list")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://shop.example", "https://shop.example"),
        (" HTTPS://Shop.Example:443/ ", "https://shop.example"),
        ("http://shop.example:80", "http://shop.example"),
        ("https://shop.example:80", "https://shop.example:80"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("https://*.shop.example", "https://*.shop.example"),
        ("https://*.shop.example:8443", "https://*.shop.example:8443"),
        ("http://*.localhost", "http://*.localhost"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("http://[0:0::1]:3000", "http://[::1]:3000"),
        (" null ", "null"),
    ],
)
def test_origins(text: str, origin: str) -> None:
    assert parse_origin(text) == origin
    assert parse_origin(origin) == origin


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with http:// or https://"),
        ("*", "must begin with http"),
        ("shop.example", "must begin with http"),
        ("ftp://shop.example", "must begin with http"),
        ("https://", "must have a host"),
        ("https://*", "must have a host"),
        ("https://a b", "must have a host"),
        ("https://a..b", "must have a host"),
        ("https://*.*.example", "must have a host"),
        ("https://[::g]", "must have a host"),
        ("https://[::1", "must have a host"),
        ("https://*.[::1]", "must have a host"),
        ("https://shop.example:99999", "must have a port"),
        ("https://shop.example:x", "must have a port"),
        ("https://shop.example/path", "without a path"),
        ("https://shop.example?", "without a path, query"),
        ("https://me@shop.example", "query or user"),
        ("https://*.com", "must not cover all of com"),
        ("https://*.co.uk", "must not cover all of co.uk"),
        ("https://*.myshopify.com", "must not cover all of myshopify.com"),
    ],
)
def test_bad_origins_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="must") as error:
        parse_origin(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("origin", "is_one"),
    [
        ("https://a.shop.example", True),
        ("https://a.b.shop.example", True),
        ("https://shop.example", False),
        ("https://.shop.example", False),
        ("http://a.shop.example", False),
        ("https://a.shop.example:8443", False),
        ("https://ashop.example", False),
        ("https://a.shop.example.evil.example", False),
        ("https://evil.example/.shop.example", False),
        ("https://evil.example:1.shop.example", False),
        ("https://me@evil.example#.shop.example", False),
        ("https://A.shop.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_a_star_stands_for_hosts_below(origin: str, is_one: bool) -> None:
    is_known = sent_host(origin) is not None and is_among(origin, ["https://*.shop.example"])
    assert is_known is is_one
