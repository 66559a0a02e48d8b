"""Clients for the product's other capabilities, which keep working while processes die. Each client repeats a
request until its outcome is known, and reports broken promises at the end. All clients work in one Space,
which forwards its events to a fake Meta.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from http.client import HTTPConnection, HTTPException
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import psycopg
from psycopg.sql import SQL, Identifier

from tests.crash.load import API, Account
from tests.crash.service import Service
from tests.support.fake_platform import Answer
from tests.support.sites import BROWSER
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wire import ReceivedRequest

PACE_SECONDS = 0.05
RETRY_SECONDS = 0.1
ANSWER_SECONDS = 15


def take(request: ReceivedRequest) -> Answer:
    """Return Meta's answer to events."""
    return Answer(body={"events_received": len(request.json()["data"]), "messages": []})


class Client(threading.Thread, ABC):
    """A capability in use. `acknowledged_marks` lists the marks of everything that the service accepted."""

    def __init__(self, service: Service, account: Account, seed: str) -> None:
        super().__init__(daemon=True, name=type(self).__name__)
        self.service, self.account, self.seed = service, account, seed
        self.stopping = threading.Event()
        self.acknowledged_marks: list[str] = []
        self.surprises: list[str] = []
        self.repeated = 0
        """The number of requests that were resent because their outcome was unknown."""

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            self.act(number)
            number += 1
            self.stopping.wait(PACE_SECONDS)

    @abstractmethod
    def act(self, number: int) -> None:
        """Perform one action, and continue until its outcome is known."""

    @abstractmethod
    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        """Return the broken promises, once everything is settled."""

    def mark(self, number: int) -> str:
        return f"{self.seed}-{type(self).__name__.lower()}-{number}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        *,
        expected_statuses: tuple[int, ...] = (),
    ) -> Any:
        """Send a request until the answer is definite: a success, or one of the `expected_statuses`. Return
        the answer.
        """
        all_headers = {"Authorization": f"Bearer {self.account.key}", **(headers or {})}
        content = None if body is None else json.dumps(body)
        deadline = time.monotonic() + 4 * PATIENCE_SECONDS
        while time.monotonic() < deadline:
            status, answer = self._send_once(method, path, content, all_headers)
            if 200 <= status < 300 or status in expected_statuses:
                return answer
            if status not in (0, 503):
                self.surprises.append(f"{self.name}: {method} {path}: {status} {answer!r}")
                return None
            self.repeated += 1
            time.sleep(RETRY_SECONDS)
        self.surprises.append(f"{method} {path}: no answer")
        return None

    def _send_once(
        self, method: str, path: str, content: str | None, headers: dict[str, str]
    ) -> tuple[int, Any]:
        http = HTTPConnection(self.account.host, self.service.port, timeout=ANSWER_SECONDS)
        try:
            http.request(method, path, content, headers)
            answer = http.getresponse()
            data = answer.read()
        except (OSError, HTTPException):
            return 0, None
        finally:
            http.close()
        return answer.status, json.loads(data) if data[:1] in (b"{", b"[") else data

    def track(self, email: str, key: str) -> Any:
        event = {"event_name": "sign_up", "email": email, "idempotency_key": key}
        return self.ask("POST", f"{API}/events/track", event)

    def make_contact(self, email: str, key: str) -> int:
        """Create a contact with an event, sent as often as necessary. Return the contact's id."""
        self.track(email, key)
        contact: Any = {}
        while "id" not in contact and not self.surprises:
            answer = self.ask("GET", f"{API}/contacts/by-email/{email}", expected_statuses=(404,)) or {}
            contact = answer.get("contact", answer)
            time.sleep(RETRY_SECONDS / 2)
        return int(contact.get("id", 0))

    def count_faults(self, connection: psycopg.Connection[Any], keys: list[str]) -> list[str]:
        """Return what is wrong with events that were acknowledged under idempotency keys."""
        counts = Counter(
            key for (key,) in connection.execute(
                "SELECT idempotency_key FROM events WHERE space_id = %s"
                " AND idempotency_key = ANY(%s)", (self.account.space_id, keys),
            )
        )  # fmt: skip
        return [f"{key}: stored {counts[key]} times" for key in keys if counts[key] != 1]


