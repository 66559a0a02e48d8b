"""Other projects' clients, authorized by a user: by registration or, where supported, by metadata document,
into the right Space. Also, the conformance suite's scenarios for authorization servers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import httpx2
import psycopg
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from tests.conformance.node import Node
from tests.oauth.staging import AUTHORIZE, LOOPBACK, Installation, Person, make_query
from tests.support.waiting import PATIENCE_SECONDS

SCRIPT = Path(__file__).parent / "connect.mjs"

_ASKS = re.compile(r"https?://\S+/mcp/oauth/authorize\?[^\s\"']+")


@pytest.fixture(autouse=True)
def _no_registrations(connection: psycopg.Connection) -> None:
    """Reset the registration limit, because these clients all register from this machine."""
    connection.execute("DELETE FROM attempts")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def resource(installation: Installation, space_id: int) -> str:
    return f"{installation.base_url}/mcp/{space_id}/public-api"


def agree(person: Person, url: str, **fields: str) -> str:
    """Agree as a user who is sent to `url`, and return the redirect's address."""
    assert urlsplit(url).path == AUTHORIZE
    answer = person.answer(urlsplit(url).query, **fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def visit(location: str) -> httpx.Response:
    """Follow the browser's redirect. A client announces its address before it listens there, so the
    connection is retried for some seconds.
    """
    with httpx.Client(transport=httpx.HTTPTransport(retries=5)) as browser:
        return browser.get(location)


class RunningClient:
    """A running client, and everything it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.text = process, ""
        self._open = selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            self._open.register(pipe, selectors.EVENT_READ)

    def read_until(self, pattern: re.Pattern[str] | None) -> str:
        """Read until a pattern is printed or, without a pattern, to the end."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._open.get_map():
            match = pattern.search(self.text) if pattern else None
            if match and self.text[match.end() :]:
                return match[0]
            assert time.monotonic() < deadline, self.text
            for key, _ in self._open.select(1.0):
                chunk = os.read(key.fd, 65536).decode(errors="replace")
                if not chunk:
                    self._open.unregister(key.fileobj)
                self.text += chunk
        assert pattern is None, self.text
        return self.text

    def write_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextmanager
def run_script(node: Node, script: Path, *arguments: str, home_dir: Path) -> Iterator[RunningClient]:
    environment = {
        "HOME": str(home_dir), "BROWSER": "true", "MCP_REMOTE_CONFIG_DIR": str(home_dir),
        "MCP_AUTO_OPEN_ENABLED": "true", "MCP_INSPECTOR_SECRET_STORE": "memory",
    }  # fmt: skip
    process = node.start(script, *arguments, env=environment)
    try:
        yield RunningClient(process)
    finally:
        process.kill()
        process.wait(10)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class Store:
    """The storage of the Python client."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def call_from_python(url: str, person: Person, document: str | None, mode: str) -> tuple[Any, Store]:
    locations: list[str] = []
    store = Store()

    async def send_away(location: str) -> None:
        locations.append(location)

    async def follow_redirect() -> AuthorizationCodeResult:
        parameters = make_query(await asyncio.to_thread(agree, person, locations[-1]))
        return AuthorizationCodeResult(**parameters)

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "Python client", "redirect_uris": [LOOPBACK]}
    )
    provider = OAuthClientProvider(
        url, metadata, store, send_away, follow_redirect, client_metadata_url=document
    )
    async with (
        httpx2.AsyncClient(auth=provider, timeout=PATIENCE_SECONDS) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        result = await client.call_tool("get_space", {})
        return result.structured_content, store


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("hosted", [False, True], ids=["registered", "hosted"])
def test_it_works(
    installation: Installation, person: Person, space_id: int, mode: str, *, hosted: bool
) -> None:
    """The official Python client, in both eras."""
    document = installation.host().id if hosted else None
    url = resource(installation, space_id)
    space, store = asyncio.run(call_from_python(url, person, document, mode))
    assert space["id"] == space_id
    assert store.tokens.refresh_token is None
    assert store.client.client_id == document if hosted else store.client.client_id


@pytest.mark.parametrize("hosted", [False, True], ids=["registered", "hosted"])
def test_the_typescript_client(
    installation: Installation, person: Person, space_id: int, node: Node,
    tmp_path: Path, *, hosted: bool,
) -> None:  # fmt: skip
    client_ids = [installation.host().id] if hosted else []
    url = resource(installation, space_id)
    with run_script(node, SCRIPT, url, LOOPBACK, *client_ids, home_dir=tmp_path) as client:
        client.write_line(agree(person, client.read_until(_ASKS)))
        output = json.loads(client.read_until(None).splitlines()[-1])
    assert output["space"]["id"] == space_id
    assert output["id"] == client_ids[0] if hosted else output["id"].startswith("trk_client_")


def test_mcp_remote(
    installation: Installation, person: Person, space_id: int, node: Node, tmp_path: Path
) -> None:
    url, port = resource(installation, space_id), str(free_port())
    script = node.package("mcp-remote/dist/client.js")
    with run_script(node, script, url, port, home_dir=tmp_path) as client:
        assert httpx.get(agree(person, client.read_until(_ASKS))).status_code == 200
        text = client.read_until(re.compile("get_space"))
    assert text


def test_the_inspector(
    installation: Installation, person: Person, space_id: int, node: Node, tmp_path: Path
) -> None:
    document = installation.host({"redirect_uris": ["http://127.0.0.1/oauth/callback"]}).id
    for options in ([], ["--client-metadata-url", document]):
        with inspector(installation, space_id, node, tmp_path, *options) as client:
            location = agree(person, client.read_until(_ASKS))
            assert visit(location).status_code == 200
            text = client.read_until(None)
            assert client.process.wait(10) == 0, text
        assert f'"id":{space_id},' in text.replace(" ", "")


@contextmanager
def inspector(
    installation: Installation, space_id: int, node: Node, home_dir: Path, *options: str
) -> Iterator[RunningClient]:
    script = node.package("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    arguments = [
        "--cli", "--server-url", resource(installation, space_id), "--transport", "http",
        "--method", "tools/call", "--tool-name", "get_space", "--format", "json",
        "--callback-url", callback, "--relogin", *options,
    ]  # fmt: skip
    with run_script(node, script, *arguments, home_dir=home_dir) as client:
        yield client


def test_a_wrong_space_is_a_clean_no(
    installation: Installation, person: Person, node: Node, tmp_path: Path
) -> None:
    """The user isn't a member of the Space: the client is notified that it has no access."""
    foreign = installation.make_space()
    with inspector(installation, foreign, node, tmp_path) as client:
        url = client.read_until(_ASKS)
        answer = person.answer(urlsplit(url).query, "deny")
        assert make_query(answer.headers["location"])["error"] == "access_denied"
        httpx.get(answer.headers["location"])
        text = client.read_until(None)
        assert client.process.wait(10) != 0, text
    assert "The person said no." in text


def test_the_conformance_suite(
    installation: Installation, person: Person, node: Node, tmp_path: Path
) -> None:
    port = free_port()
    client = installation.assistant(f"http://127.0.0.1:{port}/callback")
    arguments = ["authorization", "--url", installation.base_url, "--client-id", client.id,
                 "--port", str(port), "-o", str(tmp_path / "out")]  # fmt: skip
    script = node.package("@modelcontextprotocol/conformance/dist/index.js")
    with run_script(node, script, *arguments, home_dir=tmp_path) as suite:
        location = agree(person, suite.read_until(_ASKS))
        visit(location)
        text = suite.read_until(None)
        assert suite.process.wait(10) == 0, text
    totals = re.findall(r"(\d+) passed, (\d+) failed", text)
    assert totals, text
    assert totals[-1] == ("3", "0"), text
