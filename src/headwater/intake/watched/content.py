"""Fetch the content of a watched file, with a deadline and a size limit."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import urljoin

from msgspec import Struct

from headwater.base.egress.access_tokens import HttpSender
from headwater.base.egress.answers import join_error_texts
from headwater.base.egress.models import AddressRefused, BadUrl, EgressError, EgressRequest, EgressResponse
from headwater.base.egress.oauth import TokenError, read_token
from headwater.intake.watched import requests
from headwater.intake.watched.addresses import WatchedAddress, read_address
from headwater.intake.watched.faults import FetchError, WatchFault
from headwater.intake.watched.folders import NotARegularFileError, read_local_file

FETCH_SECONDS = 120.0
"""For one answer."""
MOST_BYTES = 50_000_000
MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CREDENTIAL_ERRORS = re.compile(r"InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|InvalidToken")
_ERROR = re.compile(r"<(Code|Message)>([^<]{1,300})</\1>")
_EXCERPT_BYTES = 4096
TOO_LARGE = f"The file has more than {MOST_BYTES // 1_000_000} MB."


class ContentSource(Struct, frozen=True):
    """Where files are fetched from."""

    sender: HttpSender
    folder: Path | None
    """Has a folder for each Space; None if local files are not allowed."""


class FileAccess(Struct, frozen=True):
    """What is needed to fetch one file."""

    space_id: int
    address: WatchedAddress
    region: str
    secrets: Mapping[str, str]


async def fetch_content(source: ContentSource, access: FileAccess, moment: datetime) -> bytes:
    """Raise FetchError."""
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            if access.address.scheme == "file":
                return await _read_file(source.folder, access)
            if access.address.scheme == "https":
                return await _get_from_web(source.sender, access)
            call = await _request_object(source.sender, access, moment)
            return _read_answer(await _send(source.sender, call))
    except TimeoutError:
        raise FetchError(WatchFault.UNREACHABLE, "The file did not arrive in time.") from None


async def _read_file(folder: Path | None, access: FileAccess) -> bytes:
    if folder is None:
        raise FetchError(WatchFault.ADDRESS, "The operator of this installation allows no local files.")
    path = access.address.path
    try:
        content = await asyncio.to_thread(read_local_file, folder, access.space_id, path, MOST_BYTES)
    except FileNotFoundError:
        raise FetchError(WatchFault.MISSING, "The file does not exist.") from None
    except NotARegularFileError:
        raise FetchError(WatchFault.ADDRESS, "The path has a symbolic link, or is not a file.") from None
    except OSError as error:
        raise FetchError(WatchFault.MISSING, f"The file cannot be read: {error.strerror}.") from None
    if len(content) > MOST_BYTES:
        raise FetchError(WatchFault.TOO_LARGE, TOO_LARGE)
    return content


async def _get_from_web(sender: HttpSender, access: FileAccess) -> bytes:
    """Follow redirects to other https addresses; other hosts don't get the secret."""
    address, authorization = access.address, access.secrets.get("authorization")
    for _ in range(MOST_REDIRECTS + 1):
        answer = await _send(sender, requests.request_web(address.text, authorization))
        target = answer.headers.get("location", "")
        if answer.status not in _REDIRECTS or not target:
            return _read_answer(answer)
        try:
            next_address = read_address(urljoin(address.text, target))
        except ValueError:
            next_address = None
        if next_address is None or next_address.scheme != "https":
            raise FetchError(WatchFault.ADDRESS, "The address redirects to one that is not allowed.")
        if next_address.host != address.host:
            authorization = None
        address = next_address
    raise FetchError(WatchFault.ADDRESS, f"The address redirects more than {MOST_REDIRECTS} times.")


async def _request_object(sender: HttpSender, access: FileAccess, moment: datetime) -> EgressRequest:
    address, secrets = access.address, access.secrets
    if address.scheme == "s3":
        return requests.request_s3(address, access.region, secrets, moment)
    if address.scheme == "az":
        return requests.request_azure(address, secrets["sas_token"])
    try:
        call = requests.request_token(secrets, moment)
    except ValueError as error:
        raise FetchError(WatchFault.CREDENTIALS, str(error)) from None
    token = read_token(await _send(sender, call))
    if isinstance(token, TokenError):
        fault = WatchFault.UNREACHABLE if token.is_temporary else WatchFault.CREDENTIALS
        raise FetchError(fault, token.text)
    return requests.request_google(address, token.text)


async def _send(sender: HttpSender, call: EgressRequest) -> EgressResponse:
    try:
        return await sender.send(call, FETCH_SECONDS, most_bytes=MOST_BYTES)
    except (AddressRefused, BadUrl) as error:
        raise FetchError(WatchFault.ADDRESS, str(error)) from None
    except EgressError as error:
        raise FetchError(WatchFault.UNREACHABLE, str(error)) from None


def _read_answer(answer: EgressResponse) -> bytes:
    if answer.status == 200:
        if answer.cut:
            raise FetchError(WatchFault.TOO_LARGE, TOO_LARGE)
        return answer.body
    excerpt = answer.body[:_EXCERPT_BYTES].decode(errors="replace")
    parts = [text for _, text in _ERROR.findall(excerpt)]
    region = answer.headers.get("x-amz-bucket-region", "")
    if region and answer.status in (301, 400):
        parts.append(f"the bucket's region is {region}")
        raise FetchError(WatchFault.SETTINGS, _explain(answer.status, parts))
    if answer.status == 401 or _CREDENTIAL_ERRORS.search(excerpt):
        raise FetchError(WatchFault.CREDENTIALS, _explain(answer.status, parts))
    # Object stores answer 403 for a missing object, too, if the credentials may not list the others.
    is_missing = answer.status in (403, 404, 410)
    fault = WatchFault.MISSING if is_missing else WatchFault.UNREACHABLE
    raise FetchError(fault, _explain(answer.status, parts))


def _explain(status: int, parts: list[str]) -> str:
    return join_error_texts(f"The server answered HTTP {status}", *parts)
