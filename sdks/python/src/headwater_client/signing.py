"""Signatures that Headwater checks: of what a page says about who is logged in, and of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid


def sign_identity(
    secret: str, *, email: str = "", tracking_id: str = "", at: int | None = None
) -> dict[str, str | int]:
    """What a page hands to `trk.identify`, signed with a site's secret. Sign only who is logged in,
    on the server; it holds for 24 hours.
    """
    moment = int(time.time()) if at is None else at
    line = f"{moment} {email.strip().lower()} {tracking_id}"
    signature = hmac.new(secret.encode(), line.encode(), hashlib.sha256).hexdigest()
    said: dict[str, str | int] = {"signed_at": moment, "signature": signature}
    if email:
        said["email"] = email
    if tracking_id:
        said["tracking_id"] = tracking_id
    return said


def sign_webhook(
    secret: str, body: bytes, *, message_id: str | None = None, at: int | None = None
) -> dict[str, str]:
    """The headers of a delivery to a generic webhook (Standard Webhooks). A delivery that is sent
    again needs the `message_id` it had.
    """
    name = message_id or str(uuid.uuid4())
    moment = str(int(time.time()) if at is None else at)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((name.encode(), moment.encode(), body))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": moment, "webhook-signature": f"v1,{digest}"}
