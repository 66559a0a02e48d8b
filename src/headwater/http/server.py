"""The HTTP server: uvicorn, which here closes connections that take too long, and stops without
failing what was accepted.
"""

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
"""How many seconds a stopping server still takes requests on open connections."""
GRACE_SECONDS = 6
RETIREMENT_SECONDS = 60
"""The grace time of a server whose successor serves already: the longest report has room in it."""
MAX_CONNECTIONS = 800
NEW_OBJECTS = 10_000
"""New objects between two runs of the garbage collector. A few dozen concurrent requests create the usual
700, most of them still in use: collecting took a tenth of a request's time.
"""


class Server(uvicorn.Server):
    """A uvicorn server that closes connections which take too long, and stops without haste."""

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
        """Accept connections, and say that this has begun."""
        await super().startup(sockets)
        if self.started and self._began is not None:
            asyncio.get_running_loop().add_signal_handler(RETIRE, self.retire)
            self._began()

    def retire(self) -> None:
        """Stop without haste: another process accepts what comes."""
        self.config.timeout_graceful_shutdown = RETIREMENT_SECONDS
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # ten ticks a second
            self.close_overdue(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def close_overdue(self, now: float) -> None:
        """End every connection that is overdue at `now`, on the clock of the event loop."""
        connections = cast("set[Protocol]", self.server_state.connections)
        overdue = [connection for connection in connections if connection.overdue(now)]
        for connection in overdue:
            if connection.transport.get_write_buffer_size():
                connection.transport.abort()  # closing would wait for it to be taken
            else:
                connection.transport.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and answer what was accepted: a connection whose request is still on
        its way would otherwise be closed without a word.
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
    """Return a server for `app` that runs on listening sockets. If it is alone in its process, it calls
    `began` once it accepts connections, and retires on a signal.
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
    """Serve `app` until SIGTERM or SIGINT, then finish what has begun within the grace time."""
    # The program itself is no garbage: it need not be looked through again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    make_server(app, max_connections, began).run([listener])
