from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from headwater.http.answers import DataPage

Domain = Annotated[
    str | None,
    Meta(
        description="Unique in the Space, letters beyond ASCII as `xn--…`; null when known by an external "
        "id only, or released."
    ),
]
ExternalId = Annotated[
    str | None, Meta(description="Your own id; unique in the Space; null when never given, or released.")
]


class ListedCompany(Struct, frozen=True):
    """A company in a list."""

    id: int
    domain: Domain
    external_id: ExternalId


class CompanyPage(DataPage[ListedCompany], frozen=True):
    """One page of companies."""


class Company(Struct, frozen=True):
    """A company."""

    id: int
    domain: Domain
    name: str
    external_id: ExternalId


class ClaimedCompany(Struct, frozen=True):
    """Another company of the Space has the domain or the external id."""

    message: str
    field: Literal["domain", "external_id"]
    conflicting_company_id: int
