"""The HTTP server: uvicorn, with deadlines for connections and a graceful stop."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from headwater.base.succession import RETIRE
from headwater.http.connection import Protocol, State

LAST_CALL_SECONDS = 1.0
"""Seconds that a stopping server still accepts requests on open connections."""
GRACE_SECONDS = 6
RETIREMENT_SECONDS = 60
"""Grace period of a server whose successor is running, enough for the longest report."""
MAX_CONNECTIONS = 800
NEW_OBJECTS = 10_000
"""New objects between garbage collections. A few dozen concurrent requests create the default 700, mostly in
use, and collecting took a tenth of a request's time.
"""


class Server(uvicorn.Server):
    """A uvicorn server that closes overdue connections and stops gracefully."""

    server_state: State

    def __init__(
        self,
        config: uvicorn.Config,
        max_connections: int = MAX_CONNECTIONS,
        began: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self.server_state = State(max_connections)
        self._began = began

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and report the start."""
        await super().startup(sockets)
        if self.started and self._began is not None:
            asyncio.get_running_loop().add_signal_handler(RETIRE, self.retire)
            self._began()

    def retire(self) -> None:
        """Stop gracefully; another process accepts new connections."""
        self.config.timeout_graceful_shutdown = RETIREMENT_SECONDS
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # ten ticks a second
            self.close_overdue(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def close_overdue(self, current_time: float) -> None:
        """Close every connection overdue at `current_time`, on the event loop's clock."""
        connections = cast("set[Protocol]", self.server_state.connections)
        overdue = [connection for connection in connections if connection.overdue(current_time)]
        for connection in overdue:
            if connection.transport.get_write_buffer_size():
                connection.transport.abort()  # closing would wait for the client to read it
            else:
                connection.transport.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and answer accepted requests: a connection whose request is still arriving would
        otherwise be closed silently.
        """
        for server in self.servers:
            server.close()
        self.server_state.ending = True
        connections = cast("set[Protocol]", self.server_state.connections)
        for connection in connections:
            connection.answer_last()
        loop = asyncio.get_running_loop()
        last_call = loop.time() + LAST_CALL_SECONDS
        while connections and loop.time() < last_call:  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.01)
        await super().shutdown(sockets)


def make_server(
    app: Any, max_connections: int = MAX_CONNECTIONS, began: Callable[[], None] | None = None
) -> Server:
    """Return a server for `app` on listening sockets. Alone in its process, it calls `began` once it accepts
    connections, and retires on a signal.
    """
    config = uvicorn.Config(
        app,
        http=Protocol,
        loop="uvloop",
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=2048,
    )
    return Server(config, max_connections, began)


def serve(app: Any, listener: socket.socket, max_connections: int, began: Callable[[], None]) -> None:
    """Serve `app` until SIGTERM or SIGINT, then finish current work within the grace period."""
    # The program's own objects never become garbage, so exclude them from collections. What is garbage among
    # them is too little for the time that a collection takes.
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    make_server(app, max_connections, began).run([listener])
