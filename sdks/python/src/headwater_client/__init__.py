"""Client of the Headwater API, with retries, a buffer and signatures."""

from headwater_client.assistants import assistant_url, configure_assistant
from headwater_client.async_client import AsyncClient
from headwater_client.buffer import BufferFileError, BufferFullError, EventBuffer, Rejection
from headwater_client.client import Client
from headwater_client.errors import ApiError, ConnectionFailedError, HeadwaterError
from headwater_client.signing import sign_identity, sign_webhook
from headwater_client.version import __version__

__all__ = [
    "ApiError",
    "AsyncClient",
    "BufferFileError",
    "BufferFullError",
    "Client",
    "ConnectionFailedError",
    "EventBuffer",
    "HeadwaterError",
    "Rejection",
    "__version__",
    "assistant_url",
    "configure_assistant",
    "sign_identity",
    "sign_webhook",
]
