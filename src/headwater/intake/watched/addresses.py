"""Addresses of watched files: on the web, in a bucket of S3, Google or Azure, or in the Space's local folder.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

from headwater.base.egress.addresses import find_refusal, read_host
from headwater.base.egress.oauth import SERVICE_ACCOUNT, find_google_problem
from headwater.http.inputs.account_kinds import AccountKind, AccountSettings

LONGEST_ADDRESS = 2_000
DATE = "{date}"
"""In a path or query: yesterday, by the Space's clock."""

_PRINTABLE = re.compile(r"[!-~]+(?: [!-~]+)*")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER = re.compile(r"[a-z0-9$](?:[a-z0-9-]{0,61}[a-z0-9])?")


class AddressKind(AccountKind):
    """What a scheme's addresses look like, and which secrets they need."""

    settings = AccountSettings
    example: ClassVar[str]


class _Web(AddressKind):
    name, title = "https", "Web"
    example = "https://reports.example.com/daily.csv"
    secrets: ClassVar[Mapping[str, str]] = {
        "authorization": "The value of the Authorization header, such as Bearer and a token."
    }
    optional_secrets = frozenset(secrets)


class _Amazon(AddressKind):
    name, title = "s3", "Amazon S3"
    example = "s3://bucket/reports/daily.csv"
    secrets: ClassVar[Mapping[str, str]] = {
        "access_key_id": "The id of an access key that may read the object.",
        "secret_access_key": "The access key's secret.",
    }


class _Google(AddressKind):
    name, title = "gs", "Google Cloud Storage"
    example = "gs://bucket/reports/daily.csv"
    secrets: ClassVar[Mapping[str, str]] = {
        SERVICE_ACCOUNT: "The JSON key file of a service account that may read the object."
    }

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        return find_google_problem(secrets)


class _Azure(AddressKind):
    name, title = "az", "Azure Blob Storage"
    example = "az://account/container/reports/daily.csv"
    secrets: ClassVar[Mapping[str, str]] = {"sas_token": "A shared access signature that may read the blob."}


class _LocalFolder(AddressKind):
    name, title = "file", "Local folder"
    example = "file:///daily.csv"
    secrets: ClassVar[Mapping[str, str]] = {}


ADDRESS_KINDS: Mapping[str, AddressKind] = {
    kind.name: kind for kind in (_Web(), _Amazon(), _Google(), _Azure(), _LocalFolder())
}
"""By scheme."""


class WatchedAddress(NamedTuple):
    scheme: str
    """A key of ADDRESS_KINDS."""
    host: str
    """A host, bucket or storage account; empty for a local file."""
    path: str
    """Path and query of a web address; the key of an object, or a path below the Space's folder."""

    @property
    def text(self) -> str:
        slash = "" if self.scheme == "https" else "/"
        return f"{self.scheme}://{self.host}{slash}{self.path}"

    def at_day(self, day: date) -> WatchedAddress:
        return self._replace(path=self.path.replace(DATE, day.isoformat()))


def read_address(text: str) -> WatchedAddress:
    """Raise ValueError with a rule."""
    text = text.strip()
    scheme, separator, location = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in ADDRESS_KINDS:
        examples = ", ".join(kind.example for kind in ADDRESS_KINDS.values())
        raise ValueError(f"must be like one of {examples}.")
    if len(text) > LONGEST_ADDRESS or not _PRINTABLE.fullmatch(text):
        raise ValueError(f"must be at most {LONGEST_ADDRESS} printable characters of ASCII.")
    host, slash, path = location.partition("/")
    if scheme == "https":
        return WatchedAddress(scheme, _read_web_host(location), _read_web_path(location))
    if not slash or not _is_plain(path):
        rule = f"must name a file without . or .. in its path, such as {ADDRESS_KINDS[scheme].example}."
        raise ValueError(rule)
    if not _fits(scheme, host, path):
        raise ValueError(f"must be like {ADDRESS_KINDS[scheme].example}.")
    return WatchedAddress(scheme, host, path)


def _fits(scheme: str, host: str, path: str) -> bool:
    if scheme == "file":
        return not host
    if scheme == "az":
        container, _, blob = path.partition("/")
        return bool(_ACCOUNT.fullmatch(host) and _CONTAINER.fullmatch(container) and blob)
    return bool(_BUCKET.fullmatch(host))


def _read_web_host(location: str) -> str:
    netloc = re.split(r"[/?#]", location, maxsplit=1)[0]
    if "@" in netloc:
        raise ValueError("must have no user or password: use the secret authorization.")
    host = read_host(netloc.removesuffix(":443"))
    if host is None:
        raise ValueError(f"must have a plain host and no port, such as {ADDRESS_KINDS['https'].example}.")
    try:
        refusal = find_refusal(ip_address(host))
    except ValueError:
        return host
    if refusal is not None:
        raise ValueError(f"must be public: {host} is {refusal}.")
    return f"[{host}]" if ":" in host else host


def _read_web_path(location: str) -> str:
    if "#" in location or "\\" in location or " " in location:
        raise ValueError("must have no fragment, backslash or space.")
    match = re.search(r"[/?]", location)
    path = location[match.start() :] if match else "/"
    return path if path.startswith("/") else f"/{path}"


def _is_plain(path: str) -> bool:
    """Return whether a path names a file, without empty parts and parts that mean other folders."""
    parts = path.split("/")
    return all(segment not in ("", ".", "..") for segment in parts) and str(PurePosixPath(path)) == path
