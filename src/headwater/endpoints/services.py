"""Services shared by a process's requests, created by the composition root and looked up by type. Parts for
only one package are passed to its route function.
"""

from __future__ import annotations

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.base.storage import Storage
from headwater.database.pool import Database
from headwater.spaces.access import KeyCache
from headwater.spaces.accounts.passwords import Passwords
from headwater.spaces.sso.documents import ProviderDocuments


class Services(Struct, frozen=True):
    """Parts of an API process used by more than one package."""

    settings: Settings
    database: Database
    keys: KeyCache
    base_url: str
    """The service's public origin, without a trailing slash."""
    signing_key: bytes
    """Signs cursors, links and cookies."""
    sealing_key: bytes
    """Encrypts stored secrets."""
    egress: Egress
    """Sends requests of our own; hosts named by the operator may have any address."""
    public_egress: Egress
    """Fetches addresses given by others, with all checks for every host."""
    storage: Storage
    passwords: Passwords
    providers: ProviderDocuments
    """Documents and keys of the identity providers for single sign-on."""


def provide(app: Starlette, shared: Services) -> None:
    app.state.services = shared


def services(request: HTTPConnection) -> Services:
    shared: Services = request.app.state.services
    return shared
