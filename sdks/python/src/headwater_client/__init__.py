"""Client of the Headwater API, with retries, a buffer and signatures."""

from headwater_client.assistants import assistant_url, configure_assistant
from headwater_client.buffer import BufferFullError, BufferInUseError, EventBuffer, Rejection
from headwater_client.client import Client
from headwater_client.errors import ApiError, ConnectionFailedError, HeadwaterError
from headwater_client.signing import sign_identity, sign_webhook

__all__ = [
    "ApiError",
    "BufferFullError",
    "BufferInUseError",
    "Client",
    "ConnectionFailedError",
    "EventBuffer",
    "HeadwaterError",
    "Rejection",
    "assistant_url",
    "configure_assistant",
    "sign_identity",
    "sign_webhook",
]
__version__ = "0.1.0"
