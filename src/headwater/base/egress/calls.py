"""Build requests to other servers. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from headwater.base.egress.models import EgressRequest

FORM = "application/x-www-form-urlencoded"


def make_json_call(url: str, body: Any, headers: Mapping[str, str] | None = None) -> EgressRequest:
    return EgressRequest(url=url, headers=dict(headers or {}), body=msgspec.json.encode(body))


def make_form_call(url: str, **fields: str) -> EgressRequest:
    return EgressRequest(url=url, body=urlencode(fields).encode(), content_type=FORM)


def make_client_call(url: str, client: tuple[str, str], **fields: str) -> EgressRequest:
    """Build a form with the id and the secret of an OAuth client in its head."""
    credentials = b64encode(":".join(client).encode()).decode()
    call = make_form_call(url, **fields)
    return msgspec.structs.replace(call, headers={"Authorization": f"Basic {credentials}"})


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
