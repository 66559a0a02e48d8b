"""Lines for a syslog server, over TCP or TLS (RFC 5424, framed by RFC 6587 and RFC 5425), within a deadline.

Syslog acknowledges nothing: a line counts as sent once the system has taken it for the open connection.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from headwater.base.syslog_server import SyslogServer

DEADLINE_SECONDS = 10.0
_PRIORITY = 13 * 8 + 6
"""Facility *log audit*, severity *informational*."""


class SyslogError(Exception):
    """The lines were not sent. The text names only the server."""


async def send_lines(
    server: SyslogServer,
    lines: Sequence[tuple[datetime, bytes]],
    seconds: float = DEADLINE_SECONDS,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Send each line with its time. Raise SyslogError."""
    context = (tls or ssl.create_default_context()) if server.is_tls else None
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(server.host, server.port, ssl=context)
            try:
                writer.write(b"".join(frame(moment, line) for moment, line in lines))
                await writer.drain()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except TimeoutError:
        raise SyslogError(f"{server.name} did not take the lines in time.") from None
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or "no protocol in common"
        raise SyslogError(f"TLS with {server.name} failed: {reason}.") from None
    except OSError:
        raise SyslogError(f"{server.name} cannot be reached.") from None


def frame(moment: datetime, line: bytes) -> bytes:
    """Return a message with its length in front: `<110>1 TIME HOST headwater - audit - LINE`."""
    time = moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    head = f"<{_PRIORITY}>1 {time} {socket.gethostname()} headwater - audit - "
    message = head.encode("ascii", "replace") + line
    return b"%d %s" % (len(message), message)
