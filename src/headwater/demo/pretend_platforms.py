"""A pretend Meta and Google on loopback: one accepts most events, the other's token has expired. Environment
variables of the demo's process replace the platforms' origins.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from zlib import crc32

from headwater.demo.pretend_spend import TOKEN_START, answer_google, answer_meta

PIXEL_ID, ACCESS_TOKEN = "1234567890123456", "pretend-token-of-the-demo"
_EVENTS = re.compile(r"/v[0-9.]+/[0-9]+/events\?access_token=(.*)")
_REQUEST = re.compile(r"/v[0-9]+/requestStatus:retrieve\?requestId=pretend-([0-9]{1,4})-([0-9]+)")
_REFUSED_OF = 12
"""One in this many events is refused."""


class PretendPlatforms:
    """The server, while its block runs."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def environment(self) -> dict[str, str]:
        """Return variables that point a service to it."""
        origin = f"http://127.0.0.1:{self._server.server_port}"
        names = ("META", "GOOGLE", "META_SPEND", "GOOGLE_SPEND")
        return {f"HEADWATER_{name}_URL": origin for name in names}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def answer(path: str, body: bytes) -> tuple[int, dict[str, Any]]:
    if path == "/token" and f"refresh_token={TOKEN_START}".encode() in body and b"pretend-id" not in body:
        return 200, {"access_token": f"{TOKEN_START}-access", "expires_in": 3599}
    if path == "/token":
        error = "Token has been expired or revoked."
        return 400, {"error": "invalid_grant", "error_description": error}
    match = _EVENTS.fullmatch(path)
    if match is None:
        return 404, {"error": {"message": "Unknown path components", "code": 2500}}
    if match[1] != ACCESS_TOKEN:
        return 400, {"error": {"message": "Invalid OAuth access token", "code": 190}}
    events: list[dict[str, Any]] = json.loads(body)["data"]
    if any(crc32(str(event["event_id"]).encode()) % _REFUSED_OF == 0 for event in events):
        message = "Invalid parameter: the customer information is not specific enough"
        return 400, {"error": {"message": message, "code": 100, "error_subcode": 2804050}}
    return 200, {"events_received": len(events), "messages": []}


def answer_conversions(path: str, body: bytes) -> tuple[int, dict[str, Any]] | None:
    """Answer as Google's Data Manager; None for another path."""
    if path.endswith("/events:ingest"):
        return 200, {"requestId": _name_request(json.loads(body))}
    if request := _REQUEST.fullmatch(path):
        return 200, {"requestStatusPerDestination": [_judge_request(int(request[1]), request[2])]}
    return None


def _name_request(body: dict[str, Any]) -> str:
    """Keep what the verdicts need in the id."""
    events: list[dict[str, Any]] = body["events"]
    return f"pretend-{len(events)}-{crc32(str(events[0]['transactionId']).encode())}"


def _judge_request(events: int, checksum: str) -> dict[str, Any]:
    refused_indexes = list(range(int(checksum) % _REFUSED_OF, events, _REFUSED_OF))
    error = {
        "reason": "PROCESSING_ERROR_REASON_CLICK_NOT_FOUND",
        "recordCount": str(len(refused_indexes)),
        "recordIndices": refused_indexes,
    }
    if not refused_indexes:
        return {"requestStatus": "SUCCESS"}
    return {"requestStatus": "PARTIAL_SUCCESS", "errorInfo": {"errorCounts": [error]}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        google_answer = answer_google(self.path, dict(self.headers), body)
        self._send(*(google_answer or answer_conversions(self.path, body) or answer(self.path, body)))

    def do_GET(self) -> None:
        platform_answer = answer_meta(self.path, dict(self.headers)) or answer_conversions(self.path, b"")
        self._send(*(platform_answer or answer(self.path, b"")))

    def _send(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 # the library's name
        """Log nothing: the service has a log of its own."""
