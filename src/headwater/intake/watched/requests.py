"""Requests for watched files, signed with the Space's own credentials. Pure.

Object stores are read with these requests and not by their libraries, which fall back on the credentials and
endpoints of the server's environment.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from headwater.base.egress.calls import bearer
from headwater.base.egress.models import EgressRequest
from headwater.base.egress.oauth import GOOGLE_TOKEN_URL, make_google_call
from headwater.intake.watched.addresses import WatchedAddress

DEFAULT_REGION = "us-east-1"
_ACCEPT = {"Accept": "text/csv, text/plain, */*"}
_READING = "https://www.googleapis.com/auth/devstorage.read_only"
_NO_BODY = hashlib.sha256(b"").hexdigest()


def request_token(secrets: Mapping[str, str], moment: datetime) -> EgressRequest:
    """Return the request for an access token of a Google service account. Raises ValueError for a bad key."""
    return make_google_call(GOOGLE_TOKEN_URL, secrets, _READING, moment.timestamp())


def request_web(url: str, authorization: str | None) -> EgressRequest:
    headers = _ACCEPT if authorization is None else {**_ACCEPT, "Authorization": authorization}
    return EgressRequest(method="GET", url=url, headers=headers)


def request_google(address: WatchedAddress, token: str) -> EgressRequest:
    url = f"https://storage.googleapis.com/{address.host}/{quote(address.path)}"
    return EgressRequest(method="GET", url=url, headers={**_ACCEPT, **bearer(token)})


def request_azure(address: WatchedAddress, sas_token: str) -> EgressRequest:
    url = f"https://{address.host}.blob.core.windows.net/{quote(address.path)}"
    return EgressRequest(method="GET", url=f"{url}?{sas_token.removeprefix('?')}", headers=_ACCEPT)


def request_s3(
    address: WatchedAddress, region: str, secrets: Mapping[str, str], moment: datetime
) -> EgressRequest:
    """Return a request with a signature of AWS, version 4."""
    host, path = f"s3.{region}.amazonaws.com", f"/{address.host}/{quote(address.path)}"
    signed = {"host": host, "x-amz-content-sha256": _NO_BODY, "x-amz-date": moment.strftime("%Y%m%dT%H%M%SZ")}
    names = ";".join(signed)
    lines = "".join(f"{name}:{text}\n" for name, text in signed.items())
    canonical = f"GET\n{path}\n\n{lines}\n{names}\n{_NO_BODY}"
    scope = f"{moment:%Y%m%d}/{region}/s3/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{signed['x-amz-date']}\n{scope}\n{digest}"
    key = f"AWS4{secrets['secret_access_key']}".encode()
    for scope_part in scope.split("/"):
        key = hmac.digest(key, scope_part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{secrets['access_key_id']}/{scope}"
    authorization = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    del signed["host"]  # the client sets it
    headers = {**_ACCEPT, **signed, "Authorization": authorization}
    return EgressRequest(method="GET", url=f"https://{host}{path}", headers=headers)
