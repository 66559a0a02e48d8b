"""The services that the requests of a process share: made once by the composition root, and
reached from a request with their type. A part that only one package needs is handed to the function
that builds its routes.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.base.storage import Storage
from headwater.database.pool import Database
from headwater.spaces.access import KeyCache
from headwater.spaces.accounts.passwords import Passwords


@dataclass(frozen=True)
class Services:
    """The parts of a running API process that more than one package works with."""

    settings: Settings
    database: Database
    keys: KeyCache
    base_url: str
    """The origin under which people reach the service, without a slash at its end."""
    signing_key: bytes
    """Signs cursors, links and cookies."""
    sealing_key: bytes
    """Encrypts secrets where they are stored."""
    egress: Egress
    """Sends what we send of our own accord; hosts that the operator named may have any address."""
    public_egress: Egress
    """Fetches from addresses that others name: no host is exempt from its checks."""
    storage: Storage
    passwords: Passwords


def provide(app: Starlette, shared: Services) -> None:
    """Make the services known to the requests of an application."""
    app.state.services = shared


def services(request: HTTPConnection) -> Services:
    """Return the services of the application that a request came to."""
    shared: Services = request.app.state.services
    return shared