class Tracker(Client):
    """A browser that reports page views."""

    def __init__(self, service: Service, account: Account, seed: str, site_key: str) -> None:
        super().__init__(service, account, seed)
        self._site = site_key

    def act(self, number: int) -> None:
        url = f"{BROWSER['Origin']}/{self.mark(number)}"
        key = str(uuid5(NAMESPACE_URL, url))
        item = {"type": "page", "key": key, "ago": 0, "url": url}
        body = {"site": self._site, "token": f"tok-{number // 5}", "items": [item]}
        if self.ask("POST", "/t", body, BROWSER) is not None:
            self.acknowledged_marks.append(url)

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        counts = Counter(
            url for (url,) in connection.execute(
                "SELECT url FROM hits WHERE space_id = %s", (self.account.space_id,)
            )
        )  # fmt: skip
        return [f"{url}: seen {counts[url]} times" for url in self.acknowledged_marks if counts[url] != 1]


class Webhook(Client):
    """A shop that reports orders."""

    def __init__(self, service: Service, account: Account, seed: str, path: str) -> None:
        super().__init__(service, account, seed)
        self._path = path

    def act(self, number: int) -> None:
        key = self.mark(number)
        body = {"id": key, "email": f"{key}@shop.example", "total": number}
        if self.ask("POST", self._path, body) is not None:
            self.acknowledged_marks.append(key)

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        return self.count_faults(connection, self.acknowledged_marks)


class Assistant(Client):
    """An assistant that tracks events for a user."""

    def __init__(self, service: Service, account: Account, seed: str, token: str) -> None:
        super().__init__(service, account, seed)
        self._headers = {
            "Authorization": f"Bearer {token}", "Content-Type": "application/json",
            "Accept": "application/json", "MCP-Protocol-Version": "2025-11-25",
        }  # fmt: skip

    def act(self, number: int) -> None:
        key = self.mark(number)
        arguments = {"event_name": "sign_up", "email": f"{key}@a.example", "idempotency_key": key}
        call = {"name": "track_event", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        path = f"/mcp/{self.account.space_id}/public-api"
        while not self.surprises:
            answer = self.ask("POST", path, message, self._headers)
            if answer is not None and not answer.get("result", {"isError": True}).get("isError"):
                self.acknowledged_marks.append(key)
                return
            self.repeated += 1
            time.sleep(RETRY_SECONDS)

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        return self.count_faults(connection, self.acknowledged_marks)


class ContactChanges(Client):
    """A client that updates the same contact repeatedly."""

    def act(self, number: int) -> None:
        if number == 0:
            self._contact = self.make_contact(f"{self.seed}-kept@people.example", self.seed)
        value = self.mark(number)
        if self.ask("PUT", f"{API}/contacts/{self._contact}", {"names": [value]}) is not None:
            self.acknowledged_marks.append(value)

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        names = connection.execute(
            "SELECT name FROM contacts WHERE space_id = %s AND email = %s",
            (self.account.space_id, f"{self.seed}-kept@people.example"),
        ).fetchall()
        last = self.acknowledged_marks[-1:]
        return [] if [(name,) for name in last] == names else [f"{names} in place of {last}"]


class Erasures(Client):
    """People who ask to be erased immediately after an event."""

    def act(self, number: int) -> None:
        email = f"canary-{self.mark(number)}@gone.example"
        contact_id = self.make_contact(email, f"first-{self.mark(number)}")
        self.track(email, self.mark(number))
        if self.ask("DELETE", f"{API}/contacts/{contact_id}/pii") is not None:
            self.acknowledged_marks.append(email)

    def broken_promises(self, connection: psycopg.Connection[Any]) -> list[str]:
        """Return the tables that still contain an erased person's data."""
        faults: list[str] = []
        for (table,) in connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " AND a.attname = 'space_id' WHERE c.relnamespace = 'public'::regnamespace"
            " AND c.relkind = 'r' ORDER BY 1"
        ).fetchall():
            matches = connection.execute(
                SQL("SELECT t::text FROM {} t WHERE t::text LIKE %s").format(Identifier(table)),
                (f"%canary-{self.seed}-erasures-%",),
            ).fetchall()
            faults += [f"{table}: {row}" for (row,) in matches]
        return faults
