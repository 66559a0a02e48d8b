"""All clients: registered ones, and those that host a metadata document."""

from __future__ import annotations

from msgspec import Struct

from headwater.assistants.oauth.client_metadata import HostedClients, is_document_url
from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.registrations import fetch_client
from headwater.database.pool import Database


class ClientDirectory(Struct, frozen=True):
    database: Database
    hosted: HostedClients | None
    """None if the operator disables clients that host their document."""

    def hosting(self, client_id: str) -> HostedClients | None:
        """Return None for a client that doesn't host its document."""
        return self.hosted if is_document_url(client_id) else None

    async def find(self, client_id: str) -> OAuthClient | None:
        """Raise OAuthError for an unusable document."""
        hosted = self.hosting(client_id)
        if hosted is not None:
            return await hosted.fetch(client_id)
        return await self.find_registered(client_id)

    async def find_registered(self, client_id: str) -> OAuthClient | None:
        async with self.database.connection() as connection:
            return await fetch_client(connection, client_id)
