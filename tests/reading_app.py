"""The routes of stored events alone, on a port of their own."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response

from headwater.database.pool import Database
from headwater.events.routes import router
from headwater.http.errors import Problem
from headwater.spaces.access import KeyRing

API = "/public-api/v1"
BASE_URL = "http://headwater.test"


def make_app(database_url: str) -> FastAPI:
    database = Database(database_url, size=2)
    keys = KeyRing(database, 1.0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await database.open()
        keys.start()
        yield
        await keys.stop()
        await database.close()

    async def answer(_: Request, problem: Any) -> Response:
        return Response(problem.body(), problem.status, problem.headers, "application/json")

    app = FastAPI(title="v1", version="1.3.0", lifespan=lifespan)
    app.include_router(router, prefix=API)
    app.add_exception_handler(Problem, answer)
    app.state.headwater = SimpleNamespace(
        database=database, keys=keys, signing_key=b"k" * 32, base_url=BASE_URL
    )
    return app


@contextmanager
def client_of(database_url: str) -> Iterator[httpx.Client]:
    """A client of a server in a thread; requests wait in the socket until it accepts them."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make_app(database_url), log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        yield client
    server.should_exit = True
    thread.join()
    listener.close()
